"""The checkpoint of a kept conversation: made by `local` when somebody asks, from where the last one ended. What the
agent itself summarised stands beside it, as it is."""

from __future__ import annotations

from typing import Any

from dagentd.adapters import clock, tokens
from dagentd.agents.sessions import Sessions
from dagentd.model.compaction import checkpoints, local
from dagentd.model.compaction.checkpoints import Done
from dagentd.model.compaction.items import record_of, with_pin
from dagentd.model.compaction.turns import turn
from dagentd.model.redaction import redacted_value

_LOCAL = "local"


def of(sessions: Sessions, session_id: str, limit: int) -> dict[str, Any] | None:
    """None while nothing was said. `limit` is how many tokens it may have."""
    kept = sessions.find(session_id)
    before = sessions.state(kept).checkpoint or {}
    until = before.get("readUntil")
    if new := sessions.after(session_id, until if isinstance(until, str) else None):
        before = _made(before, new, session_id, limit)
        sessions.keep_checkpoint(session_id, before)
    summary = sessions.summary(session_id)
    told = {"at": summary.at, "text": summary.text, "trigger": summary.trigger} if summary else None
    return {**before, "agentSummary": told} if before else None


def pin(sessions: Sessions, session_id: str, item_id: str, pinned: bool, limit: int) -> None:
    """An item of it stays until it is unpinned."""
    known = of(sessions, session_id, limit) or {}
    if (marked := with_pin(known, item_id, pinned, session_id)) is not None:
        sessions.keep_checkpoint(session_id, {key: value for key, value in marked.items() if key != "agentSummary"})


def _made(before: dict[str, Any], new: list[dict[str, Any]], session_id: str, limit: int) -> dict[str, Any]:
    turns = [turn(redacted_value(message) | {"id": message["id"]}) for message in new]
    at = clock.stamp()
    record, left = local.compacted(record_of(before), turns, limit, tokens.count, at)
    record, more = checkpoints.within(record, limit, tokens.count)
    done = Done(at, _LOCAL, None, 0, 0, turns)
    document = checkpoints.after(before, record, left + more, done, None, session_id)
    return {**document, "version": int(before.get("version", 0)) + 1, "readUntil": new[-1]["id"]}
