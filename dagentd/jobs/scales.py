"""How large texts are for the model that is set, by our own count, calibrated; how full a session is by that: its
request's parts, counted when they change; figures of its compactions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dagentd import paths
from dagentd.adapters import tokens
from dagentd.adapters.files import marks
from dagentd.errors import DagentdError
from dagentd.model import cutting, sections
from dagentd.model.budget import WARNINGS, Budget, Full, Parts, fullness
from dagentd.model.calibration import HIGHEST, Calibration
from dagentd.model.conversation import in_transcript
from dagentd.model.cutting import Cut
from dagentd.model.documents import AgentDescription, Checkpoint, Context
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import SessionFolder
from dagentd.store.ledger import Ledger, ledger

if TYPE_CHECKING:  # who only reads goes without the parts that write
    from dagentd.settings import Settings
    from dagentd.store.sessions.session import Session

_KNOWN = 4096  # texts whose size is remembered: two for each session


def calibration(settings: Settings, known: Ledger | None = None) -> Calibration:
    """The factor that is set, or what the calls so far have taught."""
    given = settings.tokens.calibration
    if given != "auto":
        return Calibration(fixed=float(given))
    return (known or ledger(paths.ledger_file())).calibration()


def budget_of(settings: Settings) -> Budget:
    given = settings.budget
    return Budget(given.limit, given.threshold, given.target, given.prompt_buffer)


class Sizes:
    """For a short while: it keeps the texts that it counted."""

    def __init__(self, settings: Settings, known: Ledger | None = None) -> None:
        self._factor = calibration(settings, known).factor(settings.compaction.model)
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = math.ceil(tokens.count(text) * self._factor)
        return self._known[text]

    def cut(self, text: str, limit: int) -> Cut:
        """A text that is short in any case is not counted: that would load the vocabulary, 49 MB."""
        if tokens.upper_bound(text) * self._factor <= limit:
            return Cut(text)
        return cutting.cut(text, limit, self.count)


def room(folder: SessionFolder, settings: Settings, chat: int | None = None) -> int:
    """How many tokens a session may have more, at the least, before the first warning: by the sizes of its files, and
    of its chat where that is known better. Not above zero: it must be counted."""
    names = ("checkpoint", "context", "agent-description", *(["chat"] if chat is None else []))
    there = [mark for name in names if (mark := marks.of(folder.document(name))) is not None]
    most = sum(size for _, _, size, _ in there) + (chat or 0)
    return int(min(WARNINGS) * settings.budget.limit - settings.budget.prompt_buffer - most * HIGHEST)


@dataclass
class Scales:
    """Remembers sizes as long as the documents are as they were. Safe for several threads."""

    _known: dict[object, int] = field(default_factory=dict)

    def weigh(self, session: Session, settings: Settings) -> Parts:
        """Exact where that can change what is done, else at most this much."""
        bounds = self.parts(session, settings, tokens.upper_bound, session.most_tokens)
        return self.parts(session, settings) if budget_of(settings).exact_matters(bounds) else bounds

    def fullness(self, session: Session, settings: Settings) -> Full:
        """The fullness of a session. One that is archived, or whose project does not want it, is never due."""
        full = fullness(budget_of(settings), self.weigh(session, settings), undone=session.undone)
        wanted = settings.compaction.enabled and session.fields.get("status") != "archived"
        return full if wanted else replace(full, due=False)

    def parts(
        self, session: Session, settings: Settings, count: Callable[[str], int] = tokens.count, chat: int | None = None
    ) -> Parts:
        """Exactly, or by what somebody else counts, who knows how much is in chat."""
        described, context = (partial(session.read, name) for name in ("agent-description", "context"))
        marked = [(path, marks.of(path)) for path in map(session.folder.document, ("agent-description", "context"))]
        place = session.folder.journal, session.checkpoint_pos
        sizes = (
            self._size((marked[0], count), described, lambda raw: sections.agent(AgentDescription.parse(raw))),
            self._size((marked[1], count), context, lambda raw: sections.context(Context.parse(raw))),
            self._size((place, count), session.checkpoint, lambda raw: sections.checkpoint(Checkpoint.parse(raw))),
            in_transcript(session.tokens(count) if chat is None else chat, count),
        )
        factors, model = calibration(settings), settings.compaction.model
        return Parts(*(factors.tokens(raw, model) for raw in sizes))

    def _size(
        self, key: tuple[object, Callable[[str], int]], read: Callable[[], Any], render: Callable[[Any], str]
    ) -> int:
        """A document that cannot be read is a problem of its own, and weighs nothing here."""
        known = self._known.get(key)
        if known is None:
            try:
                text = render(raw) if (raw := read()) else ""
            except (DagentdError, Undecodable):
                text = ""
            known = key[1](text)
            while len(self._known) >= _KNOWN:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = known
        return known
