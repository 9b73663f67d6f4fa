"""Which one of several a request is about: `fix bug 12` and `fix bug 13` are two requests and no change of mind."""

from __future__ import annotations

import re
from collections import defaultdict

from dagentd.model.compaction.local.subjects import STOP, Words, stem, subject

# A number or a letter behind a noun tells which one it is, unless it counts what stands behind it: `retry 3 times`.
_WHICH = re.compile(r"([a-z][\w-]*) (?:no\.? ?)?#?(\d[\w.]*|[a-z])(?=$|[,;:.!?)]|\s(\w+))")


def objects(text: str) -> dict[str, Words]:
    found: dict[str, set[str]] = defaultdict(set)
    for noun, which, after in _WHICH.findall(" ".join(text.lower().split())):
        if noun not in STOP and (not after or after in STOP):
            found[stem(noun)].add(which.rstrip("."))
    return {noun: frozenset(each) for noun, each in found.items()}


def of_others(one: str, other: str) -> bool:
    """Both name one of the same, and not the same one."""
    first, second = objects(one), objects(other)
    return any(each.isdisjoint(second[noun]) for noun, each in first.items() if noun in second)


def recounted(one: str, other: str) -> bool:
    """Another number of what both count."""
    new, old = subject(one), subject(other)
    return new.values != old.values and bool(new.units & old.units)
