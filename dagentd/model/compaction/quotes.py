"""The user's own words behind an item that says them in others: a paraphrase must not turn an order round unnoticed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from dagentd.model.compaction.local.typed import sentences, trimmed

_LONGEST = 240  # characters


def quote_for(text: str, given: str, said: Sequence[str]) -> str:
    """What the model gave if a user really said it, else the sentence that is nearest to the text. Nothing where the
    text is a whole sentence of theirs: a part of one may mean the contrary."""
    every = [sentence for words in said for sentence in sentences(words)]
    if any(_plain(sentence) == _plain(text) for sentence in every):
        return ""
    if given and any(_plain(given) in _plain(words) for words in said):
        return trimmed(next((one for one in every if _plain(given) in _plain(one)), given), _LONGEST)
    return trimmed(max(every, key=lambda sentence: _nearness(sentence, text), default=""), _LONGEST)


def _nearness(sentence: str, text: str) -> float:
    """By pairs of letters, which every language has; a long sentence has many of them by chance."""
    own, wanted = _pairs(sentence), _pairs(text)
    return len(own & wanted) / math.sqrt(max(1, len(own)))


def _pairs(text: str) -> set[str]:
    flat = _plain(text)
    return {flat[at : at + 2] for at in range(len(flat) - 1)}


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.lower()).strip()
