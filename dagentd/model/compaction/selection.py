"""Which messages leave chat in a compaction: all but what is pinned, what is recent and what is not finished."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dagentd.model.compaction.turns import Turn


def leaving(turns: Sequence[Turn], sizes: Sequence[int], pinned: Collection[str], keep_recent: int) -> list[Turn]:
    """A tool call stays with its result: both leave or none does."""
    partners, waiting = _paired(turns)
    end = min(_recent_from(turns, sizes, keep_recent), _unfinished_from(turns, waiting))
    kept = [at for at, turn in enumerate(turns) if at >= end or turn.id in pinned]
    stay = _with_partners(kept, partners)
    return [turn for at, turn in enumerate(turns) if at not in stay]


def _recent_from(turns: Sequence[Turn], sizes: Sequence[int], keep: int) -> int:
    """Where the last messages begin that together have at most `keep` tokens."""
    room, start = keep, len(turns)
    while start and (room := room - sizes[start - 1]) >= 0 and keep:
        start -= 1
    return start


def _paired(turns: Sequence[Turn]) -> tuple[dict[int, set[int]], set[int]]:
    """Which messages hold the two sides of a tool call, and which hold one that nobody answered. A result is of the
    call just before it: some models number their calls anew in each message."""
    partners, calls = dict[int, set[int]](), dict[str, int]()
    for at, turn in enumerate(turns):
        for tool in turn.tools:
            if tool.id and tool.failed is None:
                calls[tool.id] = at
            elif tool.id in calls:
                call = calls.pop(tool.id)
                partners.setdefault(call, set()).add(at)
                partners.setdefault(at, set()).add(call)
    return partners, set(calls.values())


def _unfinished_from(turns: Sequence[Turn], waiting: Collection[int]) -> int:
    """Where the first call stands whose result is still to come. One that something was said after will never get
    it."""
    start = len(turns)
    for at in range(len(turns) - 1, -1, -1):
        if at in waiting:
            start = at
        if turns[at].words.strip():
            break
    return start


def _with_partners(kept: Sequence[int], partners: Mapping[int, Collection[int]]) -> set[int]:
    """One message may hold several calls, whose results then stay too, and so on."""
    found, more = set(kept), list(kept)
    while more:
        more = [one for at in more for one in partners.get(at, ()) if one not in found]
        found.update(more)
    return found
