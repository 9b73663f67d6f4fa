"""How full a session is: the tokens of its request's parts, counted when they change; figures of its compactions."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.adapters import tokens
from dagentd.errors import DagentdError
from dagentd.jobs.token_sizes import budget_of, calibration
from dagentd.model import sections
from dagentd.model.budget import Full, Parts, fullness
from dagentd.model.compaction.items import object_of
from dagentd.model.conversation import in_transcript
from dagentd.model.documents import AgentDescription, Checkpoint, Context, version_of
from dagentd.model.jsontext import Undecodable

if TYPE_CHECKING:  # who only reads goes without the parts that write
    from dagentd.settings import Settings
    from dagentd.store.ledger import Ledger
    from dagentd.store.sessions.session import Session

_KNOWN = 4096  # texts whose size is remembered: two for each session


class Scales:
    """Remembers sizes as long as the documents are as they were. Safe for several threads."""

    def __init__(self) -> None:
        self._known: dict[object, int] = {}

    def weigh(self, session: Session, settings: Settings) -> Parts:
        """Exact where that can change what is done, else at most this much."""
        bounds = self._parts(session, settings, tokens.upper_bound, session.most_tokens)
        return self.exactly(session, settings) if budget_of(settings).exact_matters(bounds) else bounds

    def fullness(self, session: Session, settings: Settings) -> Full:
        """The fullness of a session. One that is archived, or whose project does not want it, is never due."""
        full = fullness(budget_of(settings), self.weigh(session, settings), undone=session.undone)
        wanted = settings.compaction.enabled and session.fields.get("status") != "archived"
        return full if wanted else replace(full, due=False)

    def exactly(self, session: Session, settings: Settings) -> Parts:
        return self._parts(session, settings, tokens.count, session.tokens(tokens.count))

    def _parts(self, session: Session, settings: Settings, count: Callable[[str], int], chat: int) -> Parts:
        def size(key: object, read: Callable[[], Any], render: Callable[[Any], str]) -> int:
            return self._remembered((key, count), lambda: count(_rendered(read, render)))

        def of(name: str) -> tuple[object, Callable[[], Any]]:
            path = session.folder.document(name)
            return (path, _state(path)), partial(session.read, name)

        factors, model = calibration(settings), settings.compaction.model
        described = size(*of("agent-description"), lambda raw: sections.agent(AgentDescription.parse(raw)))
        context = size(*of("context"), lambda raw: sections.context(Context.parse(raw)))
        place = session.folder.journal, session.checkpoint_pos
        held = size(place, session.checkpoint, lambda raw: sections.checkpoint(Checkpoint.parse(raw)))
        said = in_transcript(chat, count)
        return Parts(*(factors.tokens(raw, model) for raw in (described, context, held, said)))

    def _remembered(self, key: object, measure: Callable[[], int]) -> int:
        known = self._known.get(key)
        if known is None:
            known = measure()
            while len(self._known) >= _KNOWN:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = known
        return known


def metrics(session: Session, settings: Settings, scales: Scales, ledger: Ledger) -> dict[str, Any]:
    """The figures of a session's compactions, and what the ledger has of it."""
    checkpoint = session.checkpoint() or {}
    saved = object_of(checkpoint.get("tokens")).get("totalSaved")
    stats, parts = session.document().get("stats", {}), scales.exactly(session, settings)
    return {
        "totalCompactions": stats.get("totalCompactions", 0),
        "lastCompactionAt": stats.get("lastCompactionAt"),
        "totalTokensSaved": saved if isinstance(saved, int) else 0,
        "checkpointVersion": version_of(checkpoint),
        "checkpointTokens": parts.checkpoint,
        "tokens": parts.total,
        "backend": checkpoint.get("backend"),
        "model": checkpoint.get("model"),
        "undoable": session.undoable,
        "history": ledger.of_session(str(session.project.root), session.id),
    }


def _rendered(read: Callable[[], dict[str, Any] | None], render: Callable[[dict[str, Any]], str]) -> str:
    """One that cannot be read is a problem of its own, and weighs nothing here."""
    try:
        raw = read()
        return render(raw) if raw else ""
    except (DagentdError, Undecodable):
        return ""


def _state(path: Path) -> object:
    try:
        found = os.stat(path)
        return found.st_mtime_ns, found.st_size, found.st_ino
    except OSError:
        return None
