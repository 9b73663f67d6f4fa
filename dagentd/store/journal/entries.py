"""The messages of one journal: those in chat and those that the index lacks in memory, the others in the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dagentd.model import conversation, jsontext
from dagentd.model.conversation import Said
from dagentd.model.records import Record

# One message as the journal knows it: where its record is, which contents it had, when it was in chat.


@dataclass(slots=True)
class Entry:
    id: str
    rank: int  # order among all messages of the session
    start: int  # of the record that holds its content
    end: int
    stamp: str  # timestamp as written, as JSON text
    core: bytes
    versions: list[tuple[int, bytes]]  # end of the record, fingerprint of the content it brought
    moves: list[tuple[int, bool]]  # end of the record, in chat from there on
    line: bytes | None = None  # its JSON; only while it is in chat
    tokens: int | None = None
    internal: bool | None = None  # None: nobody has asked yet
    _said: tuple[bytes, Said | None] | None = None  # the line that it was made from, and what requests have of it

    @property
    def here(self) -> bool:
        return self.moves[-1][1]

    @property
    def moved(self) -> int:
        return self.moves[-1][0]

    @property
    def edited(self) -> int:
        return self.versions[-1][0]

    @property
    def whole(self) -> bytes:
        return self.versions[-1][1]

    def here_at(self, pos: int) -> bool:
        return next((here for end, here in reversed(self.moves) if end <= pos), False)

    def whole_at(self, pos: int) -> bytes | None:
        return next((whole for end, whole in reversed(self.versions) if end <= pos), None)

    def raw(self) -> dict[str, Any]:
        assert self.line is not None
        value: dict[str, Any] = jsontext.decode_own(self.line)
        return value

    def said(self, line: bytes, tokens: int | None) -> Said | None:
        """As it stands in requests with this content, and of this size if that is known; made with the first of them.
        None if they do not have it."""
        known = self._said
        if known is None or known[0] is not line:
            known = line, conversation.said(jsontext.decode_own(line), tokens)
            if tokens is not None:
                self._said = known
        return known[1]


class Stored(Protocol):
    """The entries that are not in memory, as `index.JournalIndex` has them."""

    @property
    def void(self) -> bool: ...

    def find(self, message_id: str) -> Entry | None: ...

    def in_chat(self) -> list[Entry]: ...

    def before(self, rank: int | None, limit: int) -> list[Entry]: ...

    def first_rank(self) -> int | None: ...

    def next_rank(self, rank: int) -> int | None: ...

    def save(self, header: dict[str, Any], entries: Iterable[Entry]) -> bool: ...


class Entries:
    def __init__(self, index: Stored) -> None:
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
        """All have another rank."""
        self.fresh = {entry.id: entry for entry in every}
        self._unsorted = True

    def load(self) -> None:
        self._saved = True
        self.chat = {entry.id: entry for entry in self._index.in_chat()}
        for entry in self.chat.values():
            self._weigh(entry, 1)

    def save(self, header: dict[str, Any]) -> None:
        if self._index.save(header, self.fresh.values()):
            self.fresh, self._saved = {}, True


# The order of messages as numbers, with room between them for those that are put in later.

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
            self._respace(self._entries.everything())
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

    def reorder(self, ids: Sequence[str]) -> None:
        """The places that these messages have among all are theirs in this order."""
        ordered = self._entries.everything()
        held = {entry.id: entry for entry in ordered}
        wanted = iter([held[one] for one in dict.fromkeys(ids) if one in held])
        chosen = set(ids)
        self._respace([next(wanted) if entry.id in chosen else entry for entry in ordered])

    def _respace(self, ordered: list[Entry]) -> None:
        """Put the ranks apart again, when two neighbours have no number left between them. In memory, because the
        index may not be to be written just now; and above all that it holds, where ranks must stay unique meanwhile."""
        base = max((entry.rank for entry in ordered), default=0) // STRIDE + 1
        for number, entry in enumerate(ordered):
            entry.rank = (base + number) * STRIDE
        self._entries.all_changed(ordered)
        self.last, self._run = (base + len(ordered)) * STRIDE, None
