"""The projects that are served: opened, followed as the registry changes, closed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from dagentd.adapters import clock, git
from dagentd.errors import Conflict, DagentdError, NotAllowed, from_oserror
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder, Project
from dagentd.serving.budget_watch import BudgetWatch
from dagentd.serving.maintenance import Maintenance
from dagentd.settings import Settings
from dagentd.store import writer_lock
from dagentd.store.journal.index import Index
from dagentd.store.sessions.resources import Announce
from dagentd.store.store import Store

_PATIENCE = 60.0  # seconds for a job of a project that is no longer served
_MOMENT = 2.0  # seconds for the same, when the project is to be served again
_log = logging.getLogger(__name__)


class Watching(Protocol):
    """The watching of files, as far as whoever serves projects has to know it."""

    def take_up(self, store: Store, watched: bool) -> None: ...

    def made_from(self, store: Store, feature: FeatureFolder, files: frozenset[Path]) -> None: ...

    def drop(self, store: Store) -> None: ...


class Projects:
    """A project that another process writes to is served read-only until that process ends."""

    def __init__(
        self, settings_of: Callable[[Path], Settings], index: Index, maintenance: Maintenance, watching: Watching,
        budget: BudgetWatch, announce: Announce,
    ) -> None:  # fmt: skip
        self._settings_of, self._index, self._announce = settings_of, index, announce
        self._maintenance, self._watching, self._budget = maintenance, watching, budget
        self._lock = threading.Lock()
        self._stores: dict[Path, Store] = {}
        self._problems: dict[str, Problem] = {}
        self._leaving: dict[Path, threading.Thread] = {}

    def stores(self) -> list[Store]:
        with self._lock:
            return list(self._stores.values())

    def follow(self, wanted: Iterable[Project]) -> None:
        """Serve exactly these from now on. One that is new, or whose other writer ended, is looked at."""
        projects = {project.root: project for project in wanted}
        for store in self.stores():
            if projects.get(store.project.root) != store.project or not _may_stay(store):
                self._drop(store)
        for key in self._problems.keys() - {str(root) for root in projects}:
            del self._problems[key]
        for project in projects.values():
            self._serve(project)

    def problems(self) -> list[Problem]:
        own = [problem for store in self.stores() for problem in store.all_problems()]
        return [*self._problems.values(), *own]

    def close(self, timeout: float) -> bool:
        """False if one of them takes longer: it may wait for a disk that is full or does not answer."""
        for store in self.stores():
            self._drop(store)
        end = clock.monotonic() + timeout
        for thread in self._leaving.values():
            thread.join(max(0.0, end - clock.monotonic()))
        return not any(thread.is_alive() for thread in self._leaving.values())

    def _serve(self, project: Project) -> None:
        served = self._stores.get(project.root)
        if served is not None and not served.read_only:
            return
        try:
            store = self._opened(project, served)
        except (DagentdError, OSError) as error:  # of this one: the others are served
            self._note(project, "project", from_oserror(error, project.root) if isinstance(error, OSError) else error)
            return
        if store is served:
            return
        self._maintenance.take_up(store, self._watching, self._budget)
        with self._lock:
            self._stores[project.root] = store
        if served is not None:
            self._release(served)
        self._watching.take_up(store, self._settings_of(project.root).watch.enabled)

    def _opened(self, project: Project, served: Store | None) -> Store:
        """For writing, and else for reading."""
        git.check_there(project)
        if (leaving := self._leaving.pop(project.root, None)) is not None:
            leaving.join(_MOMENT)  # it holds the lock
        settle = self._settings_of(project.root).watch.settle_ms / 1000
        try:
            if writer_lock.is_claimed(project):
                raise Conflict("a dagentd command works on it", path=project.root, hint="It is served again soon.")
            store = Store(project, self._index, settle=settle, announce=self._announce, changed=self._budget.changed)
        except (Conflict, NotAllowed) as error:
            self._note(project, "read-only", error)
            return served or Store(project, self._index, settle=settle, read_only=True)
        self._problems.pop(str(project.root), None)
        return store

    def _note(self, project: Project, kind: str, error: DagentdError) -> None:
        known = self._problems.get(str(project.root))
        if known is None or (known.id, known.message) != (kind, error.message):
            self._problems[str(project.root)] = Problem.of(kind, error, clock.stamp())

    def _drop(self, store: Store) -> None:
        with self._lock:
            self._stores.pop(store.project.root, None)
        self._problems.pop(str(store.project.root), None)
        self._release(store)

    def _release(self, store: Store) -> None:
        """It is closed in a thread of its own: a job that still runs may take long, and nobody else waits for it."""
        self._watching.drop(store)
        ended = self._maintenance.release(store)
        thread = threading.Thread(target=_close, args=(store, ended), name="closing", daemon=True)
        self._leaving = {root: each for root, each in self._leaving.items() if each.is_alive()}
        self._leaving[store.project.root] = thread
        thread.start()


def _close(store: Store, ended: Callable[[float], bool]) -> None:
    if ended(_PATIENCE):
        store.close()
    else:
        _log.error("%s: a job does not end, so the project stays locked", store.project.root)


def _may_stay(store: Store) -> bool:
    """Unless it cannot be used just now, or a command wants to write to it; `_serve` says why."""
    try:
        git.check_there(store.project)
        return store.read_only or (store.is_locked() and not writer_lock.is_claimed(store.project))
    except (DagentdError, OSError):
        return False
