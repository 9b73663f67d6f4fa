"""Changes gathered until they pause: a batch ends with a quiet gap, or when it has waited long enough."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dagentd.adapters.files import fileio, marks
from dagentd.errors import DagentdError

# What a file holds at the very moment that it is heard of: its writer may empty it in the next one.

Hurry = Callable[[str], bool]  # whether an entry of this name is told at once, too

_LARGE = 4 << 20  # bytes; a larger file is read in its turn: the one who hears has more to hear
_MOST = 16 << 20  # bytes of one file that wait to be taken in, all its contents together


def peek(hurry: Hurry, folder: Path, name: str) -> bytes | None:
    """In the thread that hears. It passed two more before a chat was read, and on a busy machine up to 4 of 30 messages
    that were cleared 20 to 50 ms after they were added were lost by then. None of what is in no hurry or our own."""
    if not hurry(name) or marks.is_own(folder / name):
        return None
    try:
        return fileio.read(folder / name, _LARGE)
    except (OSError, DagentdError):
        return b""


def keep(held: list[bytes], data: bytes) -> None:
    """Beside what it held before, unless it only grew since. Of too much the oldest goes."""
    if data and data not in held:
        held[:] = [*(each for each in held if not data.startswith(_entries(each))), data]
        while sum(map(len, held)) > _MOST:
            del held[0]


def _entries(data: bytes) -> bytes:
    """Up to its last list, which is that of a chat, and without the end of that."""
    return data[: max(data.rfind(b"]"), 0)].rstrip() or data


NAMES = 1000  # kept for one folder in one batch; with more, the folder stands for them all

Pace = Callable[[], tuple[float, float]]  # the quiet gap and the longest wait, in seconds, as they are set just now


@dataclass(frozen=True)
class Batch:
    """Hints of what to look at; none of them says what happened."""

    paths: frozenset[Path]  # entries of followed folders that changed, appeared or vanished
    folders: frozenset[Path]  # followed folders of which anything may have changed, or that appeared or vanished
    lost: bool  # anything may have changed anywhere
    early: bool = False  # told at once; the same comes again when it has settled
    contents: Mapping[Path, list[bytes]] = field(default_factory=dict)  # of what is told at once, as it was heard of


class Sink(Protocol):
    """Where those who listen put what they hear. Called in their threads: it only takes down, and never fails."""

    def name(self, folder: Path, name: str) -> None:
        """The entry of a folder changed, appeared or vanished."""

    def suspect(self, folder: Path) -> None:
        """The folder itself was moved or removed."""

    def overflowed(self) -> None:
        """The kernel dropped events."""


@dataclass
class Gathered:
    names: dict[Path, set[str]] = field(default_factory=dict)
    crowded: set[Path] = field(default_factory=set)  # folders with too many names
    folders: set[Path] = field(default_factory=set)
    suspects: set[Path] = field(default_factory=set)
    lost: bool = False
    first: float = 0.0
    last: float = 0.0
    early: bool = False
    contents: dict[Path, list[bytes]] = field(default_factory=dict)

    def add(self, folder: Path, name: str) -> None:
        if folder not in self.crowded:
            names = self.names.setdefault(folder, set())
            names.add(name)
            if len(names) > NAMES:
                del self.names[folder]
                self.crowded.add(folder)


class Gathering:
    """Filled from any thread, emptied by one."""

    def __init__(self, hurry: Hurry = lambda _: False) -> None:
        self._changed = threading.Condition()
        self._hurry = hurry
        self._gathered, self._early = Gathered(), Gathered(early=True)
        self._closed = False

    def name(self, folder: Path, name: str) -> None:
        held = peek(self._hurry, folder, name)
        with self._changed:
            self._gathered.add(folder, name)
            if held is not None:
                self._early.add(folder, name)
                keep(self._early.contents.setdefault(folder / name, []), held)
                self._changed.notify_all()
            self._note()

    def whole(self, folder: Path) -> None:
        with self._changed:
            self._gathered.folders.add(folder)
            self._note()

    def suspect(self, folder: Path) -> None:
        with self._changed:
            self._gathered.suspects.add(folder)
            self._note()

    def lose(self) -> bool:
        """False if it is known already that something was lost."""
        with self._changed:
            news, self._gathered.lost = not self._gathered.lost, True
            self._note()
            return news

    def take(self, pace: Pace, timeout: float | None) -> Gathered | None:
        """Wait for changes, and take what came together once it has settled, or before that what is told at once; None
        if that takes too long, or when closed."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._closed:
                if self._early.names:
                    early, self._early = self._early, Gathered(early=True)
                    return early
                now, gathered, (settle, ceiling) = time.monotonic(), self._gathered, pace()
                due = min(gathered.last + settle, gathered.first + ceiling) if gathered.first else None
                if due is not None and now >= due:
                    self._gathered = Gathered()
                    return gathered
                if end is not None and now >= end:
                    return None
                self._changed.wait(min((moment - now for moment in (due, end) if moment is not None), default=None))
        return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _note(self) -> None:
        """Only the first change wakes who waits: sixty thousand more cost it nothing."""
        gathered = self._gathered
        gathered.last = time.monotonic()
        if not gathered.first:
            gathered.first = gathered.last
            self._changed.notify_all()
