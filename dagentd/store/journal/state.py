"""The state of a journal: its records applied one after the other, with the index holding what is not needed now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from dagentd.model import records
from dagentd.model.compaction.items import with_lists
from dagentd.model.documents import version_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.records import Record
from dagentd.store.journal.compaction_history import Compactions, same_but_pins
from dagentd.store.journal.entries import Entries, Entry, Ranks, Stored


@dataclass
class Totals:
    """The counts for `stats`. `messages` counts since the last clear, `cleared` those before it; tokens are those that
    calls reported."""

    messages: int = 0
    cleared: int = 0
    tokens: int = 0
    compactions: int = 0
    compacted_at: str | None = None


_COUNTED = {each.name for each in fields(Totals)}


@dataclass
class State:
    index: Stored
    read_record: Callable[[int, int], Record]  # from the journal, by offsets
    pos: int = 0
    chat_pos: int = 0  # of the last record that changed what is in chat
    last_at: str = ""  # when the session was last changed
    made_at: str = ""  # when the journal was made for what was on disk: that changed nothing
    session: dict[str, Any] = field(default_factory=dict)
    sets: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    checkpoints: list[tuple[int, int, int]] = field(default_factory=list)  # start, end, version
    checkpoint: dict[str, Any] | None = None
    compacted_outside: bool = False  # the last checkpoint is of a compaction that was not ours
    set_at: str = ""
    totals: Totals = field(default_factory=Totals)
    compactions: Compactions = field(default_factory=Compactions)
    seen: dict[str, str] = field(default_factory=dict)  # marks of documents without a position that were last taken in
    glanced: dict[str, int] = field(default_factory=dict)  # what came by a chat that is yet to be judged, up to where
    shown: tuple[str, int] | None = None  # digest of the chat file as we wrote it, and the `chat_pos` it shows
    first: str = ""  # the hash of the journal's first record
    unknown: str | None = None  # the `t` of a record that only a newer version understands

    def __post_init__(self) -> None:
        self.entries = Entries(self.index)
        self.ranks = Ranks(self.entries)
        self._sum: str | None = ""
        self._last = b""  # the record that ends at `pos`, until somebody asks for its hash

    # --- asking -------------------------------------------------------------------------------------------

    @property
    def sum(self) -> str:
        """The hash of the record that ends at `pos`; of many that are applied at once only the last is asked for."""
        if self._sum is None:
            self._sum, self._last = records.checksum(self._last), b""
        return self._sum

    @property
    def checkpoint_pos(self) -> int:
        return self.checkpoints[-1][1] if self.checkpoints else 0

    def session_at(self, pos: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for end, changes in self.sets:
            if end <= pos:
                result |= changes
        return result

    def set_after(self, pos: int) -> set[str]:
        """The fields of the session that somebody set behind a position."""
        return {key for end, changes in self.sets if end > pos for key in changes}

    def checkpoint_at(self, pos: int) -> dict[str, Any] | None:
        return self._read_checkpoint([held for held in self.checkpoints if held[1] <= pos])

    def checkpoint_of_version(self, version: int) -> dict[str, Any] | None:
        """The newest one whose version is not above the given one."""
        return self._read_checkpoint([held for held in self.checkpoints if held[2] <= version])

    def checkpoints_after(self, pos: int | None, version: object) -> list[dict[str, Any]]:
        """Those behind a position, or, without one, those above a version."""
        later = [
            held
            for held in self.checkpoints
            if (held[1] > pos if pos is not None else isinstance(version, int) and held[2] > version)
        ]
        return [found for held in later if (found := self._read_checkpoint([held]))]

    def _read_checkpoint(self, held: list[tuple[int, int, int]]) -> dict[str, Any] | None:
        if not held:
            return None
        if held[-1] is self.checkpoints[-1]:
            return self.checkpoint
        try:
            return with_lists(self.read_record(held[-1][0], held[-1][1]).body["checkpoint"])
        except Undecodable:  # somebody has overwritten it, and nothing needs one that is no more
            return None

    def find(self, message_id: str) -> Entry | None:
        return self.entries.find(message_id)

    def raw(self, entry: Entry) -> dict[str, Any]:
        """A message as it is now, wherever it is."""
        if entry.line is not None:
            return entry.raw()
        raw: dict[str, Any] = self.read_record(entry.start, entry.end).body["message"]
        return raw

    # --- applying -----------------------------------------------------------------------------------------

    def apply(self, record: Record, start: int, line: bytes) -> None:
        end = start + len(line)
        if start == 0:
            self.first = records.checksum(line)
        act = _ACTIONS.get(record.t)
        if act is not None:
            act(self, record, start, end)
            if record.t in ("message", "edit", "left", "back", "order"):
                self.chat_pos = end
        elif record.body.get("optional") is not True:
            self.unknown = record.t
        self.pos, self._sum, self._last = end, None, line
        if record.at and record.at != self.made_at:
            self.last_at = record.at

    def _arrive(self, record: Record, start: int, end: int) -> None:
        raw = record.body.get("message")
        if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
            return
        if not record.new and self.find(raw["id"]):
            return
        entry = Entry(
            raw["id"], self.ranks.place(record), start, end, records.stamp_of(raw), records.core(raw),
            [(end, records.fingerprint(record.message))], [(end, True)], record.message,
        )  # fmt: skip
        self.entries.enter_chat(entry, last=entry.rank == self.ranks.last)
        if isinstance(shown := record.body.get("glanced"), int):
            self.glanced[entry.id] = shown
        self.totals.messages += 1
        self.totals.tokens += reported_tokens(raw)

    def _edit(self, record: Record, start: int, end: int) -> None:
        raw = record.body.get("message")
        entry = self.find(raw["id"]) if isinstance(raw, dict) and isinstance(raw.get("id"), str) else None
        if entry is None or not isinstance(raw, dict):
            return self._arrive(record, start, end)
        self.entries.edit(entry, start, end)
        entry.stamp, entry.core = records.stamp_of(raw), records.core(raw)
        entry.versions.append((end, records.fingerprint(record.message)))
        if entry.here:
            entry.line = record.message
        self.entries.changed(entry)
        return None

    def _leave(self, record: Record, start: int, end: int) -> None:
        self.compacted_outside = False
        for message_id in message_ids(record):
            if entry := self.entries.leave_chat(message_id):
                entry.moves.append((end, False))
                entry.line = None
        if "checkpoint" in record.body:
            if self._stands(record):
                return  # said once more, after half a line of another program had swallowed what it is about
            before = self.checkpoints[-1] if self.checkpoints else None
            self.compactions.done(start, end, before, self.totals.compacted_at)
            self.totals.compactions += 1
            self.totals.compacted_at = _compacted_at(record)
            self._check(record, start, end)
        elif record.body.get("why") == "cleared":
            self.totals.cleared += self.totals.messages - len(self.entries.chat)
            self.totals.messages, self.totals.tokens = len(self.entries.chat), 0
            self.compactions.cleared()

    def _stands(self, record: Record) -> bool:
        doc = record.body["checkpoint"]
        return (with_lists(doc) if isinstance(doc, dict) else doc) == self.checkpoint

    def _return(self, record: Record, start: int, end: int) -> None:
        for message_id in message_ids(record):
            entry = self.find(message_id)
            if entry is None or entry.here:
                continue
            entry.moves.append((end, True))
            entry.line = self.read_record(entry.start, entry.end).message
            self.entries.enter_chat(entry, last=False)
        if "checkpoint" in record.body and not self._stands(record):  # else said once more, too
            self._check(record, start, end)
            if (undone := self.compactions.taken_back(end)) is not None:
                self.totals.compactions -= 1
                self.totals.compacted_at = undone.last_at

    def _check(self, record: Record, start: int, end: int) -> None:
        doc = record.body.get("checkpoint")
        if isinstance(doc, dict):
            known = self.checkpoint.get("compactionInfo") if self.checkpoint else doc.get("compactionInfo")
            self.compacted_outside = record.t == "checkpoint" and doc.get("compactionInfo") not in (None, known)
            if record.t == "checkpoint" and same_but_pins(self.checkpoint, doc):
                self.compactions.pinned(self.checkpoint_pos, end)
            self.checkpoints.append((start, end, version_of(doc)))
            self.checkpoint = with_lists(doc)

    def _set(self, record: Record, start: int, end: int) -> None:
        changes = record.body.get("set")
        if isinstance(changes, dict):
            self.sets.append((end, changes))
            self.session = {**self.session, **changes}
            self.set_at = record.at
            if isinstance(changes.get("updatedAt"), str):
                self.made_at, self.last_at = record.at, changes["updatedAt"]
        if isinstance(base := record.body.get("base"), dict):
            self.totals = Totals(**{key: value for key, value in base.items() if key in _COUNTED})

    def _see(self, record: Record, start: int, end: int) -> None:
        documents = record.body.get("documents")
        if isinstance(documents, dict):
            self.seen, self.glanced = documents, {}
            self.compacted_outside = False  # the chat that belongs to it was among them

    def _order(self, record: Record, start: int, end: int) -> None:
        self.ranks.reorder(list(message_ids(record)))

    def counted(self, entry: Entry, tokens: int) -> None:
        self.entries.count(entry, tokens)
        self.entries.changed(entry)

    # --- keeping ------------------------------------------------------------------------------------------

    def save(self, mark: Sequence[int] | None) -> None:
        """Bring the index up to here. A cache that cannot be written now is written later. By its `mark` the journal is
        known to be as we left it, if nobody else wrote to it."""
        header = {
            "pos": self.pos, "sum": self.sum, "chatPos": self.chat_pos, "lastAt": self.last_at,
            "lastRank": self.ranks.last, "sets": self.sets, "checkpoints": self.checkpoints,
            "totals": vars(self.totals), "unknown": self.unknown, "setAt": self.set_at,
            "compactedOutside": self.compacted_outside, "madeAt": self.made_at,
            "seen": self.seen, "shown": self.shown, "first": self.first, "compactions": self.compactions.dump(),
            "mark": mark, "glanced": self.glanced,
        }  # fmt: skip
        self.entries.save(header)

    def load(self, header: dict[str, Any]) -> None:
        """Take over what the index holds; the caller has checked that its position is in the journal."""
        self.pos, self._sum, self.chat_pos = header["pos"], header["sum"], header["chatPos"]
        self.last_at, self.ranks.last, self.made_at = header["lastAt"], header["lastRank"], header["madeAt"]
        self.sets = [(end, changes) for end, changes in header["sets"]]
        self.session = self.session_at(self.pos)
        self.checkpoints = [(start, end, version) for start, end, version in header["checkpoints"]]
        self.totals, self.unknown = Totals(**header["totals"]), header["unknown"]
        self.shown = (header["shown"][0], header["shown"][1]) if header["shown"] else None
        self.set_at, self.compacted_outside = header["setAt"], header["compactedOutside"]
        self.seen, self.first = header["seen"], header.get("first", "")
        self.glanced = header.get("glanced", {})
        self.compactions = Compactions.load(header["compactions"])
        self.entries.load()
        if self.checkpoints:
            doc = self.read_record(*self.checkpoints[-1][:2]).body["checkpoint"]
            self.checkpoint = with_lists(doc) if doc is not None else None  # it is nowhere any more


_ACTIONS: dict[str, Callable[[State, Record, int, int], None]] = {
    "message": State._arrive,
    "edit": State._edit,
    "left": State._leave,
    "back": State._return,
    "checkpoint": State._check,
    "session": State._set,
    "seen": State._see,
    "order": State._order,
}


def reported_tokens(raw: dict[str, Any]) -> int:
    """The usage that a message's metadata reports for its call."""
    metadata = raw.get("metadata")
    usage = metadata.get("tokens") if isinstance(metadata, dict) else None
    if not isinstance(usage, dict):
        return 0
    counts = (usage.get("input"), usage.get("output"))
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool))


def _compacted_at(record: Record) -> str:
    """As the checkpoint has it, so that both say the same."""
    doc = record.body["checkpoint"]
    info = doc.get("compactionInfo") if isinstance(doc, dict) else None
    at = info.get("compactedAt") if isinstance(info, dict) else None
    return at if isinstance(at, str) else record.at


def message_ids(record: Record) -> Iterable[str]:
    """Of those that left, came back or stand in another order."""
    ids = record.body.get("ids")
    return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []
