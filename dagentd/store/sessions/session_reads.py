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
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.store.journal.entries import Entries, Entry
from dagentd.store.journal.journal import Journal
from dagentd.store.journal.state import message_ids
from dagentd.waiting import right_of_way

_INTERNAL = b'"internal": true'  # in the line of each internal message, and of few others


def chat(journal: AppendableJournal) -> list[dict[str, Any]]:
    with journal.lock:
        return [entry.raw() for entry in journal.state.entries.ordered()]


def messages(journal: AppendableJournal, limit: int, include_internal: bool) -> tuple[list[dict[str, Any]], int]:
    """The last messages in chat, and how many there are of those that are shown."""
    lines, sure = [], 0
    with journal.lock:
        total, newest = _shown(journal.state.entries, include_internal), journal.state.entries.newest()
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


def history(journal: AppendableJournal, before: str | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Every message ever seen, in order, up to the one before `before`; and whether there are earlier ones."""
    with journal.lock:
        state, name = journal.state, journal.folder.id
        state.save(journal.file.ours)
        start = state.find(before) if before is not None else None
        if before is not None and start is None:
            raise NotFound(f"no message {before!a} in session {name}", hint=f"dagentd history {name}")
        entries = state.entries.before(start.rank if start else None, limit + 1)
        page = [content(journal, entry) for entry in entries[-limit:]] if limit else []
    return page, len(entries) > limit


def moves(journal: AppendableJournal) -> list[dict[str, Any]]:
    """The moves out of chat and back, in order. The journal is read from its beginning, by a reader of its own."""
    reader = Journal.open_read(journal.file.path)
    try:
        return [_move(line.record) for group in reader.groups() for line in group if line.record.t in ("left", "back")]
    finally:
        reader.close()


def _move(record: Record) -> dict[str, Any]:
    held, why = record.body.get("checkpoint"), record.body.get("why")
    return {
        "at": record.at,
        "what": record.t,
        **({"why": why} if isinstance(why, str) else {}),
        "messageIds": list(message_ids(record)),
        **({"checkpointVersion": version_of(held)} if isinstance(held, dict) else {}),
    }


Move = tuple[str, list[str], dict[str, Any] | None, dict[str, Any] | None]


def compactions(journal: AppendableJournal) -> list[Move]:
    """Each compaction in order: when, the ids that left, the checkpoint before and the one that it made; none for one
    that was taken back."""
    found, before = list[Move](), None
    file = Journal.open_read(journal.file.path)
    try:
        for record in (line.record for group in file.groups() for line in group):
            held = record.body.get("checkpoint") if isinstance(record.body.get("checkpoint"), dict) else None
            if record.t == "left" and record.body.get("why") == "compacted":
                found.append((record.at, list(message_ids(record)), before, held or {}))
            elif record.t == "back" and held is not None:
                found.append((record.at, list(message_ids(record)), before, None))
            before = held or before
    finally:
        file.close()
    return found


def content(journal: AppendableJournal, entry: Entry) -> dict[str, Any]:
    """A message as it is in chat, or as it was when it left."""
    held = journal.state.entries.chat.get(entry.id)
    if held is not None:
        return held.raw()
    raw: dict[str, Any] = journal.file.read_record(entry.start, entry.end).body["message"]
    return raw


def tokens(journal: AppendableJournal, count: Callable[[str], int]) -> int:
    """The size of all that is in chat, as it stands in a request. A message is counted once: the result is kept in the
    index, and the sum is kept up with each change."""
    with journal.lock:
        waiting = list(journal.state.entries.uncounted.values())
        uncounted = [(entry, entry.whole, entry.line or b"{}") for entry in waiting]
    sizes = [
        (entry, whole, count(conversation.message(jsontext.decode_own(line)).piece))
        for entry, whole, line in right_of_way.behind(uncounted)
    ]
    with journal.lock:
        for entry, whole, size in sizes:
            if entry.whole == whole:
                journal.state.counted(entry, size)
        return journal.state.entries.tokens


def said(journal: AppendableJournal, count: Callable[[str], int]) -> list[Said]:
    """The messages in chat as requests have them. Nobody who adds one waits for this."""
    tokens(journal, count)
    with journal.lock:
        held = [(entry, entry.line or b"{}", entry.tokens) for entry in journal.state.entries.ordered()]
    return [one for entry, line, size in held if (one := entry.said(line, size)) is not None]
