"""Compaction as records of the journal: what was proposed is committed as it was, taken back, or done once more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import Conflict, NotFound
from dagentd.model import jsontext, records, times
from dagentd.model.compaction.items import SEEDS, items_of
from dagentd.model.documents import version_of
from dagentd.model.records import Record
from dagentd.store.journal.compaction_history import Compacted
from dagentd.store.journal.group_commit import Plan
from dagentd.store.journal.index import Entry
from dagentd.store.journal.session_journal import SessionJournal
from dagentd.waiting import right_of_way

STAND_IN = "local"  # the backend that steps in where a model takes too long
_EMPTY: dict[str, Any] = {"summary": {name: [] for name in SEEDS}}


@dataclass(frozen=True)
class Seen:
    """One message as it was seen: `whole` is the fingerprint of its content."""

    id: str
    whole: bytes
    raw: dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """The start of a compaction: all that is in chat, and the checkpoint with the position of its record. `past` is how
    many compactions it does once more."""

    messages: tuple[Seen, ...]
    checkpoint: dict[str, Any]
    checkpoint_pos: int
    past: int = 0

    def named(self) -> Snapshot:
        """All that committing needs: what the messages say stays out."""
        return replace(self, messages=tuple(replace(seen, raw={}) for seen in self.messages))


def snapshot(journal: SessionJournal) -> Snapshot:
    """Nobody who adds a message waits until those that are there are read."""
    with journal.lock:
        state = journal.state
        held = [(entry.id, entry.whole, entry.line or b"{}") for entry in state.ordered()]
        checkpoint, pos = state.checkpoint or _EMPTY, state.checkpoint_pos
    seen = tuple(Seen(id, whole, jsontext.decode_own(line)) for id, whole, line in right_of_way.behind(held))
    return Snapshot(seen, checkpoint, pos)


def earlier(journal: SessionJournal, backend: str) -> Snapshot:
    """The start of the last compactions that `backend` made: the messages that left by them, and the checkpoint before
    the first of them."""
    with journal.lock:
        state = journal.state
        state.compactions.last(journal.folder.id, state.checkpoint_pos)
        stack, found = list(state.compactions.stack), list[Compacted]()
        while stack and _made_by(journal, stack[-1], backend) and (not found or stack[-1].is_right_below(found[-1])):
            found.append(stack.pop())
        if not found:
            raise Conflict("the last compaction was not made without a model", hint="There is nothing to do again.")
        ids = [one for each in found for one in _record(journal, each).body["ids"]]
        entries = [entry for one in ids if (entry := state.find(one)) is not None and not entry.here]
        seen = tuple(_seen(journal, entry) for entry in sorted(entries, key=lambda entry: entry.rank))
        start = _with_pinned(_before(journal, found[-1]), state.checkpoint)
        return Snapshot(seen, start, state.checkpoint_pos, len(found))


def committing(
    journal: SessionJournal, start: Snapshot, ids: Iterable[str], checkpoint: dict[str, Any], *, late: bool = False
) -> Plan:
    """One record with the ids that leave and the whole new checkpoint, if all is still as it was seen and nobody
    wants one of them to stay. What takes the place of other compactions takes them back in the same append; `late` is
    what may take that of one that stepped in for it."""
    wanted = set(ids)
    sent = [seen for seen in start.messages if seen.id in wanted]

    def plan(_: dict[str, bytes]) -> tuple[list[Record], int]:
        state, at = journal.state, clock.stamp()
        replaced = _replaced(journal, start, late)
        back = [] if replaced is None else [_undo(journal, each, at) for each in replaced]
        left_before = {one for record in back for one in record.body["ids"]}
        as_seen = replaced is not None and all(_as_seen(journal, start, one, left_before) for one in sent)
        if not as_seen or (not start.past and not wanted.isdisjoint(pinned_messages(state.session))):
            told = "the session changed while its compaction was prepared, so that was discarded"
            raise Conflict(told, hint="Ask for it again.")
        version = version_of(state.checkpoint) + 1
        stats = {**checkpoint.get("stats", {}), "totalCompactions": state.totals.compactions - len(back) + 1}
        covered = _covered(start.checkpoint.get("compactionInfo"), checkpoint.get("compactionInfo"))
        new = {**checkpoint, "version": version, "updatedAt": at, "stats": stats, "compactionInfo": covered}
        return [*back, records.left(ids_of(sent), "compacted", at, new)], version

    return plan


def _replaced(journal: SessionJournal, start: Snapshot, late: bool) -> list[Compacted] | None:
    """The compactions, the last first, whose place a new one takes: those that it does once more, or the one that
    stepped in while a model was asked, if nothing else touched the checkpoint since. None if it was touched."""
    state = journal.state
    again = list(reversed(state.compactions.stack))[: max(1, start.past)]
    if state.checkpoint_pos == start.checkpoint_pos:
        return again[: start.past] if len(again) >= start.past else None  # a clear ends the way back
    if not late or start.past or not again or not again[0].stands_at(state.checkpoint_pos, start.checkpoint_pos):
        return None
    return again if _made_by(journal, again[0], STAND_IN) else None


def _covered(before: Any, now: Any) -> Any:
    """The figures of the messages of all rounds: a checkpoint stands for each of them, and not only for the last."""
    if not isinstance(before, dict) or not isinstance(now, dict) or not before.get("messagesCompacted"):
        return now
    counts = [info.get("messagesCompacted") for info in (before, now)]
    (first, other), (last, latest) = (
        [info.get(f"{which}MessageTimestamp") for info in (before, now)] for which in ("oldest", "newest")
    )
    return {
        **before,
        **now,
        "messagesCompacted": sum(count for count in counts if isinstance(count, int)),
        "oldestMessageTimestamp": first if times.later(other, first) else other,
        "newestMessageTimestamp": last if times.later(last, latest) else latest,
    }


def undoing(journal: SessionJournal) -> Plan:
    """The last compaction is taken back: its messages are in chat again, and the checkpoint is the one before it."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], dict[str, Any]]:
        state = journal.state
        back = _undo(journal, state.compactions.last(journal.folder.id, state.checkpoint_pos), clock.stamp())
        version = back.body["checkpoint"]["version"]
        return [back], {"messagesRestored": len(back.body["ids"]), "checkpointVersion": version}

    return plan


