"""The settings in force: read again when their files change, and kept as they were while those have mistakes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters.files import marks
from dagentd.errors import InvalidInput
from dagentd.model.problem import Problem
from dagentd.settings import load, values
from dagentd.settings.tables import AT_START, Settings


@dataclass(frozen=True)
class _Read:
    settings: Settings
    files: list[Path]  # that it was read from
    marks: list[tuple[int, ...]]  # of these, and of what is behind links: many keep such files elsewhere
    settled: bool  # none of them could have been written again without another mark
    problem: Problem | None = None


class CurrentSettings:
    """Safe to call from any thread. Whoever asks has what the files say now; `look` is for what follows from a change,
    and finds out also where nobody asks."""

    def __init__(self, user_file: Path, project_file: Callable[[Path], Path], stamp: Callable[[], str]) -> None:
        self._user_file, self._project_file, self._stamp = user_file, project_file, stamp
        self._lock = threading.Lock()
        self._read: dict[Path | None, _Read] = {}
        self._seen: dict[Path | None, Settings] = {}  # at the last look
        self._first: dict[Path | None, Settings] = {}
        self.read_at: str | None = None  # when they last changed, since the start
        self.of(None)  # with mistakes in the user's own there is nothing to begin with

    @property
    def user(self) -> Settings:
        return self.of(None)

    def look(self, roots: Iterable[Path]) -> set[Path | None]:
        """Those whose settings changed since the last look; None is the user's own. Of projects that are not served any
        more nothing is kept."""
        there = {None, *roots}
        with self._lock:
            self._read = {root: read for root, read in self._read.items() if root in there}
            self._first = {root: first for root, first in self._first.items() if root in there}
        now = {root: self.of(root) for root in list(self._read)}  # a copy: whoever asks meanwhile adds to it
        changed = {root for root, found in now.items() if self._seen.get(root, found) != found}
        self._seen = now
        return changed

    def problems(self) -> list[Problem]:
        """As they are now, also where nobody asked since."""
        for root in list(self._read):
            self.of(root)
        return [read.problem for read in list(self._read.values()) if read.problem is not None]

    def wait_for_restart(self) -> list[str]:
        """The settings that changed and count only from the next start on."""
        pairs = [(values(first), values(self.of(root))) for root, first in list(self._first.items())]
        return [key for key in AT_START if any(before[key] != now[key] for before, now in pairs)]

    def of(self, root: Path | None) -> Settings:
        """With what a project sets for itself. A mistake is an error only where there is nothing to be kept."""
        known = self._read.get(root)
        files = known.files if known else [self._user_file, *([self._project_file(root)] if root is not None else [])]
        seen = [marks.seen(file, follow=True) for file in files]
        if known is None or known.marks != seen or not known.settled:
            with self._lock:
                known = self._read[root] = self._again(root, files, seen)
                self._first.setdefault(root, known.settings)
        return known.settings

    def _again(self, root: Path | None, files: list[Path], seen: list[tuple[int, ...]]) -> _Read:
        known = self._read.get(root)
        settled = all(time.time_ns() - max(mark[-2:]) >= marks.TICK for mark in seen)
        try:
            found = load(*files)
        except InvalidInput as error:
            if known is None:
                raise
            return _Read(known.settings, files, seen, settled, self._problem(error, files, known.problem))
        if known is not None and found != known.settings:
            self.read_at = self._stamp()
        return _Read(found, files, seen, settled)

    def _problem(self, error: InvalidInput, files: list[Path], known: Problem | None) -> Problem | None:
        """As the doctor says it. Mistakes of the user's own are told once, and not for each project."""
        if len(files) > 1:
            try:
                load(self._user_file)
            except InvalidInput:
                return None
        kind = "settings" if len(files) == 1 else "project-settings"
        told = InvalidInput(error.message, path=error.path or files[-1], hint=error.hint)
        now = Problem.of(kind, told, self._stamp())
        return known if known is not None and known.message == now.message else now
