"""The projects that are served: opened, followed as the registry changes, looked at, closed."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from dagentd.adapters import clock
from dagentd.errors import Conflict, DagentdError, NotAllowed
from dagentd.jobs.reconcile import reconcile
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.actions import Announce
from dagentd.store.index import Index
from dagentd.store.store import Store
from dagentd.worker import Worker

_log = logging.getLogger(__name__)


class Projects:
    """A project that another process writes to is served read-only until that process ends."""

    def __init__(self, settings: Callable[[], Settings], index: Index, worker: Worker, announce: Announce) -> None:
        self._settings, self._index, self._worker, self._announce = settings, index, worker, announce
        self._lock = threading.Lock()
        self._stores: dict[Path, Store] = {}
        self._problems: dict[str, Problem] = {}
        self._told: set[Problem] = set()

    def stores(self) -> list[Store]:
        with self._lock:
            return list(self._stores.values())

    def follow(self, wanted: Iterable[Project]) -> None:
        """Serve exactly these from now on. One that is new, or whose other writer ended, is looked at."""
        projects = {project.root: project for project in wanted}
        for store in self.stores():
            if projects.get(store.project.root) != store.project or not _is_there(store.project):
                self._drop(store)
        for key in self._problems.keys() - {str(root) for root in projects}:
            del self._problems[key]
        for project in projects.values():
            self._serve(project)

    def look(self) -> None:
        """Have every project looked at."""
        for store in self.stores():
            self._submit(store)

    def _submit(self, store: Store) -> None:
        self._worker.submit(str(store.project.root), "reconcile", partial(self._look_at, store))

    def problems(self) -> list[Problem]:
        own = [problem for store in self.stores() for problem in store.all_problems()]
        return [*self._problems.values(), *own]

    def close(self) -> None:
        for store in self.stores():
            self._drop(store)

    def _look_at(self, store: Store) -> None:
        """What was done and what is newly wrong goes to the log."""
        report = reconcile(store)
        for line in report.lines:
            if line.done:
                _log.info("%s: %s: %s", store.project.root, line.session_id, line.done)
        for problem in set(report.problems) - self._told:
            _log.warning("%s: %s", problem.path, problem.message)
        self._told |= set(report.problems)

    def _serve(self, project: Project) -> None:
        served = self._stores.get(project.root)
        if served is not None and not served.read_only:
            return
        try:
            store = self._opened(project, served)
        except DagentdError as error:
            self._note(project, "project", error)
            return
        if store is not served:
            with self._lock:
                self._stores[project.root] = store
            self._submit(store)
        if served is not None and store is not served:
            served.close()

    def _opened(self, project: Project, served: Store | None) -> Store:
        """For writing, and else for reading."""
        if not _is_there(project):
            hint = "If it was moved, run `dagentd init` in its new place; else `dagentd remove` it."
            raise NotAllowed("the repository is not there", path=project.root, hint=hint)
        settle = self._settings().watch.settle_ms / 1000
        try:
            store = Store(project, self._index, settle=settle, announce=self._announce)
        except (Conflict, NotAllowed) as error:
            self._note(project, "read-only", error)
            return served or Store(project, self._index, settle=settle, read_only=True)
        self._problems.pop(str(project.root), None)
        return store

    def _note(self, project: Project, kind: str, error: DagentdError) -> None:
        known = self._problems.get(str(project.root))
        if known is None or (known.id, known.message) != (kind, error.message):
            _log.warning("%s: %s", project.root, error)
            self._problems[str(project.root)] = Problem.of(kind, error, clock.stamp())

    def _drop(self, store: Store) -> None:
        root = store.project.root
        self._worker.forget(str(root))
        with self._lock:
            self._stores.pop(root, None)
        self._problems.pop(str(root), None)
        with contextlib.suppress(NotAllowed):  # the worker is stopping: nothing runs any more
            self._worker.ask(str(root), "close", lambda: None).result()
        store.close()


def _is_there(project: Project) -> bool:
    return project.common_dir.is_dir()
