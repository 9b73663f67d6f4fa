"""The checkpoint after a compaction: its items within their room, and the documents' fields around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dagentd.model.compaction.items import Record, object_of, summary_of
from dagentd.model.compaction.turns import Turn

Count = Callable[[str], int]

BULLET = 3  # tokens for the dash and the line end of an entry
FRAME = 160  # tokens for what stands around the lists in a request
_LEAVING = {"completed": 0, "facts": 1, "pending": 2, "inProgress": 3, "blockers": 3, "decisions": 4}  # in this order


@dataclass(frozen=True)
class Done:
    """The figures of a compaction that is done, for the fields that tell of it."""

    at: str
    backend: str
    model: str | None
    before: int  # tokens of all that could be compacted
    freed: int  # tokens of the messages that left
    turns: Sequence[Turn]


def within(record: Record, limit: int, count: Count) -> tuple[Record, int]:
    """The record with the items that have room, and how many had none. What is pinned never leaves."""
    sizes = {item.id: count(f"{item.entry} {item.quote}") + BULLET for item in record.items}
    used = FRAME + count(f"{record.goal} {record.next}") + sum(sizes.values())
    gone: set[str] = set()
    may_leave = [item for item in record.items if not item.pinned]
    for item in sorted(may_leave, key=lambda item: _LEAVING[item.list]):  # stable: the oldest is first
        if used <= limit:
            break
        gone.add(item.id)
        used -= sizes[item.id]
    return replace(record, items=tuple(item for item in record.items if item.id not in gone)), len(gone)


def after(
    before: Mapping[str, Any], record: Record, left: int, done: Done, loop: Mapping[str, Any] | None, name: str
) -> dict[str, Any]:
    """The whole document but for its version; `name` is the session's, for the line that says where the rest is."""
    gone = number(before.get("itemsLeft")) + left
    stats, tokens = object_of(before.get("stats")), object_of(before.get("tokens"))
    times = [turn.at for turn in done.turns if turn.at]
    return {
        **_without(before, "dagentd", "itemsLeft", "model"),
        "createdAt": before.get("createdAt", done.at),
        "summary": {
            **_without(object_of(before.get("summary")), "goal", "next", "facts"),
            **summary_of(record, gone, f"`dagentd history {name}` has what they came from"),
        },
        "items": [item.raw() for item in record.items],
        **({"itemsLeft": gone} if gone else {}),
        "compactionInfo": {
            "messagesCompacted": len(done.turns),
            "oldestMessageTimestamp": min(times, default=done.at),
            "newestMessageTimestamp": max(times, default=done.at),
            "compactedAt": done.at,
        },
        "stats": {
            **stats,
            "totalCompactions": number(stats.get("totalCompactions")) + 1,
            "totalMessages": number(stats.get("totalMessages")) + len(done.turns),
            "totalTokens": number(stats.get("totalTokens")) + done.freed,
        },
        "tokens": {
            **tokens, "lastCompactionInput": done.before, "totalSaved": number(tokens.get("totalSaved")) + done.freed,
        },
        **({"ralphLoop": dict(loop)} if loop else {}),
        "backend": done.backend,
        **({"model": done.model} if done.model else {}),
    }  # fmt: skip


def _without(raw: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in keys}


def number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
