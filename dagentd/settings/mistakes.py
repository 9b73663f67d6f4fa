"""Mistakes in settings, in words: the key, what was found, and what it must be."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from difflib import get_close_matches
from typing import Any

from dagentd.settings.tables import RULES

TABLES = tuple(dict.fromkeys(key.split(".")[0] for key in RULES))

# The first must be less than the second.
_ORDERED = (
    ("budget.target", "budget.threshold"),
    ("budget.prompt_buffer", "budget.limit"),
    ("watch.settle_ms", "watch.ceiling_ms"),
)


def mistake(key: str, value: Any, may_set: Set[str]) -> str | None:
    """What is wrong with one entry of a file, if anything is."""
    if key in TABLES:
        return f"{key} is {_shown(value)}; it must be a table: [{key}]"
    if key not in RULES:
        # Without the value: a key that we do not know may be where somebody put a secret.
        return f"{_cut(key)} is not a setting{_suggestion(key)}"
    if key not in may_set:
        return f"{key} cannot be set by a project; set it in your own settings"
    if not RULES[key].holds(value):
        return f"{key} is {_shown(value)}; it must be {RULES[key].allowed}"
    return None


def disorder(values: dict[str, Any], ignoring: Set[str]) -> list[tuple[str, str, str]]:
    """Pairs of settings that are right alone and wrong together, with the sentence that says so."""
    return [
        (low, high, f"{low} is {values[low]}; it must be less than {high}, which is {values[high]}")
        for low, high in _ORDERED
        if not values[low] < values[high] and not {low, high} & ignoring
    ]


def _suggestion(key: str) -> str:
    """The same name in another table is a better guess than a similar one in this."""
    table, _, leaf = key.rpartition(".")
    moved = [name for name in RULES if name.endswith(f".{leaf}")]
    leaves = {name.split(".")[1]: name for name in RULES}
    near = get_close_matches(key, RULES if table else (*TABLES, *leaves), 1)
    if len(moved) == 1 or near:
        best = moved[0] if len(moved) == 1 else near[0]
        return f"; did you mean {leaves.get(best, best)}?"
    known = [name for name in RULES if name.startswith(f"{table}.")] or TABLES
    return f"; there are {', '.join(known)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    without_password = re.sub(r"//[^/@]*@", "//***@", json.dumps(value, default=str))
    return _cut(without_password)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
