"""How large texts are for the model that is set: our own count, calibrated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from dagentd import paths
from dagentd.adapters import tokens
from dagentd.model import cutting
from dagentd.model.budget import WARNINGS, Budget
from dagentd.model.calibration import HIGHEST, Calibration
from dagentd.model.cutting import Cut
from dagentd.model.project import SessionFolder
from dagentd.store.ledger import Ledger, ledger

if TYPE_CHECKING:
    from dagentd.settings import Settings


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
    others = sum(_bytes(folder.document(name)) for name in ("checkpoint", "context", "agent-description"))
    most = others + (_bytes(folder.document("chat")) if chat is None else chat)
    return int(min(WARNINGS) * settings.budget.limit - settings.budget.prompt_buffer - most * HIGHEST)


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
