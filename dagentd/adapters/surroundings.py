"""A new name in a folder that somebody may be removing: git, which has read what is in it, fails with one more."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from pathlib import Path

from dagentd.adapters import disk

# Names that are looked at before and after one is added, which takes 0.5 ms. Git removes them one after the other: it
# met a new one in 168 of 500 trials where only the file that it belongs to was looked at, in none of 1 500 with these.
_AROUND = 200


class Surroundings:
    """What there is around a file before it is written. Without anything that it must be `beside`, nobody minds it."""

    def __init__(self, path: Path, beside: Collection[Path]) -> None:
        self._path, self._beside = path, beside
        self._around = list(islice(_in_and_below(path.parent), _AROUND)) if beside else []

    def admit(self, put: Callable[[], None]) -> bool:
        """Let `put` give the file its name. False, and it has none, if anything around it went since: look again.
        FileNotFoundError if something did that it must be beside."""
        if not self._are_still():
            return False
        put()
        stays = False
        try:
            stays = self._are_still()
        finally:
            if not stays:
                disk.discard(self._path)
        return stays

    def _are_still(self) -> bool:
        check_there(self._beside)
        return all(map(os.path.lexists, self._around))


def check_there(beside: Collection[Path]) -> None:
    """FileNotFoundError if one of them is gone."""
    for path in beside:
        os.lstat(path)


def _in_and_below(folder: Path) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        yield from (os.path.join(where, name) for name in (*names, *folders))
