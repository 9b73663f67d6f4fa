"""Pauses in the daemon: begun and ended as somebody asks, or when their time is over; what was left is done then."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from dagentd.jobs import pausing
from dagentd.store.store import Store
from dagentd.watching import Watching
from dagentd.weighing import Weighing

_log = logging.getLogger(__name__)


class Pausing:
    def __init__(self, watching: Watching, weighing: Weighing) -> None:
        self._watching, self._weighing = watching, weighing

    def pause(self, store: Store, session_id: str | None, seconds: float | None) -> dict[str, Any]:
        done = pausing.pause(store, session_id, seconds)
        _log.info("%s: %s is paused", store.project.root, session_id or "the project")
        return done

    def resume(self, store: Store, session_id: str | None) -> dict[str, Any]:
        done = pausing.resume(store, session_id)
        if done["ended"]:
            _log.info("%s: %s is no longer paused", store.project.root, session_id or "the project")
            self._go_on(store)
        return done

    def check(self, stores: Iterable[Store]) -> None:
        """To be called every few seconds."""
        for store in stores:
            if not store.read_only and store.pauses.drop_ended():
                _log.info("%s: a pause is over", store.project.root)
                self._go_on(store)

    def _go_on(self, store: Store) -> None:
        """Compaction too: a session that filled up meanwhile is not weighed again before something is added to it."""
        self._watching.look_at(store)
        self._weighing.weigh_some(store, store.folders())
