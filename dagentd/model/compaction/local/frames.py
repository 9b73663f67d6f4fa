"""Clauses that say the same of something with another word at the end: `indent with tabs`, `indent with spaces`."""

from __future__ import annotations

import re

from dagentd.model.compaction.local import meant, phrases
from dagentd.model.compaction.local.chunks import Chunk, chunks
from dagentd.model.compaction.local.statements import Statement
from dagentd.model.compaction.local.subjects import is_place
from dagentd.model.compaction.local.topics import IDLE

Frame = tuple[tuple[Chunk, ...], str, Chunk]
_LINK = re.compile("[CUWSFK]")
_MOST = 2  # words of what is given


def reframes(new: Statement, old: str) -> bool:
    if phrases.FIRM.search(old.lower()) or phrases.FIRM.search(new.low):
        return False
    held = _frame(old)
    clauses = map(_frame, meant.PARTS.split(new.text)) if held else ()
    return any(_differ(each, held, new.marker) for each in clauses if each and held)


def _frame(text: str) -> Frame | None:
    """What it is about, how it goes on, what it gives; only where that is all."""
    said = [chunk for at, chunk in enumerate(chunks(text)) if at < 2 or chunk.before or not chunk.counts]  # `MySQL 8`
    if not 2 <= len(said) <= 3 or len(said[-1].stems) > _MOST or _is_set(said[0]) or _is_known(said[-1]):
        return None
    *about, given = said
    link = _LINK.findall(given.before)
    return (tuple(about), link[-1], given) if link else None


def _is_known(chunk: Chunk) -> bool:
    """A number, or the one thing of that name: nothing that is chosen."""
    return chunk.counts or (chunk.definite and not chunk.one_of_many)


def _is_set(chunk: Chunk) -> bool:
    return chunk.value or IDLE.issuperset(chunk.stems)


def _differ(one: Frame, two: Frame, marker: int) -> bool:
    (about, link, given), (topic, linked, held) = one, two
    if [frozenset(one.stems) for one in about] != [frozenset(one.stems) for one in topic]:
        return False
    if link != linked and not marker:
        return False
    if is_place(frozenset(given.stems)) != is_place(frozenset(held.stems)):
        return False
    return not frozenset(given.stems) & frozenset(held.stems)
