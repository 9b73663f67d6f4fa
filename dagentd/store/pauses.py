"""Pauses of a project and its sessions: in a file of git's common folder, so that they outlive daemons and
worktrees."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, backups, disk, marks
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import CorruptFile, DagentdError, NotAllowed
from dagentd.model import jsontext, times
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.store.layout.layout import read_object

# A pause: for how long dagentd does nothing by itself for a project or a session.


@dataclass(frozen=True)
class Pause:
    """`until` is None where only the user ends it."""

    since: datetime
    until: datetime | None

    def holds(self, now: datetime) -> bool:
        return self.until is None or now < self.until

    def raw(self) -> dict[str, Any]:
        return {"since": times.iso(self.since), "until": None if self.until is None else times.iso(self.until)}

    @classmethod
    def parse(cls, raw: Any) -> Pause | None:
        """None for what is no pause. One whose end makes no sense has none: it is safer to go on waiting."""
        since = times.parse(raw.get("since")) if isinstance(raw, dict) else None
        return None if since is None else cls(since, times.parse(raw.get("until")))


@dataclass(frozen=True)
class Paused:
    """Of a project: all of it, or some of its sessions by their ids."""

    project: Pause | None
    sessions: dict[str, Pause]

    def on(self, session_id: str, now: datetime) -> Pause | None:
        """The pause that keeps us from a session now."""
        both = (self.project, self.sessions.get(session_id))
        return next((pause for pause in both if pause is not None and pause.holds(now)), None)

    def covers(self, session_id: str) -> bool:
        return self.project is not None or session_id in self.sessions

    def with_one(self, session_id: str | None, pause: Pause | None) -> Paused:
        """`session_id` None means the whole project, `pause` None the end of it."""
        if session_id is None:
            return Paused(pause, self.sessions)
        others = {name: each for name, each in self.sessions.items() if name != session_id}
        return Paused(self.project, others if pause is None else others | {session_id: pause})

    def at(self, now: datetime) -> Paused:
        """Without those that are over."""
        project = self.project if self.project is not None and self.project.holds(now) else None
        return Paused(project, {name: each for name, each in self.sessions.items() if each.holds(now)})

    def raw(self) -> dict[str, Any]:
        project = {} if self.project is None else {"project": self.project.raw()}
        return project | {"sessions": {name: each.raw() for name, each in sorted(self.sessions.items())}}

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Paused:
        held = raw.get("sessions")
        found = {name: Pause.parse(each) for name, each in held.items()} if isinstance(held, dict) else {}
        return cls(Pause.parse(raw.get("project")), {name: each for name, each in found.items() if each is not None})


NO_PAUSES = Paused(None, {})


# What of a project is paused: in a file of git's common folder, so that it outlives daemons and worktrees.


class Pauses:
    """Asked with every job, so the file is read only when it is another one. One that cannot be read pauses the whole
    project: somebody wanted to be left alone, and nobody knows how far."""

    def __init__(self, project: Project) -> None:
        self._path, self._temps = project.paused_file, Temps(project.temp_dir)
        self._lock = threading.RLock()  # held from reading to writing: two who pause at once are both heard
        self._mark: tuple[int, ...] = ()
        self._paused = NO_PAUSES
        self._problem: Problem | None = None

    def of_project(self) -> Pause | None:
        return self.now().project

    def on(self, session_id: str) -> Pause | None:
        """Of the session or of the whole project."""
        return self._read().on(session_id, clock.now())

    def shown(self, session_id: str) -> dict[str, Any] | None:
        """The same with what it is `of`: the session itself, or its whole project."""
        held = self.on(session_id)
        return None if held is None else {**held.raw(), "of": "project" if self.of_project() else "session"}

    def now(self) -> Paused:
        paused = self._read()
        return paused if paused == NO_PAUSES else paused.at(clock.now())

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

    def drop_ended(self) -> list[str | None]:
        """Forget those whose time is over; whose they were, None for the whole project's."""
        with self._lock:
            known, now = self._read(), clock.now()
            left = known.at(now)
            if left != known:
                self._write(left)
        ended = [name for name in known.sessions if name not in left.sessions]
        return [*([None] if known.project != left.project else []), *ended]

    def problems(self) -> list[Problem]:
        self._read()
        return [] if self._problem is None else [self._problem]

    def _read(self) -> Paused:
        with self._lock:
            if (mark := marks.seen(self._path)) != self._mark:
                self._mark, self._problem = mark, None
                try:
                    self._paused = Paused.parse(read_object(self._path))
                except FileNotFoundError:
                    self._paused = NO_PAUSES
                except DagentdError as error:
                    self._paused, self._problem = _unreadable(self._path, error)
                    if not isinstance(error, NotAllowed | CorruptFile):  # that may pass without a word
                        self._mark = ()
            return self._paused

    def _write(self, paused: Paused) -> None:
        with disk.explained(self._path):
            if self._problem is not None:
                backups.set_aside(self._path, "corrupt")
            if paused != NO_PAUSES:
                atomic.put(self._path, jsontext.pretty(paused.raw()), temps=self._temps)
                return
            with contextlib.suppress(FileNotFoundError):
                disk.remove(self._path)
                disk.sync_folder(self._path.parent)


def _unreadable(path: Path, error: DagentdError) -> tuple[Paused, Problem]:
    told = f"cannot be read, so the project counts as paused: {error.message}"
    shown = DagentdError(told, path=path, hint="`dagentd resume` sets it aside.")
    return Paused(Pause(clock.now(), None), {}), Problem.of("paused", shown, clock.stamp())
