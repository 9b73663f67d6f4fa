"""The crash explorer: an operation is stopped at every durable step in turn, and each time all promises are checked,
before anybody mends what is there and after the next start."""

from __future__ import annotations

import os
import random
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tests.torture.explorer_power import How, telling
from tests.torture.explorer_wire import Job, Lane, Outcome
from tests.torture.seeds import of_the_run


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
_FEW, _EVERY = 24, 3


def explore(make: Make, how: How, folder: Path, lanes: Sequence[Lane], thorough: bool) -> int:
    """How many points were taken; the lanes share them: those that leave another disk behind. All of them if it
    is to be thorough, else where they are many every third, another third each time."""

    def some(number: int) -> int:
        case, lane = make(folder / str(number), how), lanes[number]
        first = random.Random(f"{of_the_run()} {case.op} {how}").randrange(_EVERY)
        steps = _steps(case, lane)
        points = telling(steps, how)
        taken = points if thorough or len(points) <= _FEW else points[first::_EVERY]
        return sum(_crash(case, lane, point) for point in taken[number :: len(lanes)])

    with ThreadPoolExecutor(len(lanes)) as pool:
        return sum(pool.map(some, range(len(lanes))))


def _steps(case: Case, lane: Lane) -> list[str]:
    """The durable steps of the operation, if nothing stops it."""
    case.root.parent.mkdir(parents=True)
    case.prepare(lane)
    case.root.rename(_template(case))
    return _run(case, lane).steps


def _crash(case: Case, lane: Lane, point: int) -> bool:
    """Whether it came as far: the operation may take a step less than before."""
    outcome = _run(case, lane, point)
    try:
        if outcome.crashed:
            case.crashed(outcome.acked)
            case.restarted(lane, outcome.acked)
    except Exception as error:
        error.add_note(f"{case.op}: {case.how} at durable step {point}, in {case.root}")
        raise
    return outcome.crashed


def _run(case: Case, lane: Lane, crash: int = 0) -> Outcome:
    shutil.rmtree(case.root, ignore_errors=True)
    copy(_template(case), case.root)
    with case.beside():
        return lane.run(case.job(crash))


def _template(case: Case) -> Path:
    return case.root.with_name("template")


def fast_place() -> Path | None:
    """In memory where there is such a place: what is synced there costs nothing, and who dies decides what is lost."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def copy(source: Path, target: Path) -> None:
    """A tree with its hard links, modes and times; a process for each would take longer than all else."""
    linked: dict[int, Path] = {}
    target.parent.mkdir(parents=True, exist_ok=True)
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
