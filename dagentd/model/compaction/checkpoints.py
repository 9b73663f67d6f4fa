"""The checkpoint after a compaction: its items within their room, and the documents' fields around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagentd.model.compaction.items import Item, summary_of
from dagentd.model.compaction.turns import Turn

Count = Callable[[str], int]

_BULLET = 3  # tokens for the dash and the line end of an entry
_FRAME = 160  # tokens for what stands around the lists in a request
_FIND = "`dagentd history {}` has what they came from"


class DoesNotFit(Exception):
    """What may not leave is too large by itself; str() says how large, in words for a user."""


@dataclass(frozen=True)
class Done:
    """What a compaction did, for the fields that tell of it."""

    at: str
    backend: str
    model: str | None
    before: int  # tokens of all that could be compacted
    freed: int  # tokens of the messages that left
    turns: Sequence[Turn]


def within(
    items: Sequence[Item], limit: int, count: Count, is_talk: Callable[[Item], bool] = lambda _: False
) -> tuple[list[Item], int]:
    """The items that have room, and how many had none: the oldest completed ones leave first, then what was resolved,
    then what may be only talk, then the oldest decisions that are not pinned."""
    sizes = {item.id: count(str(item.entry)) + _BULLET for item in items}
    used = _FRAME + sum(sizes.values())
    gone: set[str] = set()
    for item in sorted(_may_leave(items), key=lambda item: _rank(item, is_talk)) if used > limit else ():
        if used <= limit:
            break
        gone.add(item.id)
        used -= sizes[item.id]
    if used > limit:
        told = f"what may not leave the checkpoint has {used} tokens, and compaction.checkpoint_tokens is {limit}"
        raise DoesNotFit(told)
    return [item for item in items if item.id not in gone], len(gone)


def _may_leave(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not item.pinned and (item.resolved or item.list in ("completed", "decisions"))]


def _rank(item: Item, is_talk: Callable[[Item], bool]) -> int:
    """Sorting keeps the order among equals: the oldest is first."""
    return 1 if item.resolved else 0 if item.list == "completed" else 2 if is_talk(item) else 3


def after(
    before: Mapping[str, Any], items: Sequence[Item], left: int, done: Done, loop: Mapping[str, Any] | None, name: str
) -> dict[str, Any]:
    """The whole document but for its version; `name` is the session's, for the line that says where the rest is."""
    gone = _number(before.get("itemsLeft")) + left
    stats, tokens = _object(before, "stats"), _object(before, "tokens")
    times = [turn.at for turn in done.turns if turn.at]
    return {
        **{key: value for key, value in before.items() if key not in ("dagentd", "itemsLeft", "model")},
        "createdAt": before.get("createdAt", done.at),
        "summary": {**_object(before, "summary"), **summary_of(items, gone, _FIND.format(name))},
        "items": [item.raw() for item in items],
        **({"itemsLeft": gone} if gone else {}),
        "compactionInfo": {
            "messagesCompacted": len(done.turns),
            "oldestMessageTimestamp": min(times, default=done.at),
            "newestMessageTimestamp": max(times, default=done.at),
            "compactedAt": done.at,
        },
        "stats": {
            **stats,
            "totalCompactions": _number(stats.get("totalCompactions")) + 1,
            "totalMessages": _number(stats.get("totalMessages")) + len(done.turns),
            "totalTokens": _number(stats.get("totalTokens")) + done.freed,
        },
        "tokens": {
            **tokens, "lastCompactionInput": done.before, "totalSaved": _number(tokens.get("totalSaved")) + done.freed,
        },
        **({"ralphLoop": dict(loop)} if loop else {}),
        "backend": done.backend,
        **({"model": done.model} if done.model else {}),
    }  # fmt: skip


def _object(raw: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
