"""A journal that another program cut, replaced or overwrote: what is still known elsewhere goes back in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
        self._lines = lines or {}

    def message(self, entry: Entry) -> Record | None:
        line = entry.line or self._lines.get(entry.id)
        if line is not None and records.fingerprint(line) == entry.whole:
            return records.message(jsontext.decode_own(line), line, "")
        return self._find(entry.start, entry.end, lambda found: records.fingerprint(found.message) == entry.whole)

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


def _in_file(path: Path, start: int, end: int) -> bytes:
    with files.opened(path) as file:
        file.seek(start)
        return file.read(end - start)


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
