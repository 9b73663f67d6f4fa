"""The backend without a model: a conversation's structure as a record, equal for equal input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dagentd.model.compaction.checkpoints import BULLET, FRAME
from dagentd.model.compaction.items import Item, Record
from dagentd.model.compaction.local import orders
from dagentd.model.compaction.local.exchanges import exchanges
from dagentd.model.compaction.local.orders import Order as Order
from dagentd.model.compaction.local.orders import trimmed
from dagentd.model.compaction.local.writing import ARROW, COMMIT, asked_of, has_substance, written
from dagentd.model.compaction.turns import Turn

# What has room in a checkpoint: half of it for what was done, and the rest only for pins and users' orders.

_LAST = 3  # turns that are told whole
_LEAST = 10  # tokens that the shortest entry has
_SHORT = 120  # characters of an older request where not all have room


def fitted(record: Record, limit: int, count: Callable[[str], int]) -> tuple[Record, int]:
    """The record within its room, and how many items had none. In this order: pins; orders; state; the last turns; what
    users said before, the newest first; how that ended, the newest first."""
    room = _Room(limit, limit // 2, count)
    room.used = FRAME + count(f"{record.goal} {record.next}")
    turns = [item for item in record.items if item.kind == "turn" and not item.pinned]
    for item in record.items:
        if item.pinned:
            room.take(item, math.inf)
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

    def take(self, item: Item, most: float) -> bool:
        """In place of its shorter form, where that is there already."""
        more = self.size(item) - (self.size(self.kept[item.id]) if item.id in self.kept else 0)
        if more <= 0 or self.used + more > most:
            return False
        self.used += more
        self.kept[item.id] = item
        return True


def _is_order(item: Item) -> bool:
    return not item.pinned and item.list == "decisions"


def _take_turns(room: _Room, turns: list[Item]) -> None:
    """Breadth before depth: how each turn ended in a sentence, before any of the older ones is told whole. A request of
    a few words says nothing without its ending, and waits for it."""
    newest = turns[::-1]
    for item in newest[:_LAST]:
        room.take(item, room.half) or room.take(_asked(item), room.half)
    older = newest[_LAST:]
    for item in older:
        if has_substance(asked_of(item.text)) or ARROW not in item.text:
            room.take(_asked(item), room.half)
    for form in (_briefly, _asked, lambda whole: whole):
        for item in older:
            if room.used + _LEAST > room.half:
                return
            room.take(form(item), room.half)


def _asked(item: Item) -> Item:
    """Only what was asked; of what nobody asked, how it ended."""
    return replace(item, text=trimmed(asked_of(item.text), _SHORT))


def _briefly(item: Item) -> Item:
    """Of an ending what was committed says most."""
    asked, arrow, ended = item.text.partition(ARROW)
    committed = ended.rpartition(COMMIT)[2] if COMMIT in ended else ""
    shown = f"{COMMIT}{trimmed(committed, _SHORT)}" if committed else trimmed(ended, _SHORT)
    return replace(item, text=f"{trimmed(asked, _SHORT)}{arrow}{shown}")


def compacted(
    record: Record,
    turns: Iterable[Turn],
    limit: int,
    count: Callable[[str], int],
    at: str,
    commits: Sequence[tuple[str, str]] = (),
) -> tuple[Record, int]:
    """The record after these messages, within `limit` tokens, and how many items left it. `commits` are those that git
    has of that time, each by its short hash and its subject."""
    return fitted(written(record, exchanges(turns), at, commits), limit, count)


def uncovered_orders(items: Sequence[Item], turns: Sequence[Turn]) -> list[Order]:
    """The orders that no item covers, by its text, its quote or its sources; the oldest first, ten at most."""
    return orders.uncovered([one for each in exchanges(turns) for one in each.orders], items)
