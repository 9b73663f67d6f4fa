"""The backend without a model: a conversation's structure as a record, equal for equal input."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dagentd.model.compaction.checkpoints import BULLET, FRAME, Count
from dagentd.model.compaction.items import Item, Record
from dagentd.model.compaction.local import orders
from dagentd.model.compaction.local.exchanges import exchanges
from dagentd.model.compaction.local.writing import ARROW, COMMIT, asked_of, has_substance, written
from dagentd.model.compaction.turns import Turn
from dagentd.model.compaction.typed import trimmed

# What has room in a checkpoint: half of it for what was done, and the rest only for pins and users' orders.

_LAST = 3  # turns that are told whole
_LEAST = 10  # tokens that the shortest entry has
_REMINDED = 10  # orders that a model is reminded of
_SHORT = 120  # characters of an older request where not all have room


def fitted(record: Record, limit: int, count: Count) -> tuple[Record, int]:
    """The record within its room, and how many items had none. In this order: pins; orders; state; the last turns; what
    users said before, the newest first; how that ended, the newest first."""
    room = _Room(limit // 2, count, FRAME + count(f"{record.goal} {record.next}"))
    free = [item for item in record.items if not item.pinned]
    said = [item for item in reversed(free) if item.list == "decisions"]
    turns = [item for item in free if item.kind == "turn"]
    state = [item for item in free if item.list != "decisions" and item.kind != "turn"]
    pinned = [item for item in record.items if item.pinned]
    for items, most in ((pinned, math.inf), (said, limit), (state, room.half)):
        for item in items:
            room.take(item, most)
    _take_turns(room, turns)
    kept = [room.kept[item.id] for item in record.items if item.id in room.kept]
    told = "\n".join(item.text for item in kept if item.kind == "turn" and item.list == "completed")
    once = [item for item in kept if item.kind == "order" and item.text in told and orders.is_request(item.text)]
    stay = tuple(item for item in kept if item.pinned or item not in once)
    return replace(record, items=stay), len(record.items) - len(kept)


class _Room:
    def __init__(self, half: int, count: Count, used: int) -> None:
        self.half, self._count, self.used = half, count, used
        self.kept: dict[str, Item] = {}

    def size(self, item: Item) -> int:
        return self._count(f"{item.entry} {item.quote}") + BULLET

    def take(self, item: Item, most: float) -> bool:
        """In place of its shorter form, where that is there already. Nothing is counted for less than it needs."""
        if self.used + _LEAST > most:
            return False
        more = self.size(item) - (self.size(self.kept[item.id]) if item.id in self.kept else 0)
        if fits := 0 < more <= most - self.used:
            self.used += more
            self.kept[item.id] = item
        return fits


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
    record: Record, turns: Iterable[Turn], limit: int, count: Count, at: str, commits: Sequence[tuple[str, str]] = ()
) -> tuple[Record, int]:
    """The record after these messages, within `limit` tokens, and how many items left it; `commits` are git's."""
    made, left = written(record, exchanges(turns), at, commits, limit // _LEAST)
    kept, more = fitted(made, limit, count)
    return kept, left + more


def uncovered_orders(items: Sequence[Item], turns: Sequence[Turn]) -> list[orders.Order]:
    """The newest orders that no item covers: by most of its words, or by some of them and its message as a source."""
    held = [(orders.content(f"{item.text} {item.quote}"), item.sources) for item in items]
    said = orders.standing([one for each in exchanges(turns) for one in each.orders])
    return [one for one in said if not any(orders.covers(one, words, ids) for words, ids in held)][-_REMINDED:]
