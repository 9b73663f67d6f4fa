"""The folders that are followed, and which of them a change of another folder concerns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Set
from pathlib import Path


class Followed:
    """A set of folders that does not change."""

    def __init__(self, folders: Iterable[Path] = (), before: Followed | None = None) -> None:
        self.all = frozenset(folders)
        self._above = _above(self.all)
        waiting: tuple[Path, ...] = () if before is None else before._turn
        self._turn: tuple[Path, ...] = tuple(folder for folder in waiting if folder in self.all)

    def concerned(self, changed: Set[Path]) -> Set[Path]:
        """Those among what changed, and those below it: a folder is not told when one above it is moved."""
        if changed.isdisjoint(self._above):
            return self.all & changed
        places = set(map(str, changed))
        return {folder for folder in self.all if _is_within(str(folder), places)}

    def next(self, count: int) -> tuple[Path, ...]:
        """So many of them; asked again and again, each has its turn, even if others come and go all the time."""
        self._turn = self._turn or tuple(self.all)
        now, self._turn = self._turn[:count], self._turn[count:]
        return now


def _is_within(place: str, places: set[str]) -> bool:
    while place and place not in places:
        place = place.rpartition(os.sep)[0]
    return bool(place)


def _above(folders: Iterable[Path]) -> set[Path]:
    found: set[Path] = set()
    for folder in folders:
        above = folder.parent
        while above not in found:
            found.add(above)
            above = above.parent
    return found
