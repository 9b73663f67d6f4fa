"""A journal that another program cut, replaced or overwrote: what is still known elsewhere goes back in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dagentd.adapters import files
from dagentd.errors import DagentdError
from dagentd.model import jsontext, records
from dagentd.model.documents import version_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.records import Record
from dagentd.store import sealed
from dagentd.store.entry import Entry
from dagentd.store.journal import Journal
from dagentd.store.kept import Kept
from dagentd.store.state import State

_MESSAGE = b', "message": '

Read = Callable[[int, int], bytes]  # what was in a journal from one offset to another


class Remains:
    """Where a record may still be that was at a place in a journal: in kept files, in their sealed parts, in the file
    that we have open. `lines` are messages that a document has."""

    def __init__(
        self, kept: Kept, session_id: str, old: Journal | None = None, lines: Mapping[str, bytes] | None = None
    ) -> None:
        entries = kept.of(session_id)[::-1]
        self._places: list[Read] = [old.bytes_at] if old else []
        self._places += [partial(_in_file, entry) for entry in entries]
        self._places += [sealed.Copy(entry).read for entry in entries]
        self._copies = [read for entry in entries for read in (partial(_in_file, entry), sealed.Copy(entry).read)]
        self._lines = lines or {}
        self._elsewhere: dict[bytes, Record] | None = None

    def message(self, entry: Entry) -> Record | None:
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
        lines = read(0, files.CHAT_LIMIT).split(b"\n")
    except (OSError, DagentdError):
        return
    for line in lines:
        with contextlib.suppress(Undecodable):
            yield records.parse(line)[0]


def _in_file(path: Path, start: int, end: int) -> bytes:
    with files.opened(path) as file:
        file.seek(start)
        return file.read(end - start)


class Copied(Journal):
    """A journal as the sealed parts of its kept file have it."""

    data = b""

    def bytes_at(self, start: int, end: int) -> bytes:
        return self.data[start:end]

    def _lines(self, offset: int) -> Iterator[tuple[int, bytes]]:
        for line in self.data[offset:].splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield offset, line
            offset += len(line)


def is_intact(journal: Journal, entries: Iterable[Entry]) -> bool:
    """Whether each of these messages is where it was. What we write ends with the message, and need not be parsed."""
    return all(_holds(journal.bytes_at(entry.start, entry.end), entry.whole) for entry in entries)


def _holds(line: bytes, whole: bytes) -> bool:
    if records.fingerprint(line.partition(_MESSAGE)[2][:-2]) == whole:
        return True
    try:
        return records.fingerprint(records.parse(line)[0].message) == whole
    except Undecodable:
        return False


@dataclass(frozen=True)
class Lack:
    """What a journal lacks: the records that put it back, of how many messages, and which are nowhere any more."""

    records: list[Record]
    put_back: int = 0
    lost: frozenset[str] = frozenset()


def lacking(known: State, found: State, read: Callable[[Entry], Record | None], at: str) -> Lack:
    """What brings `found`, the state of the journal as it is now, to what was `known`. `read` gives a message's record
    from where it still is. Of a message that the journal has, a content that was not known stands."""
    everything = known.entries.everything()
    messages = _messages(everything, found, read, at)
    brought = {record.body["message"]["id"] for record in messages if record.t == "message"}
    lost = frozenset(entry.id for entry in everything if entry.id not in brought and found.find(entry.id) is None)
    away = [entry.id for entry in everything if not entry.here and _is_here(found, entry.id, brought)]
    back = [entry.id for entry in everything if entry.here and (held := found.find(entry.id)) and not held.here]
    moves = [records.left(away, "external", at)] if away else []
    moves += [records.back(back, at)] if back else []
    return Lack([*messages, *moves, *_documents(known, found, at)], len(messages), lost)


def _messages(order: list[Entry], found: State, read: Callable[[Entry], Record | None], at: str) -> list[Record]:
    """Those that are lacking, and later contents of those that are there. One that stood before a message that is there
    says after which; the others go to the end."""
    held = {entry.id: one for entry in order if (one := found.find(entry.id))}
    last_held = max((i for i, entry in enumerate(order) if entry.id in held), default=-1)
    result: list[Record] = []
    before: str | None = None
    for i, entry in enumerate(order):
        one = held.get(entry.id)
        record = read(entry) if one is None or _is_outdated(one, entry) else None
        if record is not None:
            raw, line, placed = record.body["message"], record.message, {"after": before} if i < last_held else {}
            result.append(records.edit(raw, line, at) if one else records.message(raw, line, at, **placed))
        if one is not None or record is not None:
            before = entry.id
    return result


def _is_outdated(held: Entry, known: Entry) -> bool:
    return held.whole != known.whole and held.whole in dict(known.versions).values()


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
