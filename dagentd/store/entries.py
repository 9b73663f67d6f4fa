"""The messages of one journal: those in chat and those that the index lacks in memory, the others in the index."""

from __future__ import annotations

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
        if self._unsorted:
            self.chat = {entry.id: entry for entry in sorted(self.chat.values(), key=lambda entry: entry.rank)}
            self._unsorted = False
        return list(self.chat.values())

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

    def leave_chat(self, message_id: str) -> Entry | None:
        if entry := self.chat.pop(message_id, None):
            self.fresh[entry.id] = entry
        return entry

    def changed(self, entry: Entry) -> None:
        self.fresh[entry.id] = entry

    def all_changed(self, every: list[Entry]) -> None:
        self.fresh = {entry.id: entry for entry in every}

    def load(self) -> None:
        self._saved = True
        self.chat = {entry.id: entry for entry in self._index.in_chat()}

    def save(self, header: dict[str, Any]) -> None:
        if self._index.save(header, self.fresh.values()):
            self.fresh, self._saved = {}, True
