"""A journal that another program cut, replaced or overwrote: what is still known elsewhere goes back in, and what is
lost is listed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dagentd.adapters.files import atomic, backups, disk, fileio
from dagentd.errors import CorruptFile, DagentdError, LimitReached
from dagentd.model import jsontext, records
from dagentd.model.documents import version_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.records import Record
from dagentd.store.journal import kept_journals
from dagentd.store.journal.entries import Entry
from dagentd.store.journal.index import Index, JournalIndex
from dagentd.store.journal.journal import Journal, lines
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.journal.state import State, message_ids

_MESSAGE = b', "message": '

Read = Callable[[int, int], bytes]  # what was in a journal from one offset to another


def read_state(journal: Journal, index: JournalIndex, written: Sequence[Record] = ()) -> State:
    """From the index if its position is in this journal, and what follows there; else from the beginning. What was
    `written` a moment ago is not read again."""
    try:
        return _read_state(journal, index, written)
    except (CorruptFile, LimitReached):  # the index; it is done without
        return _read_state(journal, Index(None).journal(journal.path), written)


def _read_state(journal: Journal, index: JournalIndex, written: Sequence[Record]) -> State:
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
    for record, data in lines(written):
        state.apply(record, state.pos, data)
    return state


@dataclass(frozen=True)
class Other:
    """Messages and checkpoint of a journal that is not the session's own, and which of the messages left chat."""

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


class Remains:
    """Where a record may still be that was at a place in a journal: in kept files, in their sealed parts, in the file
    that we have open, in what was cut off it, among the messages `shown` by the chat on disk."""

    def __init__(self, kept: KeptJournals, session_id: str, shown: Sequence[Any], old: Journal) -> None:
        entries = kept.of(session_id)[::-1]
        self._places: list[Read] = [old.bytes_at]
        self._places += [partial(_in_file, entry) for entry in entries]
        self._places += [kept_journals.SealedCopy(entry).read for entry in entries]
        self._copies = [
            read for entry in entries for read in (partial(_in_file, entry), kept_journals.SealedCopy(entry).read)
        ]
        self._copies += [partial(_in_file, path) for path in (old.path, *backups.numbered(old.path, "torn"))]
        self._said: dict[tuple[str, str], str] = {}  # what was listed as lost, and may be back
        with contextlib.suppress(OSError, DagentdError):
            self._said = _said(_read(list_of(old.path)))
        self._lines = {str(raw.get("id")): jsontext.encode(raw) for raw in shown if isinstance(raw, dict)}
        self._elsewhere: dict[bytes, Record] | None = None

    def message(self, entry: Entry) -> Record | None:
        if (said := self._said.get((entry.id, entry.whole.hex()))) and (came := self._by_hash(said)):
            return came
        line = entry.line or self._lines.get(entry.id)
        if line is not None and records.fingerprint(line) == entry.whole:
            return records.message(jsontext.decode_own(line), line, "")
        found = self._find(entry.start, entry.end, lambda found: records.fingerprint(found.message) == entry.whole)
        return found or self._anywhere().get(entry.whole)

    def _anywhere(self) -> dict[bytes, Record]:
        """By their contents, wherever they are in a copy: one that was overwritten again soon after it was mended has
        them at other places."""
        if self._elsewhere is None:
            held = [record for read in self._copies for record in _records(read)]
            self._elsewhere = {records.fingerprint(record.message): record for record in held if record.message}
        return self._elsewhere

    def _by_hash(self, said: str) -> Record | None:
        return next((record for whole, record in self._anywhere().items() if whole.hex() == said), None)

    def checkpoint(self, start: int, end: int) -> Record:
        found = self._find(start, end, lambda found: isinstance(found.body.get("checkpoint"), dict))
        return found or Record("checkpoint", "", {"checkpoint": None})

    def _find(self, start: int, end: int, fits: Callable[[Record], bool]) -> Record | None:
        for read in self._places:
            try:
                record, _ = records.parse(read(start, end))
            except (OSError, DagentdError, Undecodable):
                continue
            if fits(record):
                return record
        return None


def _records(read: Read) -> Iterator[Record]:
    try:
        lines = read(0, fileio.CHAT_LIMIT).split(b"\n")
    except (OSError, DagentdError):
        return
    for line in lines:
        with contextlib.suppress(Undecodable):
            yield records.parse(line)[0]


def times_made(entry: Path) -> set[object]:
    """When the session of a kept journal was made, by all that the file and its sealed parts have."""
    held = [
        record for read in (partial(_in_file, entry), kept_journals.SealedCopy(entry).read) for record in _records(read)
    ]
    return {record.body["set"].get("createdAt") for record in held if isinstance(record.body.get("set"), dict)}


def _in_file(path: Path, start: int, end: int) -> bytes:
    with fileio.opened(path) as file:
        file.seek(start)
        return file.read(end - start)


