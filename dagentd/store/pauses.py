"""What of a project is paused: in a file of git's common folder, so that it outlives daemons and worktrees."""

from __future__ import annotations

import contextlib
import threading
from datetime import timedelta
from pathlib import Path

from dagentd.adapters import aside, beneath, clock, disk, publishing
from dagentd.adapters.temps import Temps
from dagentd.errors import DagentdError
from dagentd.model import jsontext
from dagentd.model.pause import NOTHING, Pause, Paused
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.store.layout import read_object

_Mark = tuple[int, int, int] | None


class Pauses:
    """Asked with every job, so the file is read only when it is another one. One that cannot be read pauses the whole
    project: somebody wanted to be left alone, and nobody knows how far."""

    def __init__(self, project: Project) -> None:
        self._path, self._temps = project.paused_file, Temps(project.temp_dir)
        self._lock = threading.RLock()  # held from reading to writing: two who pause at once are both heard
        self._mark: _Mark = None
        self._paused = NOTHING
        self._problem: Problem | None = None

    def of_project(self) -> Pause | None:
        return self.now().project

    def on(self, session_id: str) -> Pause | None:
        """Of the session or of the whole project."""
        return self._read().on(session_id, clock.now())

    def now(self) -> Paused:
        return self._read().at(clock.now())

    def begin(self, session_id: str | None, seconds: float | None) -> Pause:
        """Of a session, or of the whole project."""
        since = clock.now()
        pause = Pause(since, None if seconds is None else since + timedelta(seconds=seconds))
        with self._lock:
            self._write(self._read().with_one(session_id, pause))
        return pause

    def end(self, session_id: str | None) -> bool:
        """Whether there was one."""
        with self._lock:
            now, known = self.now(), self._read()
            if (rest := known.with_one(session_id, None)) != known:
                self._write(rest)
        return now.with_one(session_id, None) != now

    def drop_ended(self) -> bool:
        """Forget those whose time is over; whether there were any."""
        with self._lock:
            known, now = self._read(), clock.now()
            if known.at(now) == known:
                return False
            self._write(known.at(now))
        return True

    def problems(self) -> list[Problem]:
        self._read()
        return [] if self._problem is None else [self._problem]

    def _read(self) -> Paused:
        with self._lock:
            if (mark := _mark(self._path)) != self._mark:
                self._mark = mark
                self._paused, self._problem = _load(self._path)
            return self._paused

    def _write(self, paused: Paused) -> None:
        with disk.explained(self._path):
            if self._problem is not None:
                aside.set_aside(self._path, "corrupt")
            if paused != NOTHING:
                publishing.put(self._path, jsontext.pretty(paused.raw()), temps=self._temps)
                return
            with contextlib.suppress(FileNotFoundError):
                disk.remove(self._path)
                disk.sync_folder(self._path.parent)


def _mark(path: Path) -> _Mark:
    try:
        status = beneath.status(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _load(path: Path) -> tuple[Paused, Problem | None]:
    try:
        return Paused.parse(read_object(path)), None
    except FileNotFoundError:
        return NOTHING, None
    except DagentdError as error:
        told = f"cannot be read, so the project counts as paused: {error.message}"
        shown = DagentdError(told, path=path, hint="`dagentd resume` sets it aside.")
        return Paused(Pause(clock.now(), None), {}), Problem.of("paused", shown, clock.stamp())
