"""The one merge function: what other writers left in a session's files becomes records of its journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dagentd.model import jsontext, records, times
from dagentd.model.documents import DERIVED, version_of
from dagentd.model.identity import renamed, with_ids
from dagentd.model.records import Record
from dagentd.store.documents import copies
from dagentd.store.documents.checkpoint_merge import OutsideDocument, OutsideDocuments, merge_checkpoint
from dagentd.store.journal.entries import Entry
from dagentd.store.journal.state import State
from dagentd.store.layout import rolled_back


@dataclass(frozen=True)
class Found:
    """One message of an outside chat under the id that it has for us."""

    id: str
    raw: dict[str, Any]
    line: bytes
    entry: Entry | None
    copied: bool = False  # the app's copy of it: it says nothing that is not known, nor brings it back


def merge(state: State, outside: OutsideDocuments, at: str, settled: Callable[[Entry], bool]) -> list[Record]:
    """The records that take in what was done outside; none if nothing was. `settled` says whether a message had
    been in chat on disk for over a second."""
    found = identify(state, outside.chat) if outside.chat else []
    held = [one for one in found if one.entry and one.entry.here and one.id not in outside.brought]
    anew = bool(outside.chat and not outside.chat.ours and not held)
    remade = outside.remade or (anew and _remade(state, outside))
    result = _arrivals(found, at) + edits(found, outside.chat, at) + _returns(state, found, outside.chat, at)
    ignored = remade and outside.checkpoint and not outside.checkpoint.ours
    doc = merge_checkpoint(state, outside.checkpoint, at) if outside.checkpoint and not ignored else None
    if anew and not remade:
        present = {one.id for one in found}
        absent = [entry for entry in state.entries.ordered() if entry.id not in present]
        gone = _emptied(state, absent, _raised(state, outside.checkpoint, doc), settled, at)
        doc = None if gone and "checkpoint" in gone[0].body else doc
        result += gone
    elif outside.chat and outside.chat.pos is not None:
        result += _removed(state, found, outside.chat.pos, at)
    if doc is not None:
        result.append(records.checkpoint(doc, at))
    if outside.session:
        result += _session_changes(state, outside.session, at)
    if state.session.get("status") == rolled_back.STATUS and (result or (outside.session and not outside.session.ours)):
        result.append(records.session({"status": "active"}, at))  # somebody made it again
    if anew and (result or state.entries.chat):
        result.append(records.seen(_without_position(outside), at))
    return result


def _without_position(outside: OutsideDocuments) -> dict[str, str]:
    """The marks of documents without a position. What such a chat means depends on the documents beside it and on when
    it is read: so it is once. Whoever dies before it is replaced must not take the rest of a compaction for a clear."""
    found = {"chat": outside.chat, "checkpoint": outside.checkpoint}
    return {name: doc.mark for name, doc in found.items() if doc and not doc.ours}


# --- chat -----------------------------------------------------------------------------------------------------


def identify(state: State, doc: OutsideDocument) -> list[Found]:
    messages = with_ids(doc.raw["messages"], doc.source, partial(_had_left, state, doc.pos))
    found, known = dict[str, Found](), copies.known_already(state, messages)
    for raw in messages:
        one = copy_of(known[raw["id"]], raw) if raw["id"] in known else _identity(state, raw, found)
        found.setdefault(one.id, one)
    return list(found.values())


def copy_of(entry: Entry, raw: dict[str, Any]) -> Found:
    return Found(entry.id, raw, b"", entry, copied=True)


def _had_left(state: State, pos: int | None, message_id: str) -> bool:
    """A writer who saw a chat without it means another one, however equal."""
    entry = state.find(message_id) if pos is not None else None
    return entry is not None and pos is not None and entry.moves[0][0] <= pos and not entry.here_at(pos)


def _identity(state: State, raw: dict[str, Any], before: dict[str, Found]) -> Found:
    """Same id, role and content: the same message. Same id and time: an edit, unless the same file has both.
    Else another message."""
    line = jsontext.encode(raw)
    entry, other = state.find(raw["id"]), before.get(raw["id"])
    if other is not None:
        same = records.core(other.raw) == records.core(raw)
    else:
        same = (
            entry is None
            or entry.stamp == records.stamp_of(raw)
            or entry.core == records.core(raw)
            or _known(entry, line)
        )
    if same:
        return Found(raw["id"], raw, line, entry)
    raw = renamed(raw)
    return Found(raw["id"], raw, jsontext.encode(raw), state.find(raw["id"]))


def _known(entry: Entry, line: bytes) -> bool:
    return any(whole == records.fingerprint(line) for _, whole in entry.versions)


def _arrivals(found: list[Found], at: str) -> list[Record]:
    """New messages. One that stands before messages we have in chat was put there on purpose: it says after which."""
    last_known = max((i for i, one in enumerate(found) if one.entry and one.entry.here), default=-1)
    result, before = [], None
    for i, one in enumerate(found):
        if one.entry is None:
            placed = {"after": before} if i < last_known else {}
            result.append(records.message(one.raw, one.line, at, **placed))
        before = one.id
    return result


def edits(found: list[Found], doc: OutsideDocument | None, at: str) -> list[Record]:
    return [
        records.edit(one.raw, one.line, at)
        for one in found
        if doc and one.entry and not one.copied and _is_edit(one.entry, one, doc.pos)
    ]


def _is_edit(entry: Entry, one: Found, pos: int | None) -> bool:
    whole = records.fingerprint(one.line)
    if whole == entry.whole:
        return False
    if _known(entry, one.line):  # an earlier content: stale, unless the writer had seen the later one
        return pos is not None and entry.whole_at(pos) != whole
    if entry.core == records.core(one.raw):  # only other metadata: counts from a writer who saw the latest
        return pos is not None and entry.edited <= pos
    return True


def _returns(state: State, found: list[Found], doc: OutsideDocument | None, at: str) -> list[Record]:
    """Messages that had left and that a writer who knew it put back. A copy puts back nothing, but what left with our
    migration: the app does it instead."""
    if doc is None or (doc.pos is None and doc.ours):
        return []
    away = [one for one in found if one.entry and not one.entry.here and _knew(one.entry, doc.pos, one.copied)]
    barred = copies.barred_files(state) if any(one.copied for one in away) else set()
    back = [one.id for one in away if not one.copied or copies.file_of(one.raw) in barred]
    return [records.back(back, at)] if back else []


def _knew(entry: Entry, pos: int | None, copied: bool) -> bool:
    return copied if pos is None else entry.moved <= pos


def _removed(state: State, found: list[Found], pos: int, at: str) -> list[Record]:
    """The departure of what a writer saw at `pos` and took away. What came, left or returned after `pos` stands."""
    present = {one.id for one in found}
    gone = [entry.id for entry in state.entries.ordered() if entry.moved <= pos and entry.id not in present]
    return [records.left(gone, "external", at)] if gone else []


def _emptied(
    state: State, absent: list[Entry], raised: dict[str, Any] | None, settled: Callable[[Entry], bool], at: str
) -> list[Record]:
    """The app built a chat without any message that we have: its own compaction, if a checkpoint of a higher
    version came with it or just before it, else a clear."""
    newest = _newest_compacted(raised or state.checkpoint) if raised or state.compacted_outside else None
    entries = _up_to(absent, newest) if newest else absent
    gone = [entry.id for entry in entries if settled(entry) or (newest and (raised or _seen(state, entry)))]
    if not gone:
        return []
    return [records.left(gone, "compacted" if raised or newest else "cleared", at, raised)]


def _seen(state: State, entry: Entry) -> bool:
    """By whoever wrote the last checkpoint: an older chat that was migrated since has early times and is not in it."""
    return entry.moved <= state.checkpoint_pos


def _raised(state: State, outside: OutsideDocument | None, merged: dict[str, Any] | None) -> dict[str, Any] | None:
    version = outside.raw.get("version") if outside else None
    return merged if isinstance(version, int) and version > version_of(state.checkpoint) else None


def _newest_compacted(checkpoint: dict[str, Any] | None) -> str | None:
    info = (checkpoint or {}).get("compactionInfo")
    newest = info.get("newestMessageTimestamp") if isinstance(info, dict) else None
    return newest if times.parse(newest) else None


def _up_to(entries: list[Entry], newest: str) -> list[Entry]:
    return [entry for entry in entries if not times.later(_stamp(entry), newest)]


def _stamp(entry: Entry) -> Any:
    return jsontext.decode_own(entry.stamp.encode())


def _remade(state: State, outside: OutsideDocuments) -> bool:
    """The app took the session for missing and made it anew."""
    session, checkpoint = outside.session, outside.checkpoint
    if session and session.raw.get("createdAt") != state.session.get("createdAt"):
        return True
    version = checkpoint.raw.get("version") if checkpoint and not checkpoint.ours else None
    return isinstance(version, int) and version < version_of(state.checkpoint)


# --- session --------------------------------------------------------------------------------------------------


def _session_changes(state: State, doc: OutsideDocument, at: str) -> list[Record]:
    known = state.session
    fixed = [key for key in ("id", "createdAt") if key in known]
    fields = [key for key in doc.raw if key not in (*DERIVED, *fixed)]
    changes = {key: doc.raw[key] for key in fields if key not in known or _counts(state, doc, key)}
    return [records.session(changes, at)] if changes else []


def _counts(state: State, doc: OutsideDocument, key: str) -> bool:
    """Whether another value of a field we know stands: against what its writer had seen if we know that, else
    only if it was written later than ours and to this very session."""
    value, now = doc.raw[key], state.session[key]
    if value == now:
        return False
    if doc.pos is not None:
        return bool(state.session_at(doc.pos).get(key) != value and key not in state.set_after(doc.pos))
    same = doc.raw.get("createdAt") == state.session.get("createdAt")
    return not doc.ours and same and times.later(doc.raw.get("updatedAt"), state.set_at)
