"""Which messages leave chat in a compaction: all but what is pinned, what is recent and what is not finished."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dagentd.model.compaction.turns import Turn


def leaving(turns: Sequence[Turn], sizes: Sequence[int], pinned: Collection[str], keep_recent: int) -> list[Turn]:
    """A tool call stays with its result: both leave or none does."""
    end = min(_recent_from(turns, sizes, keep_recent), _unfinished_from(turns))
    end = _whole_pairs(turns, end)
    stay = _with_partners(turns, {turn.id for turn in turns if turn.id in pinned})
    return [turn for turn in turns[:end] if turn.id not in stay]


def _recent_from(turns: Sequence[Turn], sizes: Sequence[int], keep: int) -> int:
    """Where the last messages begin that together have at most `keep` tokens."""
    room, start = keep, len(turns)
    while start and (room := room - sizes[start - 1]) >= 0 and keep:
        start -= 1
    return start


def _unfinished_from(turns: Sequence[Turn]) -> int:
    """Where a call stands whose result is still to come. One that something was said after will never get it."""
    answered = {tool.id for turn in turns for tool in turn.tools if tool.failed is not None}
    for at in range(len(turns) - 1, -1, -1):
        if any(tool.id and tool.failed is None and tool.id not in answered for tool in turns[at].tools):
            return at
        if turns[at].words.strip():
            break
    return len(turns)


def _whole_pairs(turns: Sequence[Turn], end: int) -> int:
    """Where a result stays whose call would leave, it leaves too."""
    called = {tool.id for turn in turns[:end] for tool in turn.tools if tool.id}
    late = [at for at in range(end, len(turns)) if any(tool.id in called for tool in turns[at].tools if tool.id)]
    return _whole_pairs(turns, late[-1] + 1) if late else end


def _with_partners(turns: Sequence[Turn], stay: set[str]) -> set[str]:
    calls = {tool.id for turn in turns if turn.id in stay for tool in turn.tools if tool.id}
    return stay | {turn.id for turn in turns if any(tool.id in calls for tool in turn.tools if tool.id)}
