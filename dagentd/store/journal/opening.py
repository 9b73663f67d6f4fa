"""Opening a session: its journal found, mended, or begun from the documents that were there before it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dagentd.adapters import clock
from dagentd.adapters.files import beneath, disk, fileio, marks
from dagentd.errors import CorruptFile, LimitReached
from dagentd.model import jsontext, records
from dagentd.model.compaction.items import SEEDS
from dagentd.model.documents import DERIVED, Position, position_of
from dagentd.model.identity import told_apart, with_ids
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store.journal import journal as journals
from dagentd.store.journal import journal_problems, kept_journals
from dagentd.store.journal.index import Index, JournalIndex
from dagentd.store.journal.journal import Journal, chunks
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.journal.recovery import Copied, Lack, Remains, is_intact, lacking, read_state, times_made, who_left
from dagentd.store.journal.state import State, reported_tokens
from dagentd.store.layout import layout

# How a journal begins: for a new session, and for documents which were there before dagentd.

Documents = dict[str, dict[str, Any]]


class Found(Protocol):
    """The documents as they were found beside a journal, or without one; `documents.first_look` has them."""

    def documents(self) -> Documents:
        """All of them; one that makes no sense is an error where there is no journal that can replace it."""

    def sound(self) -> Documents:
        """All that make sense."""

    def digest(self, name: str) -> bytes | None: ...

    def chat_lines(self) -> list[bytes]:
        """The messages of a chat that we wrote, each in its bytes."""


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
    return {
        "version": 1,
        "createdAt": at,
        "updatedAt": at,
        "summary": {name: [] for name in SEEDS},
        "compactionInfo": {
            "messagesCompacted": 0, "oldestMessageTimestamp": at, "newestMessageTimestamp": at, "compactedAt": at
        },
        "stats": {"totalCompactions": 0, "totalMessages": 0, "totalTokens": 0},
    }  # fmt: skip


def base(documents: Documents, said: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts before the messages that are in chat, as `Totals` has them. Documents that do not agree were written
    one after the other: the highest number is the latest."""
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


def open_journal(folder: SessionFolder, kept: KeptJournals, first: Found) -> Journal:
    """The session's journal. A missing one is linked from where it is kept if the documents that make sense are of it,
    else made from the documents, if all do."""
    try:
        return Journal.open(folder.journal)
    except FileNotFoundError:
        pass
    beside = [*layout.files_of(folder), *folder.feature.signs]
    documents = first.sound()
    if (held := _kept_for(folder.id, kept, documents) or _kept_of(folder.id, kept, documents)) is not None:
        disk.link(held, folder.journal)
        disk.sync_folder(folder.path)
        return Journal.open(folder.journal)
    content = first_records(folder, first.documents(), clock.stamp())
    try:
        return journals.create(folder.journal, folder.id, chunks(content), kept, beside)
    except FileNotFoundError:
        raise journal_problems.gone(folder) from None


@dataclass(frozen=True)
class Recalled:
    state: State
    remains: Remains
    caught_up: int  # messages that went back with the rest of a copy


def recall(journal: Journal, index: JournalIndex, entries: list[Path], look: Callable[[], Remains]) -> Recalled | None:
    """The state that the index knows of this journal, if that does not hold it any more: it was overwritten while we
    were away. One that begins otherwise is another session's."""
    try:
        header = index.header()
        if not header or not header["pos"] or _is_whole(journal, header, index) or not _is_same(journal, header):
            return None  # or nothing was in it
        held = Index(None).journal(journal.path)
        held.save(header, index.before(None, 1 << 60))
    except (CorruptFile, LimitReached):
        return None
    remains, size = look(), journal.size
    known = State(held, remains.checkpoint)
    known.load(header)
    _catch_up(journal, entries, Position(pos=header["pos"], sum=header["sum"]))
    _read_on(journal, known)
    return Recalled(known, remains, sum(size < entry.edited <= journal.size for entry in known.entries.everything()))


def _read_on(journal: Journal, known: State) -> None:
    """Apply what follows the end of the index: it came since, wherever before that the journal was damaged."""
    first = journal.bytes_at(known.pos - 1, max(journal.size, known.pos)).find(b"\n")
    for line in (line for group in journal.groups(known.pos + first) for line in group) if first >= 0 else ():
        known.apply(line.record, line.start, line.data)


def _is_whole(journal: Journal, header: dict[str, Any], index: JournalIndex) -> bool:
    """Whether all that the index knows is where it was. Nobody wrote to the file since then, or it is read."""
    if journal.checksum_at(header["pos"]) != header["sum"]:
        return False
    last = [held[1] for held in header["checkpoints"][-1:]]  # which is read in any case
    if (mark := marks.of(journal.path)) is not None and header.get("mark") == list(mark):
        return all(journal.record_before(end) is not None for end in last)
    return is_intact(journal, header["pos"], index.before(None, 1 << 60), header["sets"], header["checkpoints"])


def _is_same(journal: Journal, header: dict[str, Any]) -> bool:
    """Whether it can be the journal that the index knows, and not another session's in its place. One that was mended
    from nothing begins with another record, but of the same session."""
    made = [changes["createdAt"] for _, changes in header.get("sets", ()) if "createdAt" in changes]
    return journal.may_begin_with(header.get("first", "")) or bool(made and made[-1] in times_made(journal.path))


def is_known(journal: Journal, index: JournalIndex) -> bool:
    """Whether the index has the journal as it is."""
    try:
        header = index.header()
    except (CorruptFile, LimitReached):
        return False
    return bool(header and journal.checksum_at(header["pos"]) == header["sum"])


