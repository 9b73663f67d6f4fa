"""Watching: folders in, batches of changes out, and never deaf without saying so."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Set
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.watch.batches import Batch, Gathered, Gathering, Hurry
from dagentd.adapters.watch.coverage import Coverage
from dagentd.adapters.watch.inotify import Cookie, Hearing, Incident
from dagentd.model.problem import Problem

# The folders that are followed, and which of them a change of another folder concerns.


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


_AT_ONCE = 100  # folders looked at by one check: all of a small project's; of 4 500 each one every four minutes


@dataclass(frozen=True)
class WatchStatus:
    mode: str  # native, poll or mixed
    native: int  # inotify watches; one of them is for the cookie
    polled: int
    absent: int  # followed folders that are not there, or cannot be read
    problems: tuple[Problem, ...]  # what is wrong now
    incidents: tuple[Incident, ...]  # what was wrong, the last of it


class Watch:
    """Follows folders, each flat. Any thread may call; one of them takes the batches."""

    def __init__(
        self, cookie: Path, *, settle: float, ceiling: float, mode: str = "auto", limit: int | None = None,
        hurry: Hurry = lambda _: False,
    ) -> None:  # fmt: skip
        """Entries whose names are in a `hurry` are told at once, with what they held when that was heard, and again
        when they have settled."""
        self.settle, self.ceiling = settle, ceiling  # seconds; both may be changed at any time
        self._lock = threading.RLock()
        self._closed = False
        self._followed = Followed()
        self._gathering = Gathering(hurry)
        self._cookie = Cookie(cookie)
        self._hearing = Hearing(self._gathering, self._cookie)
        self._coverage = Coverage(self._hearing, self._gathering, mode, limit)
        self._since: dict[str, str] = {}
        self.check()

    def follow(self, folders: Iterable[Path]) -> None:
        """From now on exactly these. One that is not there is taken up when it is; one that is newly watched comes
        in a batch, because files may have appeared in it before."""
        wanted = frozenset(folders)
        with self._lock:
            before = self._followed.all
            if self._closed:
                return
            if wanted != before:
                self._followed = Followed(wanted, self._followed)
                self._hearing.wanted = wanted
            self._coverage.drop(before - wanted)
            self._cover((wanted - before) | self._coverage.absent.keys())

    def batch(self, timeout: float | None = None) -> Batch | None:
        """The next changes, a quiet gap after the last of them or, of some names, at once; None if there are none for
        so long, or when closed."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            gathered = self._gathering.take(lambda: (self.settle, self.ceiling), left)
            if gathered is None:
                return None
            try:
                batch = self._batch(gathered)
            except BaseException:
                self._gathering.lose()  # what was gathered is not told
                raise
            if batch:
                return batch

    def check(self) -> None:
        """To be called every few seconds: replaces a watcher that is dead or deaf, and looks for folders that came
        back, or were exchanged without a word."""
        with self._lock:
            if self._closed:
                return
            self._check_ears()
            self._cover({*self._coverage.absent, *self._followed.next(_AT_ONCE)})

    def status(self) -> WatchStatus:
        with self._lock:
            inotify, polled, absent = self._coverage.inotify, len(self._coverage.polled), len(self._coverage.absent)
            mode = "mixed" if polled else "native"
            if inotify is None or 0 < polled == len(self._followed.all):
                mode = "poll"
            native = 0 if inotify is None else inotify.count
            return WatchStatus(mode, native, polled, absent, self._problems(), tuple(self._hearing.incidents))

    def close(self) -> None:
        self._gathering.close()
        with self._lock:
            self._closed = True
            self._coverage.close()

    def _batch(self, gathered: Gathered) -> Batch | None:
        """Folders that came, went or were exchanged are put right first, so that what is read after this is heard."""
        with self._lock:
            wanted = self._followed.all
            known = {folder: names for folder, names in gathered.names.items() if folder in wanted}
            paths = frozenset(folder / name for folder, names in known.items() for name in names) - {self._cookie.path}
            if gathered.early:
                return Batch(paths, frozenset(), False, True, gathered.contents) if paths else None
            changed = paths | gathered.suspects | gathered.crowded
            concerned = wanted if gathered.lost else self._followed.concerned(changed)
            missed = self._coverage.cover(concerned) if concerned else set()
            folders = wanted & (gathered.folders | gathered.crowded | missed)
        return Batch(paths, folders, gathered.lost) if paths or folders or gathered.lost else None

    def _cover(self, folders: Iterable[Path]) -> None:
        missed = self._coverage.cover(folders)
        if below := self._followed.concerned(missed) - missed:
            missed |= self._coverage.cover(below)
        for folder in missed:
            self._gathering.whole(folder)

    def _check_ears(self) -> None:
        if self._coverage.inotify is None and self._coverage.renew() is not None:
            self._cover(self._followed.all)
        if (inotify := self._coverage.inotify) is None:
            return
        self._cookie.ask(inotify)
        if inotify.failure is not None:
            self._replace(f"the watcher had died ({inotify.failure})")
        elif self._cookie.unheard():
            self._replace("the watcher had gone deaf")

    def _replace(self, cause: str) -> None:
        """The next batch has the new one hear all folders, before it is told."""
        if (inotify := self._coverage.renew()) is not None:
            self._cookie.ask(inotify)
        self._gathering.lose()
        self._hearing.note(f"{cause} and was replaced")

    def _problems(self) -> tuple[Problem, ...]:
        found = list(self._coverage.problems())
        if self._cookie.problem is not None:
            found.append(("watch-cookie", self._cookie.problem))
        self._since = {kind: self._since.get(kind) or clock.stamp() for kind, _ in found}
        return tuple(Problem.of(kind, error, self._since[kind]) for kind, error in found)