def who_left(journal: Journal) -> set[str]:
    """Also of whom nothing else is in the journal any more."""
    gone: set[str] = set()
    for record in (line.record for group in journal.groups(0) for line in group):
        if record.t == "left":
            gone.update(message_ids(record))
        elif record.t == "back":
            gone.difference_update(message_ids(record))
    return gone


class Copied(Journal):
    """A journal as the sealed parts of its kept file have it."""

    data = b""

    def bytes_at(self, start: int, end: int) -> bytes:
        return self.data[start:end]

    def each_line(self, offset: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        for line in self.data[offset:end].splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield offset, line
            offset += len(line)


def is_intact(
    journal: Journal, pos: int, entries: Sequence[Entry], sets: Sequence[Any], checkpoints: Sequence[Any]
) -> bool:
    """Whether all that is known is where it was: each message, what moved them, what was set, and the last checkpoint;
    and no other message is there, as when a backup of a damaged journal was found. What we write of a message ends with
    it, and need not be parsed."""
    ends = {end for entry in entries for end, _ in entry.moves[1:]} | {held[1] for held in checkpoints[-1:]}
    known, starts = {entry.id for entry in entries}, {entry.start for entry in entries}
    return (
        all(_holds(journal.bytes_at(entry.start, entry.end), entry.whole) for entry in entries)
        and all(journal.record_before(end) is not None for end in ends)
        and all((held := journal.record_before(end)) and held.body.get("set") == changes for end, changes in sets)
        and not any(_is_news(line, known) for start, line in journal.each_line(0, pos) if start not in starts)
    )


def _is_news(line: bytes, known: set[str]) -> bool:
    try:
        record = records.parse(line)[0] if _MESSAGE in line else None
    except Undecodable:
        return False
    raw = record.body.get("message") if record and record.t in ("message", "edit") else None
    return isinstance(raw, dict) and isinstance(raw.get("id"), str) and raw["id"] not in known


def _holds(line: bytes, whole: bytes) -> bool:
    head, _, message = line.partition(_MESSAGE)
    try:
        if line.endswith(b"}\n") and records.fingerprint(message[:-2]) == whole and records.parse(head + b"}"):
            return True
        return records.fingerprint(records.parse(line)[0].message) == whole
    except Undecodable:
        return False


@dataclass(frozen=True)
class Lack:
    """The records that put back what a journal lacks, of how many messages these are, and which messages are nowhere
    any more, or not as they were: of each its line in the list of these."""

    records: list[Record]
    put_back: int = 0
    lost: Mapping[str, bytes] = field(default_factory=dict)


def lacking(
    known: State,
    found: State,
    read: Callable[[Entry], Record | None],
    at: str,
    left: Collection[str] | None = None,
    later: Collection[str] = (),
) -> Lack:
    """Records that bring `found`, the state of the journal as it is, to what was `known`. `read` gives a message's
    record from where it still is. What came `later` than all that is known stays behind it. A content that the journal
    gave a message since then stands. Where what was known need not be the later of the two, all that the journal says
    stands, also of whom it says they `left`."""
    everything = known.entries.everything()
    messages = _messages(everything, found, read, at, later, at_end=left is None)
    said = {record.body["message"]["id"]: record.t for record in messages}
    brought = {one for one, t in said.items() if t == "message"}
    held = {entry.id: found.find(entry.id) for entry in everything}
    lost = {
        entry.id: _line(entry, one)
        for entry in everything
        if entry.id not in said and ((one := held[entry.id]) is None or _is_outdated(one, entry, left is None))
    }
    away = [entry.id for entry in everything if not entry.here and _is_here(found, entry.id, brought)]
    back = [entry.id for entry in everything if entry.here and (one := held[entry.id]) and not one.here]
    if left is not None:
        away, back = [one for one in brought if one in away or one in left], []
    moves = [records.left(away, "external", at)] if away else []
    moves += [records.back(back, at)] if back else []
    present = [entry.id for entry in everything if entry.id in brought or held[entry.id]]
    moved = _misplaced(present, [entry.id for entry in found.entries.everything()]) if left is None else []
    moves += [records.order(moved, at)] if moved else []
    documents = _documents(known, found, at) if left is None else []
    return Lack([*messages, *moves, *documents], len(messages), lost)


def _misplaced(wanted: list[str], found: list[str]) -> list[str]:
    """The part of `wanted` that stands in another order where it was `found`, with what goes in between: one that said
    after which it stands is at the end where that is lacking."""
    there, known = set(found), set(wanted)
    held = [one for one in wanted if one in there]
    wrong = [
        i for i, (one, other) in enumerate(zip(held, (f for f in found if f in known), strict=True)) if one != other
    ]
    if not wrong:
        return []
    end = wanted.index(held[wrong[-1] + 1]) if wrong[-1] + 1 < len(held) else None
    return wanted[wanted.index(held[wrong[0]]) : end]


def _messages(
    order: list[Entry], found: State, read: Callable[[Entry], Record | None], at: str, later: Collection[str], *,
    at_end: bool,
) -> list[Record]:  # fmt: skip
    """Those that are lacking, and later contents of those that are there. One that stood before a message that is there
    says after which; the others go to the end, if they belong there, and nothing is there that came `later`."""
    held = {entry.id: one for entry in order if (one := found.find(entry.id))}
    last_held = max((i for i, entry in enumerate(order) if entry.id in held), default=-1)
    is_end = at_end and not any(entry.id in later for entry in found.entries.before(None, 1))
    result: list[Record] = []
    before: str | None = None
    for i, entry in enumerate(order):
        one = held.get(entry.id)
        record = read(entry) if one is None or _is_outdated(one, entry, at_end) else None
        if record is not None:
            raw, line, placed = (
                record.body["message"],
                record.message,
                {"after": before} if i < last_held or not is_end else {},
            )
            result.append(records.edit(raw, line, at) if one else records.message(raw, line, at, **placed))
        if one is not None or record is not None:
            before = entry.id
    return result


def _is_outdated(held: Entry, known: Entry, latest: bool) -> bool:
    """Also one whose content nobody wrote: where a file is overwritten piece by piece, one line begins with what was
    there before and goes on with another."""
    if held.whole == known.whole:
        return False
    edited = any(whole == known.whole for _, whole in held.versions)
    return any(whole == held.whole for _, whole in known.versions) or (latest and not edited)


def _is_here(found: State, message_id: str, brought: set[str]) -> bool:
    entry = found.find(message_id)
    return message_id in brought if entry is None else entry.here


def _documents(known: State, found: State, at: str) -> list[Record]:
    result: list[Record] = []
    if known.checkpoint and version_of(known.checkpoint) > version_of(found.checkpoint):
        result.append(records.checkpoint(known.checkpoint, at))
    held = found.session
    changes = {key: value for key, value in known.session.items() if held.get(key) != value or key not in held}
    if changes:
        result.append(records.session(changes, at))
    return result


# Messages that were in a journal and are in no file any more, or only with other words: listed beside it, until they
# come back or whoever has read the list deletes it.


def list_of(journal: Path) -> Path:
    return journal.with_name(f"{journal.name}.lost.1")


def add(journal: Path, lost: Mapping[str, bytes]) -> None:
    """List these too; of other words in the place of other words, the first are what was said. A list that was
    deleted begins anew."""
    if lost:
        held = _read(list_of(journal))
        first = {one for one, _ in _said(held)}
        _write(list_of(journal), held | {one: line for one, line in lost.items() if one not in first})


def count(journal: Path, find: Callable[[str], Entry | None]) -> int:
    """How many are listed, and no longer those that came back."""
    path = list_of(journal)
    if not os.path.lexists(path):
        return 0
    held = _read(path)
    said = {one: whole for (one, _), whole in _said(held).items()}
    listed = {
        one: line
        for one, line in held.items()
        if (entry := find(one)) is None or entry.whole.hex() != said.get(one, entry.whole.hex())
    }
    if not listed:
        disk.discard(path)
    elif listed != held:
        _write(path, listed)
    return len(listed)


def _write(path: Path, listed: Mapping[str, bytes]) -> None:
    with disk.explained(path):
        atomic.put(path, b"".join(listed.values()), sync=True)


def _line(entry: Entry, held: Entry | None) -> bytes:
    """Of one that is there with other words, the hashes of what it said and of what it says."""
    told = {"id": entry.id, "timestamp": jsontext.decode_own(entry.stamp.encode())}
    words = {"said": entry.whole.hex(), "says": held.whole.hex()} if held else {}
    return jsontext.encode(told | words) + b"\n"


def _said(listed: Mapping[str, bytes]) -> dict[tuple[str, str], str]:
    """The hashes of the words of messages that are there with others, by id and the hash of these."""
    each = [jsontext.decode_object(line) for line in listed.values()]
    return {(raw["id"], str(raw.get("says"))): said for raw in each if isinstance(said := raw.get("said"), str)}


def _read(path: Path) -> dict[str, bytes]:
    """By id; lines that somebody wrote into it are let go."""
    try:
        lines = fileio.read(path, fileio.CHAT_LIMIT).splitlines(keepends=True)
    except FileNotFoundError:
        return {}
    return {one: line for line in lines if (one := _id(line)) is not None}


def _id(line: bytes) -> str | None:
    try:
        found = jsontext.decode_object(line).get("id")
    except Undecodable:
        return None
    return found if isinstance(found, str) else None
