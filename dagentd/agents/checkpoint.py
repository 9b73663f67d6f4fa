"""The checkpoint of a kept conversation: made by `local` when somebody asks, from where the last one ended. What the
agent itself summarised stands beside it, as it is."""

from __future__ import annotations

from typing import Any

from dagentd.adapters import clock, tokens
from dagentd.agents.conversation import Summary
from dagentd.agents.sessions import Sessions
from dagentd.model.compaction import checkpoints, local
from dagentd.model.compaction.checkpoints import Done
from dagentd.model.compaction.items import record_of
from dagentd.model.compaction.turns import turn
from dagentd.model.redaction import redacted_value

_LOCAL = "local"
_PAGE = 1000  # messages


def of(sessions: Sessions, session_id: str, limit: int) -> dict[str, Any] | None:
    """None while nothing was said. `limit` is how many tokens it may have."""
    kept = sessions.find(session_id)
    before = sessions.state(kept).checkpoint or {}
    told = before.get("readUntil")
    new = _messages_after(sessions, session_id, told if isinstance(told, str) else None)
    if new:
        before = _made(before, new, session_id, limit)
        sessions.keep_checkpoint(session_id, before)
    summaries = sessions.summaries(session_id)
    return {**before, "agentSummary": _told(summaries[-1]) if summaries else None} if before else None


def _messages_after(sessions: Sessions, session_id: str, last: str | None) -> list[dict[str, Any]]:
    """Those since the one that the checkpoint was made up to; all where that is not known."""
    found: list[dict[str, Any]] = []
    before, more = None, True
    while more:
        page, more = sessions.history(session_id, before, _PAGE)
        ids = [message["id"] for message in page]
        if last in ids:
            return page[ids.index(last) + 1 :] + found
        found = page + found
        before = ids[0] if ids else None
        more = more and bool(ids)
    return found


def _made(before: dict[str, Any], new: list[dict[str, Any]], session_id: str, limit: int) -> dict[str, Any]:
    turns = [turn(redacted_value(message) | {"id": message["id"]}) for message in new]
    at = clock.stamp()
    record, left = local.compacted(record_of(before), turns, limit, tokens.count, at)
    record, more = checkpoints.within(record, limit, tokens.count)
    done = Done(at, _LOCAL, None, 0, 0, turns)
    document = checkpoints.after(before, record, left + more, done, None, session_id)
    return {**document, "version": int(before.get("version", 0)) + 1, "readUntil": new[-1]["id"]}


def _told(summary: Summary) -> dict[str, str]:
    return {"at": summary.at, "text": summary.text, "trigger": summary.trigger}