def pinning_item(journal: SessionJournal, item_id: str, pinned: bool) -> Plan:
    """A pinned item stays until it is unpinned, whatever else is in the checkpoint."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], bool]:
        known, at = journal.state.checkpoint or {}, clock.stamp()
        items = items_of(known)
        found = [item for item in items if item.id == item_id]
        if not found:
            hint = f"`dagentd show {journal.folder.id}` lists the items with their ids."
            raise NotFound(f"no item {item_id!a} in the checkpoint", hint=hint)
        if found[0].pinned == pinned:
            return [], pinned
        marked = [replace(item, pinned=pinned) if item.id == item_id else item for item in items]
        changed = {**known, "items": [item.raw() for item in marked], "version": version_of(known) + 1, "updatedAt": at}
        told = {"action": "pinned", "item_id": item_id, "pinned": pinned}
        return [records.checkpoint(changed, at)._replace(told=told)], pinned

    return plan


def pinning_message(journal: SessionJournal, message_id: str, pinned: bool) -> Plan:
    """A pinned message stays in chat."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], bool]:
        if journal.state.find(message_id) is None:
            raise NotFound(f"no message {message_id!a}", hint=f"dagentd history {journal.folder.id} --json")
        held = pinned_messages(journal.state.session)
        wanted = [*(one for one in held if one != message_id), *([message_id] if pinned else [])]
        if sorted(wanted) == sorted(held):
            return [], pinned
        told = {"action": "pinned", "message_id": message_id, "pinned": pinned}
        return [records.session({"pinnedMessages": wanted}, clock.stamp())._replace(told=told)], pinned

    return plan


def pinned_messages(fields: dict[str, Any]) -> list[str]:
    held = fields.get("pinnedMessages")
    return [one for one in held if isinstance(one, str)] if isinstance(held, list) else []


def _undo(journal: SessionJournal, last: Compacted, at: str) -> Record:
    state = journal.state
    ids = [one for one in _record(journal, last).body["ids"] if (entry := state.find(one)) and not entry.here]
    before = _with_pins(_before(journal, last), state.checkpoint)
    version = version_of(state.checkpoint) + 1
    return records.back(ids, at, {**before, "version": version, "updatedAt": at})


def _with_pins(before: dict[str, Any], now: dict[str, Any] | None) -> dict[str, Any]:
    """The checkpoint from before, with items pinned and unpinned as they are now."""
    pinned = {item.id: item.pinned for item in items_of(now)}
    items = items_of(before)
    if all(pinned.get(item.id, item.pinned) == item.pinned for item in items):
        return before
    return {**before, "items": [replace(item, pinned=pinned.get(item.id, item.pinned)).raw() for item in items]}


def _with_pinned(before: dict[str, Any], now: dict[str, Any] | None) -> dict[str, Any]:
    """With what is pinned now, also where that came later."""
    held = _with_pins(before, now)
    items = items_of(held)
    known = {item.id for item in items}
    late = [item for item in items_of(now) if item.pinned and item.id not in known]
    return {**held, "items": [item.raw() for item in (*items, *late)]} if late else held


def _made_by(journal: SessionJournal, each: Compacted, backend: str) -> bool:
    return bool(_record(journal, each).body["checkpoint"].get("backend") == backend)


def _before(journal: SessionJournal, each: Compacted) -> dict[str, Any]:
    if each.before is None:
        return _EMPTY
    found: dict[str, Any] = journal.state.read_record(*each.before[:2]).body["checkpoint"]
    return found


def _record(journal: SessionJournal, each: Compacted) -> Record:
    return journal.state.read_record(each.start, each.end)


def _seen(journal: SessionJournal, entry: Entry) -> Seen:
    return Seen(entry.id, entry.whole, journal.file.read_record(entry.start, entry.end).body["message"])


def _as_seen(journal: SessionJournal, start: Snapshot, one: Seen, left_before: Collection[str]) -> bool:
    """In chat, or out of it by a compaction that is taken back, and with the same content."""
    entry = journal.state.find(one.id)
    if entry is None or entry.whole != one.whole:
        return False
    return one.id in left_before or (entry.here and not start.past)


def ids_of(messages: Sequence[Seen]) -> list[str]:
    return [one.id for one in messages]
