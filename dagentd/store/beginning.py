"""How a journal begins: for a new session, and for documents which were there before dagentd."""

from __future__ import annotations

from typing import Any

from dagentd.model import jsontext, records
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store.merge import DERIVED, told_apart, with_ids
from dagentd.store.state import reported_tokens

Documents = dict[str, dict[str, Any]]


def first_records(folder: SessionFolder, documents: Documents, at: str) -> list[Record]:
    """A journal for what is on disk."""
    source = folder.within_feature(folder.document("chat"))
    said = told_apart(with_ids(documents.get("chat", {}).get("messages", []), source))
    session = {key: value for key, value in documents.get("session", {}).items() if key not in DERIVED}
    if "updatedAt" in documents.get("session", {}):
        session["updatedAt"] = documents["session"]["updatedAt"]
    known = {"featureId": folder.feature.id} | session | {"id": folder.id}
    result = [records.session({"id": folder.id} | known, at, base(documents, said))]
    doc = documents.get("checkpoint") or empty_checkpoint(at)
    result.append(records.checkpoint({key: value for key, value in doc.items() if key != "dagentd"}, at))
    return [*result, *(records.message(raw, jsontext.encode(raw), at) for raw in said)]


def new_session(folder: SessionFolder, fields: dict[str, Any], at: str) -> list[Record]:
    """A journal for a session that begins now: no messages, an empty checkpoint of version 1."""
    first = records.session({"id": folder.id, **fields, "createdAt": at, "status": "active"}, at)
    return [first, records.checkpoint(empty_checkpoint(at), at)]


def empty_checkpoint(at: str) -> dict[str, Any]:
    empty: dict[str, list[str]] = {
        "completed": [], "inProgress": [], "pending": [], "blockers": [], "decisions": []
    }  # fmt: skip
    return {
        "version": 1,
        "createdAt": at,
        "updatedAt": at,
        "summary": empty,
        "compactionInfo": {
            "messagesCompacted": 0, "oldestMessageTimestamp": at, "newestMessageTimestamp": at, "compactedAt": at
        },
        "stats": {"totalCompactions": 0, "totalMessages": 0, "totalTokens": 0},
    }  # fmt: skip


def base(documents: Documents, said: list[dict[str, Any]]) -> dict[str, Any]:
    """What was counted before the messages that are in chat, as `Totals` has it. Documents that do not agree were
    written one after the other: the highest number is the latest."""
    session, chat, checkpoint = (documents.get(name, {}) for name in ("session", "chat", "checkpoint"))
    stats, compacted, info = (
        _object(session, "stats"),
        _object(checkpoint, "stats"),
        _object(checkpoint, "compactionInfo"),
    )
    counted = [_number(stats, "totalMessages"), _number(chat, "totalMessages")]
    found = {
        "messages": max(*counted, _number(compacted, "totalMessages") + len(said)) - len(said),
        "tokens": max(0, _number(stats, "totalTokens") - sum(map(reported_tokens, said))),
        "compactions": max(_number(stats, "totalCompactions"), _number(compacted, "totalCompactions")),
    }
    last = stats.get("lastCompactionAt", info.get("compactedAt"))
    if found["compactions"] and isinstance(last, str):
        return {**found, "compacted_at": last}
    return {key: value for key, value in found.items() if value}


def _object(raw: dict[str, Any], key: str) -> dict[str, Any]:
    found = raw.get(key)
    return found if isinstance(found, dict) else {}


def _number(raw: dict[str, Any], key: str) -> int:
    found = raw.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0
