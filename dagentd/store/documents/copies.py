"""Copies: the app migrates older files too, one message at a time under new ids and at the time of doing so. What it
copied and what we read from the file are the same messages, whoever came first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dagentd.formats import moments
from dagentd.model import jsontext, records
from dagentd.store.journal.entries import Entry
from dagentd.store.journal.state import State

_ROLES = ("user", "assistant", "system")
_ENOUGH = 2  # messages that stand alike at the beginning of a file and of a session: one may do so by chance

Raw = dict[str, Any]


class Origin(NamedTuple):
    """Where a message came from. Not its role: the app has only two, and gives others than we do to some entries."""

    file: str
    content: bytes
    time: str | None


def origin(raw: Raw) -> Origin | None:
    metadata = raw.get("metadata")
    source = metadata.get("migratedFrom") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(source, str) or raw.get("content") is None:
        return None
    time = moments.canonical(metadata.get("originalTimestamp")) or moments.canonical(raw.get("timestamp"))
    return Origin(source.rpartition("/")[2], records.fingerprint(jsontext.encode(raw["content"])), time)


def file_of(raw: Raw) -> str | None:
    """The name of the file that it came from; the app says no more of it than that."""
    found = origin(raw)
    return found.file if found is not None else None


def barred_files(state: State) -> set[str]:
    """The names of those whose migration was taken back."""
    held = state.session.get("barred")
    paths = [each.get("path") for each in held if isinstance(each, dict)] if isinstance(held, list) else []
    return {str(path).rpartition("/")[2] for path in paths}


def is_copy(raw: Raw) -> bool:
    """Whether another program copied it: a message that we import keeps the time that it has in the file."""
    found = origin(raw)
    return found is not None and found.time != moments.canonical(raw.get("timestamp"))


def known_already(state: State, messages: Sequence[Raw]) -> dict[str, Entry]:
    """Of the messages of a chat, those that the journal has by another id, because the app copied them or we imported
    them: by the id of each, the message. Where the file was imported, each copy is one of that; else those that are not
    in this chat themselves are what the app copied before."""
    new = [raw for raw in messages if origin(raw) is not None and state.find(raw["id"]) is None]
    if not new:
        return {}
    here = {raw["id"] for raw in messages}
    imported, copied = dict[Origin, Entry](), defaultdict[Origin, list[Entry]](list)
    for entry, raw in _like(state, new):
        if (found := origin(raw)) is not None:
            if not is_copy(raw):
                imported[found] = entry
            elif entry.id not in here:
                copied[found].append(entry)
    result = {}
    for raw in new:
        found = origin(raw)
        if is_copy(raw) and found in imported:
            result[raw["id"]] = imported[found]
        elif found is not None and copied[found]:
            result[raw["id"]] = copied[found].pop(0)
    return result


def copied_before(state: State, entries: Sequence[Raw]) -> dict[str, Entry]:
    """Of the entries of an older file, those that the app brought in before us: by the id that each would get, the
    message that it is. The app says so, or its time does, or that all of them stand at the beginning in this order."""
    new = [raw for raw in entries if state.find(raw["id"]) is None]
    if not new:
        return {}
    here = {raw["id"] for raw in entries}  # each is itself, however equal it is to one that came later
    wanted = defaultdict[object, list[Raw]](list)
    for raw in new:
        wanted[origin(raw)].append(raw)
        wanted[_said(raw)].append(raw)
    result: dict[str, Entry] = {}
    for entry, raw in _like(state, new):
        if entry.id in here:
            continue
        alike = wanted[origin(raw) if is_copy(raw) else _said(raw)]
        if (one := next((each for each in alike if each["id"] not in result), None)) is not None:
            result[one["id"]] = entry
    return result or (_beginning(state, new) if len(new) == len(entries) else {})


def _said(raw: Raw) -> tuple[bytes, str | None]:
    return records.core(raw), moments.canonical(raw.get("timestamp"))


def _beginning(state: State, entries: Sequence[Raw]) -> dict[str, Entry]:
    """The app begins with the first entry and an empty session."""
    held = state.entries.everything()
    alike = {}
    for raw, entry in zip(entries, held, strict=False):
        if entry.core != records.core(raw):
            break
        alike[raw["id"]] = entry
    return alike if _ENOUGH <= len(alike) in (len(entries), len(held)) else {}


def _like(state: State, messages: Iterable[Raw]) -> Iterator[tuple[Entry, Raw]]:
    """All entries of the journal with the content of one of these, in order."""
    cores = {records.core({**raw, "role": role}) for raw in messages for role in (*_ROLES, raw.get("role"))}
    for entry in state.entries.everything():
        if entry.core in cores:
            yield entry, state.raw(entry)
