"""Compaction as records of the journal: what was proposed is committed as it was, taken back, or done once more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import Conflict, NotFound
from dagentd.model import jsontext, records, times
from dagentd.model.compaction.items import SEEDS, items_of, list_of, with_pin
from dagentd.model.documents import version_of
from dagentd.model.records import Record
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.store.journal.compaction_history import Compacted
from dagentd.store.journal.group_commit import Plan
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
    """All that is in chat, and the checkpoint with its record's position; it does `past` compactions once more."""

    messages: tuple[Seen, ...]
    checkpoint: dict[str, Any]
    checkpoint_pos: int
    past: int = 0


def snapshot(journal: AppendableJournal) -> Snapshot:
    """Nobody who adds a message waits until those that are there are read."""
    with journal.lock:
        state = journal.state
        held = [(entry.id, entry.whole, entry.line or b"{}") for entry in state.entries.ordered()]
        checkpoint, pos = state.checkpoint or _EMPTY, state.checkpoint_pos
    seen = tuple(Seen(id, whole, jsontext.decode_own(line)) for id, whole, line in right_of_way.behind(held))
    return Snapshot(seen, checkpoint, pos)


def earlier(journal: AppendableJournal, backend: str) -> Snapshot:
    """The start of the last compactions that `backend` made: what left by them, and the checkpoint before the first."""
    with journal.lock:
        state = journal.state
        state.compactions.last(journal.folder.id, state.checkpoint_pos)
        stack, found = list(state.compactions.stack), list[Compacted]()
        while stack and _made_by(journal, stack[-1], backend) and (not found or stack[-1].is_right_below(found[-1])):
            found.append(stack.pop())
        if not found:
            raise Conflict("the last compaction was not made without a model", hint="There is nothing to do again.")
        ids = [one for each in found for one in _record(journal, each).body["ids"]]
        gone = (entry for one in ids if (entry := state.find(one)) is not None and not entry.here)
        read, entries = journal.file.read_record, sorted(gone, key=lambda entry: entry.rank)
        seen = tuple(Seen(each.id, each.whole, read(each.start, each.end).body["message"]) for each in entries)
        start = _with_pins(_before(journal, found[-1]), state.checkpoint, late=True)
        return Snapshot(seen, start, state.checkpoint_pos, len(found))


def committing(
    journal: AppendableJournal, start: Snapshot, ids: Iterable[str], checkpoint: dict[str, Any], *, late: bool = False
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
        return [*back, records.left([seen.id for seen in sent], "compacted", at, new)], version

    return plan


def _replaced(journal: AppendableJournal, start: Snapshot, late: bool) -> list[Compacted] | None:
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


def undoing(journal: AppendableJournal) -> Plan:
    """The last compaction is taken back: its messages are in chat again, and the checkpoint is the one before it."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], dict[str, Any]]:
        last = journal.state.compactions.last(journal.folder.id, journal.state.checkpoint_pos)
        back = _undo(journal, last, clock.stamp())
        told = {"messagesRestored": len(back.body["ids"]), "checkpointVersion": back.body["checkpoint"]["version"]}
        return [back], told

    return plan


def pinning_item(journal: AppendableJournal, item_id: str, pinned: bool) -> Plan:
    """A pinned item stays until it is unpinned, whatever else is in the checkpoint."""

    def plan(_: dict[str, bytes]) -> tuple[list[Record], bool]:
        known, at = journal.state.checkpoint or {}, clock.stamp()
        marked = with_pin(known, item_id, pinned, journal.folder.id)
        if marked is None:
            return [], pinned
        changed = {**marked, "version": version_of(known) + 1, "updatedAt": at}
        told = {"action": "pinned", "item_id": item_id, "pinned": pinned}
        return [records.checkpoint(changed, at)._replace(told=told)], pinned

    return plan


def pinning_message(journal: AppendableJournal, message_id: str, pinned: bool) -> Plan:
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
    return [one for one in list_of(fields.get("pinnedMessages")) if isinstance(one, str)]


def _undo(journal: AppendableJournal, last: Compacted, at: str) -> Record:
    state = journal.state
    ids = [one for one in _record(journal, last).body["ids"] if (entry := state.find(one)) and not entry.here]
    before = _with_pins(_before(journal, last), state.checkpoint)
    version = version_of(state.checkpoint) + 1
    return records.back(ids, at, {**before, "version": version, "updatedAt": at})


def _with_pins(before: dict[str, Any], now: dict[str, Any] | None, late: bool = False) -> dict[str, Any]:
    """The checkpoint from before, with items pinned as they are now, and those that are pinned now and came `late`r."""
    items, current = items_of(before), {item.id: item for item in items_of(now)}
    held = [replace(item, pinned=current.get(item.id, item).pinned) for item in items]
    known = {item.id for item in items}
    held += [item for item in current.values() if late and item.pinned and item.id not in known]
    return before if held == items else {**before, "items": [item.raw() for item in held]}


def _made_by(journal: AppendableJournal, each: Compacted, backend: str) -> bool:
    return bool(_record(journal, each).body["checkpoint"].get("backend") == backend)


def _before(journal: AppendableJournal, each: Compacted) -> dict[str, Any]:
    return dict(journal.state.read_record(*each.before[:2]).body["checkpoint"]) if each.before else _EMPTY


def _record(journal: AppendableJournal, each: Compacted) -> Record:
    return journal.state.read_record(each.start, each.end)


def _as_seen(journal: AppendableJournal, start: Snapshot, one: Seen, left_before: Collection[str]) -> bool:
    """In chat, or out of it by a compaction that is taken back, and with the same content."""
    entry = journal.state.find(one.id)
    if entry is None or entry.whole != one.whole:
        return False
    return one.id in left_before or (entry.here and not start.past)
