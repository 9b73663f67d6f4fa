"""Changing a session: which records a wish comes to, planned against the state in which they are appended."""

from __future__ import annotations

from typing import Any

from dagentd.adapters import clock
from dagentd.errors import Conflict, InvalidInput
from dagentd.model import jsontext, records
from dagentd.model.compaction.items import with_lists
from dagentd.model.documents import Checkpoint, version_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.records import Record
from dagentd.store import reading
from dagentd.store.chronicle import Chronicle
from dagentd.store.commits import Plan
from dagentd.store.new_message import NewMessage


def adding(chronicle: Chronicle, made: list[NewMessage]) -> Plan:
    """All messages or none. One that is known by its id and has the same content is not stored again."""

    def plan(pending: dict[str, bytes]) -> tuple[list[Record], list[dict[str, Any]]]:
        at, result, answer = clock.stamp(), [], []
        mine: dict[str, bytes] = {}
        for new in made:
            known = _known(chronicle, new, {**pending, **mine} if mine else pending) if new.given else None
            answer.append(new.raw if known is None else known)
            if known is None:
                result.append(records.message(new.raw, new.line, at))
                mine[new.raw["id"]] = records.core(new.raw) if new.given else b""
        if result and chronicle.state.session.get("status") == "archived":
            result.insert(0, records.session({"status": "active"}, at))
        pending |= mine
        return result, answer

    return plan


def _known(chronicle: Chronicle, new: NewMessage, pending: dict[str, bytes]) -> dict[str, Any] | None:
    message_id, core = new.raw["id"], records.core(new.raw)
    entry = None if message_id in pending else chronicle.state.find(message_id)
    held = pending.get(message_id) if entry is None else entry.core
    if held is None:
        return None
    if held != core:
        told = f"message {message_id!a} exists with other content"
        raise Conflict(told, hint="Leave `id` out, or use a new one.")
    return new.raw if entry is None else reading.content(chronicle, entry)


def clearing(chronicle: Chronicle) -> Plan:
    """All messages leave chat; they stay in history, and the checkpoint stays. What left by a compaction before is not
    to come back then, so that this is told also where nothing else leaves."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], int]:
        ids = [entry.id for entry in chronicle.state.ordered()]
        told = ids or chronicle.state.compactions.stack
        return [records.left(ids, "cleared", clock.stamp())] if told else [], len(ids)

    return plan


def setting(chronicle: Chronicle, fields: dict[str, Any]) -> Plan:
    """Fields of the session document."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], None]:
        known = chronicle.state.session
        changes = {key: value for key, value in fields.items() if known.get(key) != value}
        return [records.session(changes, clock.stamp())] if changes else [], None

    return plan


def updating_checkpoint(chronicle: Chronicle, changes: dict[str, Any]) -> Plan:
    """Fields of the checkpoint, and lists of its summary: what is not named stays; its version rises."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], dict[str, Any]]:
        at, known = clock.stamp(), chronicle.state.checkpoint or {}
        merged = {**known, **changes, "version": version_of(known) + 1, "updatedAt": at}
        merged.pop("dagentd", None)
        _check_checkpoint(merged)
        if isinstance(changes.get("summary"), dict):
            merged["summary"] = {**known.get("summary", {}), **changes["summary"]}
        merged = with_lists(merged)
        return [records.checkpoint(merged, at)], merged

    return plan


def _check_checkpoint(raw: dict[str, Any]) -> None:
    """One that we could not read again would be set aside as damaged at the next start."""
    try:
        Checkpoint.parse(raw)
        if jsontext.too_deep(raw):
            raise Undecodable("is nested too deeply")
    except Undecodable as error:
        hint = "A summary has lists: completed, inProgress, pending, blockers, decisions."
        raise InvalidInput(f"the checkpoint {error}", hint=hint) from None
