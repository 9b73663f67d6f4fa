"""Asking a session: the messages in chat, the history before them, how large they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from dagentd.errors import NotFound
from dagentd.model import conversation, jsontext
from dagentd.model.conversation import Said
from dagentd.model.documents import version_of
from dagentd.model.records import Record
from dagentd.store.chronicle import Chronicle
from dagentd.store.entries import Entries
from dagentd.store.entry import Entry
from dagentd.store.journal import Journal
from dagentd.store.state import message_ids

_INTERNAL = b'"internal": true'  # in the line of each internal message, and of few others


def chat(chronicle: Chronicle) -> list[dict[str, Any]]:
    with chronicle.lock:
        return [entry.raw() for entry in chronicle.state.ordered()]


def messages(chronicle: Chronicle, limit: int, include_internal: bool) -> tuple[list[dict[str, Any]], int]:
    """The last messages in chat, and how many there are of those that are shown."""
    lines, sure = [], 0
    with chronicle.lock:
        total, newest = _shown(chronicle.state.entries, include_internal), chronicle.state.entries.newest()
        while sure < limit and (entry := next(newest, None)) is not None:
            lines.append(entry.line or b"{}")
            sure += include_internal or _INTERNAL not in lines[-1]
    every = (jsontext.decode_own(line) for line in lines)
    shown = (raw for raw in every if include_internal or not conversation.is_internal(raw))
    return list(islice(shown, limit))[::-1], total


def _shown(entries: Entries, include_internal: bool) -> int:
    """Each is looked at once in its life, and decoded only if it may be internal."""
    if not include_internal:
        for entry in list(entries.unjudged.values()):
            entries.judge(entry, _INTERNAL in (entry.line or b"{}") and conversation.is_internal(entry.raw()))
    return len(entries.chat) - (0 if include_internal else entries.internal)


def history(chronicle: Chronicle, before: str | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Every message ever seen, in order, up to the one before `before`; and whether there are earlier ones."""
    with chronicle.lock:
        state, name = chronicle.state, chronicle.folder.id
        state.save()
        start = state.find(before) if before is not None else None
        if before is not None and start is None:
            raise NotFound(f"no message {before!a} in session {name}", hint=f"dagentd history {name}")
        entries = state.entries.before(start.rank if start else None, limit + 1)
        page = [content(chronicle, entry) for entry in entries[-limit:]] if limit else []
    return page, len(entries) > limit


def moves(chronicle: Chronicle) -> list[dict[str, Any]]:
    """What left chat and what came back, in order. The journal is read from its beginning, by a reader of its own."""
    journal = Journal.open_read(chronicle.journal.path)
    try:
        return [_move(line.record) for group in journal.groups() for line in group if line.record.t in ("left", "back")]
    finally:
        journal.close()


def _move(record: Record) -> dict[str, Any]:
    held, why = record.body.get("checkpoint"), record.body.get("why")
    return {
        "at": record.at,
        "what": record.t,
        **({"why": why} if isinstance(why, str) else {}),
        "messageIds": list(message_ids(record)),
        **({"checkpointVersion": version_of(held)} if isinstance(held, dict) else {}),
    }


def content(chronicle: Chronicle, entry: Entry) -> dict[str, Any]:
    """A message as it is in chat, or as it was when it left."""
    held = chronicle.state.entries.chat.get(entry.id)
    if held is not None:
        return held.raw()
    raw: dict[str, Any] = chronicle.journal.read_record(entry.start, entry.end).body["message"]
    return raw


def tokens(chronicle: Chronicle, count: Callable[[str], int]) -> int:
    """The size of all that is in chat, as it stands in a request. A message is counted once: the result is kept in the
    index, and the sum is kept up with each change."""
    with chronicle.lock:
        waiting = list(chronicle.state.entries.uncounted.values())
        uncounted = [(entry, entry.whole, entry.raw()) for entry in waiting]
    sizes = [(entry, whole, count(conversation.message(raw).piece)) for entry, whole, raw in uncounted]
    with chronicle.lock:
        for entry, whole, size in sizes:
            if entry.whole == whole:
                chronicle.state.counted(entry, size)
        return chronicle.state.entries.tokens


def said(chronicle: Chronicle, count: Callable[[str], int]) -> list[Said]:
    """What requests have of the messages in chat. Nobody who adds one waits for this."""
    tokens(chronicle, count)
    with chronicle.lock:
        held = [(entry, entry.line or b"{}", entry.tokens) for entry in chronicle.state.ordered()]
    return [one for entry, line, size in held if (one := entry.said(line, size)) is not None]
