"""The order of messages as numbers, with room between them for those that are put in later."""

from __future__ import annotations

from dagentd.model.records import Record
from dagentd.store.entries import Entries
from dagentd.store.entry import Entry

STRIDE = 1 << 32  # between the ranks of messages that simply follow each other
_END = object()


class Ranks:
    def __init__(self, entries: Entries) -> None:
        self.last = 0
        self._entries = entries
        self._run: tuple[str, int] | None = None  # the message placed last by `after`, and the next rank behind it

    def place(self, record: Record) -> int:
        """The rank of a message that arrives: at the end, or where its record says."""
        after = record.body.get("after", _END)
        other = self._entries.find(after) if isinstance(after, str) else None
        if after is _END or (other is None and after is not None):
            self.last += STRIDE
            return self.last
        rank = self._behind(other) if other else self._first()
        self._run = (record.body["message"]["id"], self._run[1] if self._run else rank + STRIDE)
        self.last = max(self.last, rank)
        return rank

    def _behind(self, other: Entry) -> int:
        """A free rank right behind `other`. Of a run of messages, each placed after the one before, every one
        but the first takes the next number: so a run of any length fits."""
        in_run = self._run is not None and self._run[0] == other.id
        follower = self._run[1] if self._run and in_run else self._next(other.rank)
        if follower - other.rank < 2:
            self._respace()
            moved = self._entries.find(other.id)
            assert moved is not None
            return self._behind(moved)
        self._run = (other.id, follower)
        return other.rank + (1 if in_run else (follower - other.rank) // 2)

    def _next(self, rank: int) -> int:
        held, end = self._entries.next_rank(rank), self.last + STRIDE
        return end if held is None else min(held, end)

    def _first(self) -> int:
        held = self._entries.first_rank()
        self._run = None
        return (STRIDE if held is None else min(held, STRIDE)) - STRIDE

    def _respace(self) -> None:
        """Put the ranks apart again, when two neighbours have no number left between them. In memory, because the
        index may not be to be written just now; and above all that it holds, where ranks must stay unique meanwhile."""
        ordered = self._entries.everything()
        base = ordered[-1].rank // STRIDE + 1
        for number, entry in enumerate(ordered):
            entry.rank = (base + number) * STRIDE
        self._entries.all_changed(ordered)
        self.last, self._run = ordered[-1].rank, None
