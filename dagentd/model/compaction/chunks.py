"""Messages in portions that fit into one call; one that is too long by itself is cut in its middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dagentd.model.compaction.turns import Turn
from dagentd.model.cutting import LONGEST_TOKEN

Count = Callable[[str], int]

_EACH = 30  # tokens for a message's id, role and time


def chunks(turns: Sequence[Turn], room: int, count: Count) -> Iterator[list[Turn]]:
    """As many in each as have at most `room` tokens."""
    held: list[Turn] = []
    used = 0
    for turn in turns:
        fitting, size = _fitting(turn, room - _EACH, count)
        if held and used + size + _EACH > room:
            yield held
            held, used = [], 0
        held.append(fitting)
        used += size + _EACH
    if held:
        yield held


def _fitting(turn: Turn, room: int, count: Count) -> tuple[Turn, int]:
    if len(turn.text) <= room * LONGEST_TOKEN and (size := count(turn.text)) <= room:
        return turn, size
    short = middle_cut(turn.text, room, count)
    return replace(turn, text=short), count(short)


def middle_cut(text: str, room: int, count: Count) -> str:
    """The beginning and the end, which say what it is and what came of it."""
    half = min(len(text), room * LONGEST_TOKEN) // 2
    while half:
        kept = f"{text[:half]}\n[dagentd left out {len(text) - 2 * half} characters here]\n{text[-half:]}"
        if count(kept) <= room:
            return kept
        half = half * 3 // 4
    return ""
