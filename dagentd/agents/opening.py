"""The text that an agent is given when it begins: looked up in a fifth of a second, because it waits, and put into
words by `model.opening`. While an agent works, what it will be told after `/clear` or a compaction is looked up again
and again: where the machine is busy, a part that takes longer is as it was then."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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

_PATIENCE, _READY = 0.2, 0.05  # seconds: a hook gives up after 0.3, and there may be what was found before
_AGAIN = 30.0  # seconds after which what an agent at work will be told is looked up again
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


@dataclass
class _Begun:
    """A conversation that was told something; `summed_up` is how many messages its checkpoint is of."""

    asked: Asked
    settings: Settings
    looked: float
    summed_up: int = 0


class Openings:
    """For as long as the daemon lives: it remembers what never changes, and what it is still looking for."""

    def __init__(self, followed: Followed) -> None:
        self._followed, self._neighbours = followed, Neighbours()
        self._lock = threading.Lock()
        self._running: set[tuple[str, ...]] = set()
        self._begun: dict[str, _Begun] = {}
        self._ready: dict[tuple[str, ...], tuple[list[int], Part]] = {}

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
        stamp, ready = self._ready.get(_key(asked), ([], Part()))
        if stamp != self._stamp(asked.store):
            ready = Part()
        found = Part()
        thread = self._thread((str(asked.where.path), asked.id), lambda: self._look(asked, settings, found, ready))
        if thread is not None:
            thread.join(_READY if ready else _PATIENCE)
        known = replace(Known(), **{**ready, **dict(found)})
        known = replace(known, earlier=[each for each in known.earlier if each.id != asked.id])
        with self._lock:
            before = self._begun.pop(asked.id, None)
            self._begun[asked.id] = _Begun(asked, settings, time.monotonic(), before.summed_up if before else 0)
            _forget_first(self._begun)
        return opening.compose(known, settings.agents.context_chars)

    def _look(self, asked: Asked, settings: Settings, found: Part, ready: Part) -> None:
        look, stamp = Look(asked, self._followed, self._neighbours, settings, ready), self._stamp(asked.store)
        look.run(found.update)
        with self._lock:
            self._ready.pop(_key(asked), None)
            self._ready[_key(asked)] = stamp, found
            _forget_first(self._ready)
        for session_id in look.behind:
            self._catch_up(session_id)

    def _stamp(self, store: Store) -> list[int]:
        """Another one where something may have been forgotten, withdrawn or scrubbed: when a kept conversation comes,
        goes or is written anew, not when it goes on; when the project's memory changes; when it was let go of."""
        folders = (self._followed.following.keep(agent).folder for agent in AGENTS.values())
        looked_at = [*folders, store.project.memory_file]
        return [id(store), *(os.stat(path).st_mtime_ns for path in looked_at if path.exists())]

    def grew(self, session_id: str, total: int) -> None:
        """Before its agent compacts it, most of it is summed up, and what it is told then is looked up."""
        with self._lock:
            if (known := self._begun.get(session_id)) is None:
                return
            is_behind, is_old = total - known.summed_up >= _BEHIND, time.monotonic() - known.looked > _AGAIN
            known.summed_up = total if is_behind else known.summed_up
            known.looked = time.monotonic() if is_old else known.looked
        if is_behind:
            self._catch_up(session_id)
        if is_old:
            self._thread(("ready", session_id), lambda: self._prepare(known))

    def _prepare(self, known: _Begun) -> None:
        """For what may come next: its own compaction, and another conversation in its place."""
        for asked in (replace(known.asked, source="compact"), replace(known.asked, source="clear", uuid="")):
            self._look(asked, known.settings, Part(), Part())

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


def _key(asked: Asked) -> tuple[str, ...]:
    """Whoever begins is told the same as another who begins in its place; who goes on, of its own conversation."""
    begins = asked.source in ("startup", "clear")
    return (str(asked.where.path), "" if begins else asked.id, "" if begins else asked.source)


def _forget_first(of: dict[Any, Any]) -> None:
    if len(of) > _BEGUN:
        del of[next(iter(of))]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
