"""Temp files: under which name a whole file is written before it gets its own, and what a crash left of such."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from dagentd.adapters import beneath, disk

_numbers = itertools.count(1)

T = TypeVar("T")


class Temps:
    """In a folder of their own, if one is given. P2 wants them beside their target; but one that appears in a folder
    that git is emptying makes `git worktree remove --force` fail, which 3 to 6 of 100 did. A rename is as atomic from
    another folder of the same file system; where it is not the same, they are beside their target after all."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._apart: set[Path] = set()  # folders into which nothing can be renamed from ours

    def make(self) -> None:
        if self._folder is not None and not self._folder.is_dir():
            disk.make_folder(self._folder)

    def create(self, target: Path) -> tuple[Path, int]:
        """A new file that is to get the target's name, open."""
        return self._named(target, disk.create)

    def _named(self, target: Path, make: Callable[[Path], T]) -> tuple[Path, T]:
        serial = f"{os.getpid()}-{next(_numbers)}{disk.TEMP}"
        if self._folder is not None and target.parent not in self._apart:
            with contextlib.suppress(FileNotFoundError):  # somebody removed the folder; the next start makes it
                # The name's beginning is for people who look; 40 characters of any kind leave room for the rest.
                temp = self._folder / f".{target.name[:40]}.{self._mark(target)}.{serial}"
                return temp, make(temp)
        temp = target.with_name(f".{target.name}.{serial}")
        return temp, make(temp)

    def keep_beside(self, target: Path) -> None:
        """Nothing can be renamed to it from our folder: another file system, a bind mount, another quota."""
        self._apart.add(target.parent)

    def _mark(self, target: Path) -> str:
        """What a target is found again by, also after the repository was moved."""
        way = os.path.relpath(target, self._folder)
        return hashlib.sha256(os.fsencode(way)).hexdigest()[:32]

    # --- after a crash --------------------------------------------------------------------------------------

    def left(self, targets: Iterable[Path]) -> list[tuple[Path, Path]]:
        """What a process that died left in our folder, each with the target it was for."""
        held = self.all_left()
        marks = {self._mark(target): target for target in targets} if held else {}
        return [(temp, marks[mark]) for temp in held if (mark := _before_serial(temp).rpartition(".")[2]) in marks]

    def all_left(self) -> list[Path]:
        return _temps_in(self._folder) if self._folder is not None else []


BESIDE = Temps()


def left_beside(folder: Path) -> list[tuple[Path, Path]]:
    """Temp files of a process that died, each with the file in the same folder it was for."""
    return [(temp, folder / _before_serial(temp)) for temp in _temps_in(folder)]


def _temps_in(folder: Path) -> list[Path]:
    try:
        names = sorted(beneath.names(folder))
    except OSError:  # not there, or not ours to look at
        return []
    return [folder / name for name in names if name.startswith(".") and name.endswith(disk.TEMP)]


def _before_serial(temp: Path) -> str:
    return temp.name[1 : -len(disk.TEMP)].rpartition(".")[0]
