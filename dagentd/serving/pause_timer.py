"""Pauses in the daemon: begun and ended as somebody asks, or when their time is over; what was left is done then."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, Protocol

from dagentd.jobs import pausing
from dagentd.serving.budget_watch import BudgetWatch
from dagentd.store.store import Store

_log = logging.getLogger(__name__)


class Watching(Protocol):
    def look_at(self, store: Store) -> None:
        """Look at all of a project: something of it is no longer paused."""


class PauseTimer:
    def __init__(self, watching: Watching, budget: BudgetWatch) -> None:
        self._watching, self._budget = watching, budget

    def pause(self, store: Store, session_id: str | None, seconds: float | None) -> dict[str, Any]:
        done = pausing.pause(store, session_id, seconds)
        _log.info("%s: %s is paused", store.project.root, session_id or "the project")
        store.announce(session_id, action="paused", until=done["paused"]["until"])
        return done

    def resume(self, store: Store, session_id: str | None) -> dict[str, Any]:
        done = pausing.resume(store, session_id)
        if done["ended"]:
            self._ended(store, session_id)
            self._go_on(store)
        return done

    def check(self, stores: Iterable[Store]) -> None:
        """To be called every few seconds."""
        for store in stores:
            if not store.read_only and (ended := store.pauses.drop_ended()):
                for session_id in ended:
                    self._ended(store, session_id)
                self._go_on(store)

    def _ended(self, store: Store, session_id: str | None) -> None:
        _log.info("%s: %s is no longer paused", store.project.root, session_id or "the project")
        store.announce(session_id, action="resumed")

    def _go_on(self, store: Store) -> None:
        """Compaction too: a session that filled up meanwhile is not weighed again before something is added to it."""
        self._watching.look_at(store)
        self._budget.weigh_some(store, store.catalogue.folders())
