"""How large texts are for the model that is set: our own count, calibrated."""

from __future__ import annotations

from dagentd import paths
from dagentd.adapters import tokens
from dagentd.model import cutting
from dagentd.model.calibration import Calibration
from dagentd.model.cutting import Cut
from dagentd.settings import Settings
from dagentd.store.ledger import ledger


def calibration(settings: Settings) -> Calibration:
    """The factor that is set, or what the calls so far have taught."""
    given = settings.tokens.calibration
    return Calibration(fixed=float(given)) if given != "auto" else ledger(paths.ledger_file()).calibration()


class Sizes:
    """For a short while: it keeps the texts that it counted."""

    def __init__(self, settings: Settings) -> None:
        self._calibration, self._model = calibration(settings), settings.compaction.model
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._calibration.tokens(tokens.count(text), self._model)
        return self._known[text]

    def cut(self, text: str, limit: int) -> Cut:
        """A text that is short in any case is not counted: that would load the vocabulary, 49 MB."""
        if self._calibration.tokens(tokens.upper_bound(text), self._model) <= limit:
            return Cut(text)
        return cutting.cut(text, limit, self.count)
