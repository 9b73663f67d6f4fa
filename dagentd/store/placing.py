"""Imported messages among those that a session has: time decides the place of each, once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from dagentd.model import jsontext, records, times
from dagentd.model.records import Record
from dagentd.store.entry import Entry
from dagentd.store.merge import Found

_EARLIEST = datetime.min.replace(tzinfo=UTC)


def arrivals(found: Sequence[Found], held: Sequence[Entry], at: str) -> list[Record]:
    """The new ones of a file, each behind what was said before it; `held` are all messages of the session in order.
    Both keep their own order: where times are out of order, the latest so far counts. A new message also stands
    behind the one that it follows in its file, and before the next that is known."""
    if not held:
        return [records.message(one.raw, one.line, at) for one in found]
    return _Placing(held).records(found, at)


class _Placing:
    def __init__(self, held: Sequence[Entry]) -> None:
        self._held = held
        self._index = {entry.id: number for number, entry in enumerate(held)}
        self._latest = _running(jsontext.decode_own(entry.stamp.encode()) for entry in held)

    def records(self, found: Sequence[Found], at: str) -> list[Record]:
        said = _running(one.raw.get("timestamp") for one in found)
        ends = self._ends(found)
        result: list[Record] = []
        before, last = 0, ""  # how many of the held stand before it; the new one that was placed there last
        for one, moment, end in zip(found, said, ends, strict=True):
            if one.entry is not None:
                before, last = self._index[one.id] + 1, ""
                continue
            place = max(before, min(bisect_right(self._latest, moment), end))
            after: dict[str, Any] = {}
            if place < len(self._held):
                behind = self._held[place - 1].id if place else None
                after = {"after": last if last and place == before else behind}
            result.append(records.message(one.raw, one.line, at, **after))
            before, last = place, one.id
        return result

    def _ends(self, found: Sequence[Found]) -> list[int]:
        """For each the number of those held that may stand before it: up to the next of its file that is known."""
        ends, end = [], len(self._held)
        for one in reversed(found):
            end = self._index[one.id] if one.entry is not None else end
            ends.append(end)
        return ends[::-1]


def _running(stamps: Iterable[object]) -> list[datetime]:
    return list(accumulate((times.parse(stamp) or _EARLIEST for stamp in stamps), max))
