"""What has room in a checkpoint: half of it for what was done, and the rest only for pins and users' orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dagentd.model.compaction.checkpoints import BULLET, FRAME
from dagentd.model.compaction.items import Item, Record
from dagentd.model.compaction.local.typed import trimmed
from dagentd.model.compaction.local.writing import ARROW, asked_of

_LAST = 3  # turns that are told whole
_SHORT = 120  # characters of an older request where not all have room


def fitted(record: Record, limit: int, count: Callable[[str], int]) -> tuple[Record, int]:
    """The record within its room, and how many items had none. In this order: pins; orders; state; the last turns; what
    users said before, the newest first; how that ended, the newest first."""
    room = _Room(limit, limit // 2, count)
    room.used = FRAME + count(f"{record.goal} {record.next}")
    turns = [item for item in record.items if item.kind == "turn" and not item.pinned]
    for item in record.items:
        if item.pinned:
            room.force(item)
    for item in reversed([item for item in record.items if _is_order(item)]):
        room.take(item, room.most)
    for item in record.items:
        if item.kind != "turn" and not item.pinned and not _is_order(item):
            room.take(item, room.half)
    _take_turns(room, turns)
    kept = tuple(room.kept[item.id] for item in record.items if item.id in room.kept)
    return replace(record, items=kept), len(record.items) - len(kept)


class _Room:
    def __init__(self, most: int, half: int, count: Callable[[str], int]) -> None:
        self.most, self.half, self._count = most, half, count
        self.used = 0
        self.kept: dict[str, Item] = {}

    def size(self, item: Item) -> int:
        return self._count(f"{item.entry} {item.quote}") + BULLET

    def force(self, item: Item) -> None:
        self.used += self.size(item)
        self.kept[item.id] = item

    def take(self, item: Item, room: int) -> bool:
        if self.used + self.size(item) > room:
            return False
        self.force(item)
        return True

    def longer(self, item: Item) -> None:
        """In place of its shorter form, if that has room."""
        more = self.size(item) - self.size(self.kept[item.id])
        if self.used + more <= self.half:
            self.used += more
            self.kept[item.id] = item


def _is_order(item: Item) -> bool:
    return not item.pinned and item.list == "decisions"


def _take_turns(room: _Room, turns: list[Item]) -> None:
    newest = turns[::-1]
    for item in newest[:_LAST]:
        room.take(item, room.half) or room.take(_asked(item), room.half)
    older = newest[_LAST:]
    for item in older:
        room.take(_asked(item), room.half)
    for item in older:
        if item.id in room.kept:
            room.longer(item)


def _asked(item: Item) -> Item:
    """Only what was asked; of what nobody asked, how it ended."""
    text = asked_of(item.text) if ARROW in item.text else item.text
    return replace(item, text=trimmed(text, _SHORT))
