"""Opening a session: its journal found, mended or made, and its state read from the index and the journal's end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from dagentd.adapters import beneath, clock, disk, files, marks
from dagentd.errors import CorruptFile, LimitReached
from dagentd.model import jsontext, records
from dagentd.model.documents import Position, position_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store import beginning, complaints, layout, sealed
from dagentd.store import journal as journals
from dagentd.store.heal import Copied, Lack, Remains, is_intact, lacking
from dagentd.store.index import Index, JournalIndex
from dagentd.store.journal import Journal, Line
from dagentd.store.kept import Kept
from dagentd.store.state import State

Lined = tuple[Record, bytes]  # a record and its line
_LINES_AT_ONCE = 512


def read_state(journal: Journal, index: JournalIndex, written: Sequence[Record] = ()) -> State:
    """From the index if its position is in this journal, and what follows there; else from the beginning. What was
    `written` a moment ago is not read again."""
    try:
        return _read(journal, index, written)
    except (CorruptFile, LimitReached):  # the index; it is done without
        return _read(journal, Index(None).journal(journal.path), written)


def _read(journal: Journal, index: JournalIndex, written: Sequence[Record]) -> State:
    if written and (state := _state_of(journal, index, written)).pos == journal.size:
        journal.whole = state.pos
        return state
    return _state_by(journal, index)


def _state_by(journal: Journal, index: JournalIndex) -> State:
    state = State(index, journal.read_record)
    header = index.header()
    if header and journal.checksum_at(header["pos"]) == header["sum"]:
        state.load(header)
    else:
        index.forget()
    for group in journal.groups(state.pos):
        for line in group:
            state.apply(line.record, line.start, line.data)
    return state


def _state_of(journal: Journal, index: JournalIndex, written: Sequence[Record]) -> State:
    state = State(index, journal.read_record)
    index.forget()
    for record, data in _lined(written):
        state.apply(record, state.pos, data)
    return state


def open_journal(folder: SessionFolder, kept: Kept, read: Callable[[], dict[str, dict[str, Any]]]) -> Journal:
    """The session's journal. A missing one is linked from where it is kept if the documents are of it, else
    made from the documents."""
    try:
        return Journal.open(folder.journal)
    except FileNotFoundError:
        pass
    beside = [*layout.files_of(folder), *folder.feature.signs]
    documents = read()
    if (held := _kept_for(folder.id, kept, documents)) is not None:
        disk.link(held, folder.journal)
        disk.sync_folder(folder.path)
        return Journal.open(folder.journal)
    content = beginning.first_records(folder, documents, clock.stamp())
    try:
        return journals.create(folder.journal, folder.id, chunks(content), kept, beside)
    except FileNotFoundError:
        raise complaints.gone(folder) from None


def lines(group: Sequence[Record]) -> list[Lined]:
    """One append as it is written: all records but the last say that more follow."""
    return list(_lined(group))


def _lined(group: Sequence[Record]) -> Iterator[Lined]:
    return ((record, record.line(number < len(group))) for number, record in enumerate(group, 1))


def placed(group: list[Lined], start: int) -> list[Line]:
    """Where each line is, if the first begins at `start`."""
    ends = list(accumulate((len(data) for _, data in group), initial=start))
    return [Line(begin, data, record) for begin, (record, data) in zip(ends, group, strict=False)]


def joined(group: Sequence[Record]) -> bytes:
    return b"".join(data for _, data in _lined(group))


def chunks(group: Sequence[Record]) -> Iterator[bytes]:
    """The same in parts: a long chat as one piece of memory takes longer to come by than to write."""
    every = _lined(group)
    while some := b"".join(data for _, data in islice(every, _LINES_AT_ONCE)):
        yield some


@dataclass(frozen=True)
class Recalled:
    state: State
    remains: Remains
    caught_up: int  # messages that went back with the rest of a copy


def recall(journal: Journal, index: JournalIndex, entries: list[Path], look: Callable[[], Remains]) -> Recalled | None:
    """What the index knows of this journal, if that does not hold it any more: it was overwritten while we were away.
    One that begins otherwise is another session's."""
    try:
        header = index.header()
        if not header or _is_whole(journal, header, index) or not journal.may_begin_with(header.get("first", "")):
            return None
        held = Index(None).journal(journal.path)
        held.save(header, index.before(None, 1 << 60))
    except (CorruptFile, LimitReached):
        return None
    remains, size = look(), journal.size
    known = State(held, remains.checkpoint)
    known.load(header)
    _catch_up(journal, entries, Position(pos=header["pos"], sum=header["sum"]))
    return Recalled(known, remains, sum(size < entry.edited <= journal.size for entry in known.entries.everything()))


