"""From our raw token counts to a model's: a factor per model family, learned from what the API reports."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

LOWEST, HIGHEST = 0.7, 2.0

_UP_TO_4_6, _LATER = 1.20, 1.55  # published comparisons of Claude with cl100k_base
_STEP = 0.3  # after ten reports 3 % of the first error is left, and one odd report of 10 % moves us by 3 %
_RISE = 0.7  # where we counted too little, which fills a window unseen: of 13 % one report leaves 4 %
_SMALLEST = 500  # raw tokens: in less, what the API adds to every call outweighs the text
_CLAUDE = re.compile(r"claude[a-z-]*(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


@dataclass(frozen=True)
class Calibration:
    """`fixed` is a factor from the settings, which nothing changes."""

    fixed: float | None = None
    learned: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def load(cls, raw: object) -> Self:
        """Read back what `dump` gave. An entry that is no factor is left out: it will be learned again."""
        entries = raw.items() if isinstance(raw, dict) else ()
        return cls(learned={name: _bounded(value) for name, value in entries if _is_number(value)})

    def dump(self) -> dict[str, float]:
        return dict(self.learned)

    def factor(self, model: str) -> float:
        """The one set, learned or published. A family that nobody measured gets the higher published figure: counting
        too much only compacts early."""
        name = family(model)
        found = _CLAUDE.search(name)
        version = (int(found[1]), int(found[2] or 0)) if found else (math.inf, 0)
        published = _UP_TO_4_6 if version <= (4, 6) else _LATER
        return self.learned.get(name, published) if self.fixed is None else self.fixed

    def tokens(self, raw: int, model: str) -> int:
        return math.ceil(raw * self.factor(model))

    def after(self, model: str, raw: int, reported: int) -> Calibration:
        """With one more report: `raw` is our count of what was sent, `reported` the API's."""
        if self.fixed is not None or raw < _SMALLEST or reported <= 0:
            return self
        before, told = self.factor(model), reported / raw
        step = _RISE if before < told <= HIGHEST else _STEP
        factor = before + step * (_bounded(told) - before)
        return replace(self, learned={**self.learned, family(model): factor})


def family(model: str) -> str:
    """`claude-haiku-4-5` for `anthropic.claude-haiku-4-5-20251001-v1:0`; one family for all that is not Claude."""
    found = _CLAUDE.search(model.lower())
    return found.group().replace(".", "-") if found else "other"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _bounded(factor: float) -> float:
    return min(max(factor, LOWEST), HIGHEST)
