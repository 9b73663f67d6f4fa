"""The text that an agent is given when it begins: looked up in a fifth of a second, because it waits, and put into
words by `model.opening`. A part that takes longer is left out this time, and is there the next time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dagentd.adapters import git
from dagentd.agents import neighbours
from dagentd.agents.followed import Followed
from dagentd.agents.neighbours import Checkout, Neighbours
from dagentd.agents.opening_parts import Asked, Look, Part, in_vain
from dagentd.agents.table import AGENTS
from dagentd.errors import DagentdError
from dagentd.model import opening
from dagentd.model.opening import Known
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.store import Store

_PATIENCE = 0.2  # seconds: a hook gives up after 0.3
_BEHIND = 150  # messages after which the checkpoint of a conversation that goes on is made
_BEGUN = 64  # conversations


def _place(cwd: Path, stores: list[Store]) -> tuple[Store, Checkout] | None:
    """The project and the worktree that an agent begins in. The worktree must be one that the repository itself knows
    of: a `.git` that somebody put into a folder could name any repository of the user, and would be told of it."""
    try:
        project, path = git.project_at(cwd), git.checkout_at(cwd)
    except (DagentdError, OSError):
        return None
    common = os.path.realpath(project.common_dir)
    store = next((each for each in stores if os.path.realpath(each.project.common_dir) == common), None)
    if store is None or path not in map(_real, neighbours.checkouts(store.project)):
        return None
    where = neighbours.checkout(path, store.project)
    return (store, where) if where is not None else None


class Openings:
    """For as long as the daemon lives: it remembers what never changes, and what it is still looking for."""

    def __init__(self, followed: Followed) -> None:
        self._followed, self._neighbours = followed, Neighbours()
        self._lock = threading.Lock()
        self._running: set[tuple[str, ...]] = set()
        self._begun: dict[str, int] = {}  # conversations that were told something, and how many messages were summed up

    def text(
        self, agent: str, uuid: str, source: str, cwd: Path, transcript: Path | None, stores: list[Store],
        settings_of: Callable[[Project], Settings],
    ) -> str:  # fmt: skip
        """Empty where nothing is worth saying, and where the folder is in none of these projects."""
        if (found := _place(cwd, stores)) is None:
            return ""
        settings = settings_of(found[0].project)
        return self._text(Asked(AGENTS[agent], uuid, source, transcript, *found), settings)

    def _text(self, asked: Asked, settings: Settings) -> str:
        look = Look(asked, self._followed, self._neighbours, settings)
        found: list[Part] = []
        if (
            thread := self._thread((str(asked.where.path), asked.id), lambda: self._run(look, found.append))
        ) is not None:
            thread.join(_PATIENCE)
        known = replace(Known(), **{name: value for part in list(found) for name, value in part.items()})
        self._goes_on(asked.id)
        return opening.compose(known, settings.agents.context_chars)

    def _run(self, look: Look, found: Callable[[Part], object]) -> None:
        look.run(found)
        for session_id in look.behind:
            self._catch_up(session_id)

    def _goes_on(self, session_id: str) -> None:
        with self._lock:
            self._begun[session_id] = self._begun.pop(session_id, 0)
            if len(self._begun) > _BEGUN:
                del self._begun[next(iter(self._begun))]

    def grew(self, session_id: str, total: int) -> None:
        """Before its agent compacts it, most of it is summed up: then it must go quickly."""
        with self._lock:
            known = self._begun.get(session_id)
            if known is None or total - known < _BEHIND:
                return
            self._begun[session_id] = total
        self._catch_up(session_id)

    def _catch_up(self, session_id: str) -> None:
        self._thread(("checkpoint", session_id), lambda: in_vain(lambda: self._followed.checkpoint(session_id)))

    def _thread(self, key: tuple[str, ...], job: Callable[[], object]) -> threading.Thread | None:
        """None if the same is still being done for who asked before."""
        with self._lock:
            if key in self._running:
                return None
            self._running.add(key)

        def run() -> None:
            try:
                job()
            finally:
                with self._lock:
                    self._running.discard(key)

        thread = threading.Thread(target=run, name="opening", daemon=True)
        thread.start()
        return thread


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
