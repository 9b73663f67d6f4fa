"""AGX in the daemon: which of its jobs run when. A project without `.agx` costs nothing, and neither does AGX itself
before there is one: what it needs loads then."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from dagentd import paths
from dagentd.adapters import clock
from dagentd.adapters.files.lockfile import Busy
from dagentd.errors import DagentdError, LimitReached, from_oserror
from dagentd.model.problem import Problem, still_wrong
from dagentd.settings.tables import Agx as Settings
from dagentd.store.store import Store
from dagentd.waiting import NotYet, apart
from dagentd.worker import Worker

if TYPE_CHECKING:
    from dagentd.agx.agx import Agx
    from dagentd.agx.claude_resume import Conversations

_Work = tuple[str, Path | None]  # what was attempted, and in which project, if in one
_INDEX = "agx index"  # the key of jobs that are about all projects
_log = logging.getLogger(__name__)


class AgxUpkeep:
    """`on_home` is told when AGX's folder in the home came to be: it is to be watched too."""

    def __init__(
        self, worker: Worker, settings: Callable[[], Settings], conversations: Callable[[], Conversations],
        on_home: Callable[[], None],
    ) -> None:  # fmt: skip
        self._worker, self._settings, self._conversations, self._on_home = worker, settings, conversations, on_home
        self._lock = threading.Lock()
        self._stores: dict[Path, Store] = {}
        self._with_agx: set[Path] = set()  # that have, or had, a folder of AGX
        self._changed: set[Path] = set()  # whose part of the index may be behind
        self._again: set[Path] = set()  # whose lock was busy, or for whom there was no room
        self._problems: dict[_Work, list[Problem]] = {}
        self._has_home = False
        self._due = clock.monotonic()  # what tmux did while no daemon ran is seen with the first beat
        self.files = _own_files()

    @cached_property
    def jobs(self) -> Agx:
        from dagentd.agx.agx import Agx

        return Agx(self._settings, self._roots, self._conversations)

    # --- what is heard ------------------------------------------------------------------------------------

    def look(self, store: Store) -> None:
        """HEAD of its own checkout may have moved, or its AGX files may have changed; or it is served from now on."""
        root = store.project.root
        with self._lock:
            self._stores[root] = store
            if os.path.lexists(root / ".agx"):
                self._with_agx.add(root)
            concerned = root in self._with_agx and not store.read_only and not store.pauses.of_project()
        if concerned and self.files and self._settings().enabled:
            self._worker.submit(_key(root), "agx", partial(self._look, root))

    def drop(self, store: Store) -> None:
        root = store.project.root
        with self._lock:
            if self._stores.get(root) is store:
                del self._stores[root]
                self._with_agx.discard(root)
            self._changed.discard(root)
            self._again.discard(root)
            self._problems = {work: some for work, some in self._problems.items() if work[1] != root}
        self._worker.forget(_key(root))
        if "jobs" in self.__dict__:
            self.jobs.forget(root)

    def check_soon(self) -> None:
        """Another program wrote the index or the user's configuration."""
        self._due = clock.monotonic()
        self.beat()

    def beat(self) -> None:
        """To be called every few seconds; nothing is read before it is time."""
        with self._lock:
            again, self._again = self._again, set()
            stores = [store for root in again if (store := self._stores.get(root))]
        for store in stores:
            self.look(store)
        if "jobs" in self.__dict__ and self.jobs.is_behind():
            self._worker.submit(_INDEX, "update", self._update)
        if clock.monotonic() >= self._due:
            self._due = clock.monotonic() + self._settings().index_interval_s
            if self.files and self._settings().enabled and self._roots():
                self._worker.submit(_INDEX, "check", self._check)

    def folders(self) -> list[Path]:
        """The folders to watch beside the projects."""
        if not self.files or not self._settings().enabled or not self._roots():
            return []
        self._has_home = os.path.isdir(paths.agx_dir())
        return [paths.agx_dir()] if self._has_home else []

    def problems(self) -> list[Problem]:
        """Each once, although a job and the index may both have met it."""
        with self._lock:
            every = [problem for some in self._problems.values() for problem in some]
        return list({(problem.path, problem.message): problem for problem in every}.values())

    # --- jobs ---------------------------------------------------------------------------------------------

    def _look(self, root: Path) -> None:
        self._attempt(("settle", root), lambda: self.jobs.settle(root))
        with self._lock:
            self._changed.add(root)
        self._worker.submit(_INDEX, "update", self._update)

    def _update(self) -> None:
        with self._lock:
            changed, self._changed = self._changed, set()
        try:
            self._attempt(("index", None), lambda: self.jobs.updated(changed))
        except NotYet:
            with self._lock:
                self._changed |= changed
            raise
        self._attempt(("tell", None), self._tell)

    def _check(self) -> None:
        for root in self._awake():
            with apart():
                self._attempt(("check", root), partial(self.jobs.check, root))
        with apart():
            self._attempt(("index", None), self.jobs.check_all)
        self._attempt(("tell", None), self._tell)
        self._attempt(("interval", None), self._set_interval)

    def _set_interval(self) -> None:
        """Check what could not be done now again with the next beat; or its problem would stand until then."""
        with self._lock:
            soon = bool(self._again)
        self._due = clock.monotonic() + (0 if soon else self.jobs.interval())

    def _tell(self) -> None:
        self._note(("sessions", None), self.jobs.problems())
        if not self._has_home and os.path.isdir(paths.agx_dir()):
            self._on_home()

    def _attempt(self, work: _Work, job: Callable[[], None]) -> None:
        """Do a job. An error is told in status and the job tried again: soon if a lock was busy or there was no room,
        else when there is news or it is time. It leaves the other projects."""
        try:
            job()
        except (DagentdError, OSError) as raised:
            error = from_oserror(raised) if isinstance(raised, OSError) else raised
            self._note(work, [error])
            if isinstance(error, Busy | LimitReached):  # who held the lock ends, and a disk is not full for ever
                with self._lock:
                    self._again |= {work[1]} if work[1] is not None else self._with_agx
        else:
            self._note(work, [])

    def _note(self, work: _Work, errors: list[DagentdError]) -> None:
        with self._lock:
            known = self._problems.get(work, [])
            now = still_wrong(known, [Problem.of("agx", error, clock.stamp()) for error in errors])
            self._problems[work] = now
        for problem in now:
            if problem not in known:
                _log.warning("%s: %s", problem.path, problem.message)

    # --- projects -----------------------------------------------------------------------------------------

    def _roots(self) -> list[Path]:
        """Of the projects that have AGX and are ours to write to."""
        with self._lock:
            return [root for root in self._with_agx if root in self._stores and not self._stores[root].read_only]

    def _awake(self) -> list[Path]:
        """Of these, those that are not paused."""
        with self._lock:
            stores = dict(self._stores)
        return [root for root in self._roots() if root in stores and not stores[root].pauses.of_project()]


def _own_files() -> frozenset[Path]:
    try:
        return frozenset((paths.agx_index_file(), paths.agx_config_file()))
    except DagentdError:  # a user without a home has no AGX
        return frozenset()


def _key(root: Path) -> str:
    return f"{root}/.agx"
