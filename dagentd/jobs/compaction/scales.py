"""How full a session is: the parts of its request in tokens, each counted when it changed and not before."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagentd.adapters import tokens
from dagentd.errors import DagentdError
from dagentd.jobs.token_sizes import budget_of, calibration
from dagentd.model import sections
from dagentd.model.budget import Full, Parts, fullness
from dagentd.model.documents import AgentDescription, Checkpoint, Context
from dagentd.model.jsontext import Undecodable
from dagentd.settings import Settings
from dagentd.store.sessions.session import Session

_KNOWN = 4096  # texts whose size is remembered: two for each session

Key = tuple[str, object]


def _agent(raw: dict[str, Any]) -> str:
    return sections.agent(AgentDescription.parse(raw))


def _context(raw: dict[str, Any]) -> str:
    return sections.context(Context.parse(raw))


class Scales:
    """Remembers sizes as long as the documents are as they were. Safe for several threads."""

    def __init__(self) -> None:
        self._known: dict[Key, int] = {}

    def weigh(self, session: Session, settings: Settings) -> Parts:
        """Exact where that can change what is done, else at most this much."""
        bounds = self._parts(session, settings, tokens.upper_bound, session.most_tokens)
        if not budget_of(settings).exact_matters(bounds):
            return bounds
        return self.exactly(session, settings)

    def fullness(self, session: Session, settings: Settings) -> Full:
        """The fullness of a session. One that is archived, or whose project does not want it, is never due."""
        full = fullness(budget_of(settings), self.weigh(session, settings), undone=session.undone)
        wanted = settings.compaction.enabled and session.fields.get("status") != "archived"
        return full if wanted else replace(full, due=False)

    def exactly(self, session: Session, settings: Settings) -> Parts:
        return self._parts(session, settings, tokens.count, session.tokens(tokens.count))

    def _parts(self, session: Session, settings: Settings, count: Callable[[str], int], chat: int) -> Parts:
        factors, model = calibration(settings), settings.compaction.model
        described = self._size(session, "agent-description", _agent, count)
        context = self._size(session, "context", _context, count)
        held = self._remembered(("checkpoint", session.folder.journal, session.checkpoint_pos, count),
                                lambda: count(_checkpoint(session.checkpoint())))  # fmt: skip
        return Parts(*(factors.tokens(raw, model) for raw in (described, context, held, chat)))

    def _size(self, session: Session, name: str, render: Callable[[Any], str], count: Callable[[str], int]) -> int:
        path = session.folder.document(name)
        return self._remembered((str(path), (_state(path), count)), lambda: count(_rendered(session, name, render)))

    def _remembered(self, key: Any, measure: Callable[[], int]) -> int:
        known = self._known.get(key)
        if known is None:
            known = measure()
            while len(self._known) >= _KNOWN:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = known
        return known


def _rendered(session: Session, name: str, render: Callable[[Any], str]) -> str:
    """One that cannot be read is a problem of its own, and weighs nothing here."""
    try:
        raw = session.read(name)
        return render(raw) if raw else ""
    except (DagentdError, Undecodable):
        return ""


def _checkpoint(raw: dict[str, Any] | None) -> str:
    try:
        return sections.checkpoint(Checkpoint.parse(raw)) if raw else ""
    except Undecodable:
        return ""


def _state(path: Path) -> object:
    try:
        found = os.stat(path)
        return found.st_mtime_ns, found.st_size, found.st_ino
    except OSError:
        return None
