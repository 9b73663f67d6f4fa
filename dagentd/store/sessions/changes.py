"""Changing a session: which records a wish comes to, planned against the state in which they are appended."""

from __future__ import annotations

import os
import random
import uuid
from typing import Any, NamedTuple

from dagentd.adapters import clock
from dagentd.errors import Conflict, InvalidInput, LimitReached
from dagentd.model import conversation, jsontext, records
from dagentd.model.compaction.items import with_lists
from dagentd.model.documents import Checkpoint, version_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.records import Record
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.store.journal.group_commit import Plan
from dagentd.store.sessions import session_reads

# A message that somebody wants to add: checked, given what it lacks, and serialised once.

ROLES = ("user", "assistant", "system")
MESSAGE_LIMIT = 16 << 20  # a line on the socket carries no more

# Seeded by the system once: uuid4 asks it each time and lets go of the interpreter meanwhile, which costs 64
# threads more than writing their messages does.
_random = random.Random()
os.register_at_fork(after_in_child=_random.seed)


class NewMessage(NamedTuple):
    """A message to be added. `given`: the caller named its id, so it may be known already."""

    raw: dict[str, Any]
    line: bytes
    given: bool


def new_message(raw: dict[str, Any]) -> NewMessage:
    role, given = raw.get("role"), raw.get("id")
    if role not in ROLES:
        raise InvalidInput(f"role is {role!a}", hint=f"Use one of: {', '.join(ROLES)}.")
    if jsontext.too_deep(raw):
        raise InvalidInput("a message is nested too deeply", hint="Store the inner part as a text.")
    if "content" not in raw:
        raise InvalidInput("a message needs content", hint='Give "content".')
    if given is not None and (not isinstance(given, str) or not 0 < len(given) <= 200):
        raise InvalidInput("a message id is a text of 1 to 200 characters", hint="Leave `id` out to get one.")
    name = given or str(uuid.UUID(int=_random.getrandbits(128), version=4))
    head = {"id": name, "role": role, "content": raw["content"], "timestamp": clock.stamp()}
    rest = {key: value for key, value in raw.items() if key not in head and value is not None}
    made = head | rest if isinstance(head["content"], str) else conversation.with_text(head | rest)
    line = jsontext.encode(made)
    if len(line) > MESSAGE_LIMIT:
        raise LimitReached(f"a message has at most {MESSAGE_LIMIT >> 20} MiB", hint="Split it, or store a path.")
    return NewMessage(made, line, given is not None)


def adding(journal: AppendableJournal, made: list[NewMessage]) -> Plan:
    """All messages or none. One that is known by its id and has the same content is not stored again."""

    def plan(pending: dict[str, bytes]) -> tuple[list[Record], list[dict[str, Any]]]:
        at, result, answer = clock.stamp(), [], []
        mine: dict[str, bytes] = {}
        for new in made:
            known = _known(journal, new, {**pending, **mine} if mine else pending) if new.given else None
            answer.append(new.raw if known is None else known)
            if known is None:
                result.append(records.message(new.raw, new.line, at))
                mine[new.raw["id"]] = records.core(new.raw) if new.given else b""
        if result and journal.state.session.get("status") == "archived":
            result.insert(0, records.session({"status": "active"}, at))
        pending |= mine
        return result, answer

    return plan


def _known(journal: AppendableJournal, new: NewMessage, pending: dict[str, bytes]) -> dict[str, Any] | None:
    message_id, core = new.raw["id"], records.core(new.raw)
    entry = None if message_id in pending else journal.state.find(message_id)
    held = pending.get(message_id) if entry is None else entry.core
    if held is None:
        return None
    if held != core:
        told = f"message {message_id!a} exists with other content"
        raise Conflict(told, hint="Leave `id` out, or use a new one.")
    return new.raw if entry is None else session_reads.content(journal, entry)


def clearing(journal: AppendableJournal) -> Plan:
    """All messages leave chat; they stay in history, and the checkpoint stays. What left by a compaction before is not
    to come back then, so that this is told also where nothing else leaves."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], int]:
        ids = [entry.id for entry in journal.state.entries.ordered()]
        told = ids or journal.state.compactions.stack
        return [records.left(ids, "cleared", clock.stamp())] if told else [], len(ids)

    return plan


def setting(journal: AppendableJournal, fields: dict[str, Any]) -> Plan:
    """Fields of the session document."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], None]:
        known = journal.state.session
        changes = {key: value for key, value in fields.items() if known.get(key) != value}
        return [records.session(changes, clock.stamp())] if changes else [], None

    return plan


def updating_checkpoint(journal: AppendableJournal, changes: dict[str, Any]) -> Plan:
    """Fields of the checkpoint, and lists of its summary: what is not named stays; its version rises."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], dict[str, Any]]:
        at, known = clock.stamp(), journal.state.checkpoint or {}
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
