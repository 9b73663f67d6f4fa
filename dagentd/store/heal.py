"""A journal that another program cut or replaced: what is still known elsewhere goes back in."""

from __future__ import annotations

from collections.abc import Callable

from dagentd.model import records
from dagentd.model.documents import version_of
from dagentd.model.records import Record
from dagentd.store.entry import Entry
from dagentd.store.state import State

Reader = Callable[[Entry], Record | None]


def lacking(known: State, found: State, read: Reader, at: str) -> list[Record]:
    """The records that bring `found`, the state of the journal as it is now, to what was `known`. `read` gives a
    message's record from where it still is. A message that the journal has stands as the journal has it."""
    everything = known.entries.everything()
    lost = [entry for entry in everything if found.find(entry.id) is None]
    result, brought = _messages(lost, everything, read, at)
    away = [entry.id for entry in everything if not entry.here and _is_here(found, entry.id, brought)]
    back = [entry.id for entry in everything if entry.here and not _is_here(found, entry.id, brought)]
    if away:
        result.append(records.left(away, "external", at))
    if back:
        result.append(records.back(back, at))
    return result + _documents(known, found, at)


def _messages(lost: list[Entry], order: list[Entry], read: Reader, at: str) -> tuple[list[Record], set[str]]:
    before = dict(zip([entry.id for entry in order[1:]], [entry.id for entry in order], strict=False))
    result: list[Record] = []
    for entry in lost:
        record = read(entry)
        if record is not None:
            raw, line = record.body["message"], record.message
            result.append(records.message(raw, line, at, after=before.get(entry.id)))
    return result, {record.body["message"]["id"] for record in result}


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
