"""An order with a rule behind it says two things: `add the item to the cart; the total must never be negative`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dagentd.model.compaction.local import asking, phrases, prose
from dagentd.model.compaction.local.fragments import asks_for
from dagentd.model.compaction.local.judging import judged
from dagentd.model.compaction.local.subjects import words

_BETWEEN = re.compile(r"\s*[;,—–]\s+(?:and |but )?|\s+(?:and|but)\s+")
_SEE_TO = re.compile(r"(?:please )?make sure\b")
_LEANS = re.compile(r"^(?:it|its|they|their|he|she|that|this|these|those|which|both|must|so)\b")


def divided(sentence: prose.Sentence) -> Iterator[prose.Sentence]:
    """The rule keeps the order with it where it would not be understood alone."""
    low = sentence.text.lower()
    if phrases.FIRM.search(low) and asking.REQUEST.search(low):
        for between in _BETWEEN.finditer(sentence.text):
            order, rule = sentence.text[: between.start()], sentence.text[between.end() :]
            if _is_order(order) and _is_rule(rule):
                leans = _LEANS.match(rule.lower()) or len(words(rule)) < 2
                yield sentence if leans else replace(sentence, text=rule)
                yield replace(sentence, text=order)
                return
    yield sentence


def _is_order(text: str) -> bool:
    return len(words(text)) > 1 and not phrases.FIRM.search(text.lower()) and asks_for(text)


def _is_rule(text: str) -> bool:
    low = text.lower()
    if not phrases.FIRM.search(low) or judged(text, "", True) is None:
        return False
    return bool(_SEE_TO.match(low)) or not asking.REQUEST.search(low)
