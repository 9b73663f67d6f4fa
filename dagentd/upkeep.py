"""What is done for the features of a project, each job in its feature's turn."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial

from dagentd.errors import NotFound
from dagentd.jobs import reconcile
from dagentd.jobs.reconcile import Line, Report
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder, Project
from dagentd.settings import Settings
from dagentd.store.store import Store
from dagentd.worker import Worker

_log = logging.getLogger(__name__)


class Upkeep:
    def __init__(self, worker: Worker, settings_of: Callable[[Project], Settings]) -> None:
        self._worker, self._settings_of = worker, settings_of
        self._lock = threading.Lock()
        self._keys: dict[Store, set[str]] = {}  # that jobs were asked for, of each project that is kept up
        self._told: dict[Store, set[Problem]] = {}

    def take_up(self, store: Store) -> None:
        self._keys[store] = set()

    def release(self, store: Store) -> Callable[[float], bool]:
        """Nothing more is begun for this project. What was returned waits until nothing runs, for so many seconds."""
        with self._lock:
            keys = self._keys.pop(store, set())
            self._told.pop(store, None)
        for key in keys:
            self._worker.forget(key)
        return partial(self._worker.finished, keys)

    def reconcile(self, store: Store, feature: FeatureFolder) -> None:
        """Look at every session of it that is not as we left it, and renew the contexts."""
        self._worker.submit(self._key(store, feature), "reconcile", partial(self._reconcile, store, feature))

    def look(self, store: Store, feature: FeatureFolder, session_id: str) -> None:
        """Take in what another program wrote to a session."""
        job = partial(self._look, store, feature, session_id)
        self._worker.submit(self._key(store, feature), f"look {session_id}", job)

    def renew(self, store: Store, feature: FeatureFolder) -> None:
        """Bring the contexts of its sessions up to date."""
        self._worker.submit(self._key(store, feature), "renew", partial(self._renew, store, feature))

    def scan(self, store: Store) -> Report:
        """Look at the whole project now, and say what was done."""
        store.look_around()
        asked = [
            self._worker.ask(self._key(store, each), "scan", partial(self._reconcile, store, each, everything=True))
            for each in store.features()
        ]
        return reconcile.report(store, [line for answer in asked for line in answer.result()])

    def forget(self, store: Store, feature: FeatureFolder) -> None:
        """It is gone, and with it what was wrong with it."""
        self._worker.forget(str(feature.path))
        store.let_go(feature)

    def _key(self, store: Store, feature: FeatureFolder) -> str:
        with self._lock:
            if store not in self._keys:
                raise NotFound(f"{store.project.root} is no longer served", hint="dagentd projects")
            self._keys[store].add(str(feature.path))
        return str(feature.path)

    def _reconcile(self, store: Store, feature: FeatureFolder, everything: bool = False) -> list[Line]:
        lines = reconcile.reconcile_feature(store, feature, everything=everything)
        self._tell(store, lines)
        self._renew(store, feature)
        return lines

    def _look(self, store: Store, feature: FeatureFolder, session_id: str) -> None:
        try:
            if store.look(feature, session_id):
                self.renew(store, feature)
        except NotFound:
            return  # it came and went
        self._tell(store, [])

    def _renew(self, store: Store, feature: FeatureFolder) -> None: ...

    def _tell(self, store: Store, lines: list[Line]) -> None:
        """What was done and what is newly wrong goes to the log."""
        for line in lines:
            if line.done:
                _log.info("%s: %s: %s", store.project.root, line.session_id, line.done)
        now = set(store.all_problems())
        with self._lock:
            news = now - self._told.get(store, set())
            self._told[store] = now
        for problem in news:
            _log.warning("%s: %s", problem.path, problem.message)
