"""The crash explorer: an operation is stopped at every durable step in turn, and each time all promises are checked,
before anybody mends what is there and after the next start."""

from __future__ import annotations

import itertools
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tests.torture.explorer_power import How
from tests.torture.explorer_wire import Job, Lane


class Case(ABC):
    """An operation on a project that is prepared for it in `root`. Each lane has one of its own."""

    def __init__(self, op: str, folder: Path, how: How) -> None:
        self.op, self.root, self.how = op, folder / "p", how

    def job(self, crash: int = 0, op: str = "") -> Job:
        return Job(op or self.op, str(self.root), crash, self.how)

    @abstractmethod
    def prepare(self, lane: Lane) -> None:
        """What is there before the operation."""

    def beside(self) -> AbstractContextManager[object]:
        """What another program does from before the process begins until after it is dead."""
        return nullcontext()

    @abstractmethod
    def crashed(self, acked: list[str]) -> None:
        """Check what the disk holds when the process is dead."""

    @abstractmethod
    def restarted(self, lane: Lane, acked: list[str]) -> None:
        """Start again, finish the operation, and check what is there then."""


Make = Callable[[Path, How], Case]


def explore(make: Make, how: How, folder: Path, lanes: Sequence[Lane]) -> int:
    """Each lane takes every n-th point; how many there were."""

    def some(number: int) -> int:
        return _some(make(folder / str(number), how), lanes[number], range(number + 1, 1 << 20, len(lanes)))

    with ThreadPoolExecutor(len(lanes)) as pool:
        return sum(pool.map(some, range(len(lanes))))


def _some(case: Case, lane: Lane, points: Sequence[int]) -> int:
    case.root.parent.mkdir(parents=True)
    case.prepare(lane)
    template = case.root.with_name("template")
    case.root.rename(template)
    for count, point in zip(itertools.count(), points, strict=False):
        shutil.rmtree(case.root, ignore_errors=True)
        copy(template, case.root)
        with case.beside():
            outcome = lane.run(case.job(point))
        if not outcome.crashed:
            return count
        try:
            case.crashed(outcome.acked)
            case.restarted(lane, outcome.acked)
        except Exception as error:
            error.add_note(f"{case.op}: {case.how} at durable step {point}, in {case.root}")
            raise
    raise AssertionError("unreachable")


def fast_place() -> Path | None:
    """In memory where there is such a place: what is synced there costs nothing, and who dies decides what is lost."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def copy(source: Path, target: Path) -> None:
    """A tree with its hard links, modes and times; a process for each would take longer than all else."""
    linked: dict[int, Path] = {}
    for folder, _, names in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(mode=os.stat(folder).st_mode & 0o777)
        for name in names:
            path = Path(folder, name)
            inode = path.stat().st_ino
            if inode in linked:
                os.link(linked[inode], there / name)
            else:
                shutil.copy2(path, there / name)
                linked[inode] = there / name
