"""The messages of one journal: those in chat and those that the index lacks in memory, the others in the index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dagentd.store.entry import Entry
from dagentd.store.index import JournalIndex


class Entries:
    def __init__(self, index: JournalIndex) -> None:
        self.chat: dict[str, Entry] = {}
        self.fresh: dict[str, Entry] = {}  # not yet in the index as they are now
        self._index = index
        self._saved = False  # the index holds something of these
        self._unsorted = False
        self.bytes = 0  # of the records of what is in chat: at least as many as its text has tokens
        self.tokens = 0  # of what is in chat and was counted; the rest is in `uncounted`
        self.uncounted: dict[str, Entry] = {}
        self.internal = 0  # of those in chat that were judged; the rest is in `unjudged`
        self.unjudged: dict[str, Entry] = {}

    # --- asking -------------------------------------------------------------------------------------------

    def find(self, message_id: str) -> Entry | None:
        return self.chat.get(message_id) or self.fresh.get(message_id) or self._in_index(message_id)

    def _in_index(self, message_id: str) -> Entry | None:
        return self._index.find(message_id) if self._saved else None

    def before(self, rank: int | None, limit: int) -> list[Entry]:
        """The `limit` messages before a rank (None: the last ones), in order; also those that the index lacks."""
        stored = {entry.id: entry for entry in self._index.before(rank, limit) if entry.id not in self.fresh}
        stored |= {entry.id: entry for entry in self.fresh.values() if rank is None or entry.rank < rank}
        return sorted(stored.values(), key=lambda entry: entry.rank)[-limit:]

    def ordered(self) -> list[Entry]:
        """The messages in chat, in order."""
        self._sort()
        return list(self.chat.values())

    def newest(self) -> Iterator[Entry]:
        """The same from the last on, for one who needs only some: a list of all costs more the longer the chat is."""
        self._sort()
        return reversed(self.chat.values())

    def _sort(self) -> None:
        if self._unsorted:
            self.chat = {entry.id: entry for entry in sorted(self.chat.values(), key=lambda entry: entry.rank)}
            self._unsorted = False

    def everything(self) -> list[Entry]:
        """Every message ever seen, in order."""
        every = {entry.id: entry for entry in self._index.before(None, 1 << 60)} | self.fresh | self.chat
        return sorted(every.values(), key=lambda entry: entry.rank)

    def first_rank(self) -> int | None:
        stored = self._index.first_rank()
        ranks = [entry.rank for entry in (*self.chat.values(), *self.fresh.values())]
        return min([*ranks, *([stored] if stored is not None else [])], default=None)

    def next_rank(self, rank: int) -> int | None:
        """The lowest one above `rank`."""
        stored = self._index.next_rank(rank)
        held = [entry.rank for entry in (*self.chat.values(), *self.fresh.values()) if entry.rank > rank]
        return min([*held, *([stored] if stored is not None else [])], default=None)

    # --- changing -----------------------------------------------------------------------------------------

    def enter_chat(self, entry: Entry, *, last: bool) -> None:
        self.chat[entry.id] = self.fresh[entry.id] = entry
        self._unsorted = self._unsorted or not last
        self._weigh(entry, 1)

    def leave_chat(self, message_id: str) -> Entry | None:
        if entry := self.chat.pop(message_id, None):
            self.fresh[entry.id] = entry
            self._weigh(entry, -1)
        return entry

    def edit(self, entry: Entry, start: int, end: int) -> None:
        """Its content is in another record now, and of a size that is not known yet."""
        if here := entry.id in self.chat:
            self._weigh(entry, -1)
        entry.start, entry.end, entry.tokens, entry.internal = start, end, None, None
        if here:
            self._weigh(entry, 1)

    def count(self, entry: Entry, tokens: int) -> None:
        if here := entry.id in self.chat:
            self._weigh(entry, -1)
        entry.tokens = tokens
        if here:
            self._weigh(entry, 1)

    def judge(self, entry: Entry, internal: bool) -> None:
        """One that is in chat and unjudged."""
        entry.internal = internal
        self.internal += internal
        del self.unjudged[entry.id]

    def _weigh(self, entry: Entry, sign: int) -> None:
        """Sums that follow each change, so that a long chat costs no more to ask about than a short one."""
        self.bytes += sign * (entry.end - entry.start)
        self.tokens += sign * (entry.tokens or 0)
        self.internal += sign * (entry.internal or 0)
        if sign < 0:
            self.uncounted.pop(entry.id, None)
            self.unjudged.pop(entry.id, None)
            return
        if entry.tokens is None:
            self.uncounted[entry.id] = entry
        if entry.internal is None:
            self.unjudged[entry.id] = entry

    def changed(self, entry: Entry) -> None:
        self.fresh[entry.id] = entry

    def all_changed(self, every: list[Entry]) -> None:
        self.fresh = {entry.id: entry for entry in every}

    def load(self) -> None:
        self._saved = True
        self.chat = {entry.id: entry for entry in self._index.in_chat()}
        for entry in self.chat.values():
            self._weigh(entry, 1)

    def save(self, header: dict[str, Any]) -> None:
        if self._index.save(header, self.fresh.values()):
            self.fresh, self._saved = {}, True