def unsealed(journal: Journal, state: State) -> Lack:
    """The records that the sealed parts of its kept file have and the journal lacks: it was overwritten while we were
    away, and no index knows what it held."""
    data = kept_journals.SealedCopy(journal.kept).read(0, fileio.CHAT_LIMIT) if journal.kept is not None else b""
    if journal.bytes_at(0, len(data)) == data:
        return Lack([])
    copied = Copied(journal.path, -1, len(data))
    copied.data = data
    known = read_state(copied, Index(None).journal(journal.path))
    lack = lacking(known, state, lambda entry: copied.read_record(entry.start, entry.end), clock.stamp())
    return lack if lack.put_back else Lack([])  # it was mended since, and goes on


def bring_along(journal: Journal, index: JournalIndex, entries: list[Path], made: Callable[[], object]) -> int:
    """Put in what other kept files of the same session have and this one lacks: a backup took the journal's name, or
    cut it, while we were away, and who was killed had not told any document what came last. `made` says when the
    session was, if the journal does not any more. How many messages."""
    if _is_as_left(journal, index):
        return 0
    count = 0
    own = os.fstat(journal.fd)
    for path in (path for path in reversed(entries) if not os.path.samestat(beneath.status(path), own)):
        state = read_state(journal, Index(None).journal(journal.path))
        if (lack := _beyond(path, journal, state, str(state.session.get("createdAt") or made()))).records:
            journal.cut_tail()
            journal.append(journals.joined(lack.records))
            count += lack.put_back
    return count


def _is_as_left(journal: Journal, index: JournalIndex) -> bool:
    try:
        header = index.header()
    except (CorruptFile, LimitReached):
        return False
    mark = marks.of(journal.path)
    return bool(header and mark is not None and header.get("mark") == list(mark))


def _beyond(path: Path, journal: Journal, state: State, made: str) -> Lack:
    """A file that goes on where the journal ends is the later of the two; of one that differs nobody knows."""
    whole, held = fileio.read(path, fileio.CHAT_LIMIT), fileio.read_fd(journal.fd, journal.size)
    if held.startswith(whole) or made.encode() not in whole or made not in times_made(path):
        return Lack([])
    other = Journal.open(path)
    try:
        known, left = read_state(other, Index(None).journal(path)), None
        if not whole.startswith(held):
            left = who_left(journal)
        return lacking(known, state, lambda entry: other.read_record(entry.start, entry.end), clock.stamp(), left)
    finally:
        other.close()


def _catch_up(journal: Journal, entries: list[Path], position: Position) -> None:
    """Where a kept file is another one and only goes on where this ends, so does this: every offset stays."""
    for path in entries:
        if _has(path, position):
            whole = fileio.read(path, fileio.CHAT_LIMIT)
            if whole.startswith(fileio.read_fd(journal.fd, journal.size)):
                journal.append(whole[journal.size :])
                return


def recover_lost(folder: SessionFolder, kept: KeptJournals, state: State, documents: dict[str, dict[str, Any]]) -> Lack:
    """The journal lacks a position that a projection has: it was replaced while we were away. What a kept file
    that has the position still holds goes back in."""
    held = _kept_for(folder.id, kept, documents)
    if held is None or os.path.samestat(beneath.status(held), beneath.status(folder.journal)):
        return Lack([])
    other = Journal.open(held)
    try:
        known = read_state(other, Index(None).journal(held))
        return lacking(known, state, lambda entry: other.read_record(entry.start, entry.end), clock.stamp())
    finally:
        other.close()


def _kept_for(session_id: str, kept: KeptJournals, documents: dict[str, dict[str, Any]]) -> Path | None:
    """The kept journal that has, or had, the position of these documents."""
    positions = [found for raw in documents.values() if (found := position_of(raw))]
    for path in reversed(kept.of(session_id)) if positions else ():
        last = max(positions, key=lambda position: position.pos)
        if _has(path, last) or kept_journals.SealedCopy(path).has(last.pos, last.sum):
            return path
    return None


def _kept_of(session_id: str, kept: KeptJournals, documents: dict[str, dict[str, Any]]) -> Path | None:
    """The newest one of the same session, for documents of a journal of ours: one that was mended has other positions
    since. What was made anew in its place says another time."""
    made = documents.get("session", {}).get("createdAt")
    if not isinstance(made, str) or not any(position_of(raw) for raw in documents.values()):
        return None
    return next((path for path in reversed(kept.of(session_id)) if made in times_made(path)), None)


def _has(path: Path, position: Position) -> bool:
    journal = Journal.open(path)
    try:
        return journal.checksum_at(position.pos) == position.sum
    finally:
        journal.close()


def take_lines(state: State, lines: list[bytes]) -> bool:
    """Give the messages in chat their bytes from a chat that we wrote; False if they are not all there."""
    entries = state.entries.ordered()
    if len(entries) != len(lines):
        return False
    for entry, line in zip(entries, lines, strict=True):
        entry.line = entry.line or line
    return True


def fill_lines(state: State, journal: Journal, chat: dict[str, Any] | None) -> None:
    """Give the messages in chat their bytes: from the chat on disk where it has the same content, which is nearly
    always and spares reading the journal, else from the journal."""
    missing = {entry.id: entry for entry in state.entries.chat.values() if entry.line is None}
    for raw in chat.get("messages", []) if chat and missing else []:
        entry = missing.get(str(raw.get("id"))) if isinstance(raw, dict) else None
        if entry is not None:
            line = jsontext.encode(raw)
            entry.line = line if records.fingerprint(line) == entry.whole else None
    for entry in missing.values():
        if entry.line is None:
            entry.line = journal.read_record(entry.start, entry.end).message
