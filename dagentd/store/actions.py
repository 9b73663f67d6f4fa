"""What records mean to somebody who watches a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dagentd.model.records import Record

Announce = Callable[..., object]  # as `Events.publish`


def actions(committed: list[Record]) -> list[dict[str, Any]]:
    """The fields of the `session:updated` events for one append, in order. A compaction that is taken back for another
    one to take its place is not told of."""
    added = [record.body["message"]["id"] for record in committed if record.t in ("message", "edit")]
    result: list[dict[str, Any]] = [{"action": "message_added", "message_ids": added}] if added else []
    for record in committed:
        if record.t == "left":
            compacted = "checkpoint" in record.body
            result.append({"action": "compacted" if compacted else "cleared", "messages": len(record.body["ids"])})
        elif record.t == "back" and "checkpoint" in record.body and record is committed[-1]:
            result.append({"action": "undone", "messages": len(record.body["ids"])})
        elif record.t == "session" and record.body["set"].get("status") == "archived":
            result.append({"action": "archived"})
    return result