def _is_whole(journal: Journal, header: dict[str, Any], index: JournalIndex) -> bool:
    """Whether all that the index knows is where it was. Nobody wrote to the file since then, or it is read."""
    if journal.checksum_at(header["pos"]) != header["sum"]:
        return False
    if (mark := marks.of(journal.path)) is not None and header.get("mark") == list(mark):
        return True
    start, end, _ = header["checkpoints"][-1] if header["checkpoints"] else (0, 0, 0)
    try:
        return is_intact(journal, index.before(None, 1 << 60)) and (not end or bool(journal.read_record(start, end)))
    except Undecodable:
        return False


def is_known(journal: Journal, index: JournalIndex) -> bool:
    """Whether the index has the journal as it is."""
    try:
        header = index.header()
    except (CorruptFile, LimitReached):
        return False
    return bool(header and journal.checksum_at(header["pos"]) == header["sum"])


def unsealed(journal: Journal, state: State) -> Lack:
    """What the sealed parts of its kept file have and the journal lacks: it was overwritten while we were away, and no
    index knows what it held."""
    data = sealed.Copy(journal.kept).read(0, files.CHAT_LIMIT) if journal.kept is not None else b""
    if journal.bytes_at(0, len(data)) == data:
        return Lack([])
    copied = Copied(journal.path, -1, len(data))
    copied.data = data
    known = read_state(copied, Index(None).journal(journal.path))
    lack = lacking(known, state, lambda entry: copied.read_record(entry.start, entry.end), clock.stamp())
    return lack if lack.put_back else Lack([])  # it was mended since, and goes on


def _catch_up(journal: Journal, entries: list[Path], position: Position) -> None:
    """Where a kept file is another one and only goes on where this ends, so does this: every offset stays."""
    for path in entries:
        if _has(path, position):
            whole = files.read(path, files.CHAT_LIMIT)
            if whole.startswith(files.read_fd(journal.fd, journal.size)):
                journal.append(whole[journal.size :])
                return


def recover_lost(folder: SessionFolder, kept: Kept, state: State, documents: dict[str, dict[str, Any]]) -> Lack:
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


@dataclass(frozen=True)
class Other:
    """What a journal holds that is not the session's own: all its messages, which of them left chat, its checkpoint."""

    said: list[dict[str, Any]]
    left: list[str]
    checkpoint: dict[str, Any] | None


def read_other(path: Path) -> Other:
    journal = Journal.open_read(path)
    try:
        state = read_state(journal, Index(None).journal(path))
        entries = state.entries.everything()
        said = [journal.read_record(entry.start, entry.end).body["message"] for entry in entries]
        return Other(said, [entry.id for entry in entries if not entry.here], state.checkpoint)
    finally:
        journal.close()


def _kept_for(session_id: str, kept: Kept, documents: dict[str, dict[str, Any]]) -> Path | None:
    positions = [found for raw in documents.values() if (found := position_of(raw))]
    for path in reversed(kept.of(session_id)):
        last = max(positions, key=lambda position: position.pos, default=None)
        if last is not None and (_has(path, last) or sealed.Copy(path).has(last.pos, last.sum)):
            return path
    return None


def _has(path: Path, position: Position) -> bool:
    journal = Journal.open(path)
    try:
        return journal.checksum_at(position.pos) == position.sum
    finally:
        journal.close()


def unreadable(path: Path, why: str) -> CorruptFile:
    return CorruptFile(
        why, path=path, hint="Mend the file or move it away, then run `dagentd run --once`; it was left as it is."
    )


def take_lines(state: State, lines: list[bytes]) -> bool:
    """Give the messages in chat their bytes from a chat that we wrote; False if they are not all there."""
    entries = state.ordered()
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
