"""The items of a checkpoint: each entry of the summary's lists with an id, its sources and whether it is pinned.

The lists are what every program reads and may edit; the items stand beside them and say more about each entry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from dagentd.errors import NotFound
from dagentd.model.prompt_text import line

SEEDS = ("completed", "inProgress", "pending", "blockers", "decisions")  # the lists that every program knows
TITLES = {
    "completed": "Completed", "inProgress": "In progress", "pending": "Pending", "blockers": "Blockers",
    "decisions": "Decisions", "facts": "Facts",
}  # fmt: skip
LISTS = tuple(TITLES)
DECISIONS_FIRST = {name: TITLES[name] for name in ("decisions", *LISTS)}
MAX_SOURCES = 8  # of one item: the first and the last ones say where it came from
_RESOLVED = "No longer open: "  # how an earlier version wrote what was over
_NOTE = re.compile(r"\[\d+ earlier items? left this summary")


def with_lists(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """The same with all lists that every program knows: the app reads each of them without looking."""
    summary = checkpoint.get("summary", {})
    if not isinstance(summary, dict) or summary.keys() >= set(SEEDS):
        return checkpoint
    return {**checkpoint, "summary": {**{name: [] for name in SEEDS}, **summary}}


@dataclass(frozen=True)
class Item:
    """`sources` are ids of messages, `quote` the user's own words behind it where it says them in other words, `kind`
    what `local` made it of. One that a model `passed_over` was added all the same. `shown` is the entry of another
    program, where it is no text."""

    id: str
    list: str
    text: str
    sources: tuple[str, ...] = ()
    pinned: bool = False
    at: str = ""
    quote: str = ""
    passed_over: bool = False
    kind: str = ""
    shown: Any = None

    @property
    def entry(self) -> Any:
        """As it stands in its list."""
        return self.text if self.shown is None else self.shown

    def raw(self) -> dict[str, Any]:
        more = {"pinned": self.pinned, "at": self.at, "quote": self.quote, "passedOver": self.passed_over,
                "kind": self.kind}  # fmt: skip
        own = {"id": self.id, "list": self.list, "text": self.text, "sources": list(self.sources)}
        return own | {key: value for key, value in more.items() if value}


@dataclass(frozen=True)
class Record:
    items: tuple[Item, ...] = ()
    goal: str = ""
    next: str = ""


def new(name: str, text: str, sources: Iterable[str], at: str, taken: Container[str] = (), kind: str = "") -> Item:
    """The same text in the same list is the same item on every machine, unless its id is `taken` by one that moved."""
    flat = " ".join(text.split())
    free = next(each for each in (_id_of(name, flat, number) for number in count()) if each not in taken)
    return Item(free, name, flat, sources_of(sources), at=at, kind=kind)


def sources_of(ids: Iterable[str]) -> tuple[str, ...]:
    """Each once, and of many the first and the last."""
    every = tuple(dict.fromkeys(ids))
    half = MAX_SOURCES // 2
    return every if len(every) <= MAX_SOURCES else every[:half] + every[-half:]


def record_of(checkpoint: Mapping[str, Any] | None) -> Record:
    """The record a compaction starts from. Items that were over when an earlier version wrote them are left out."""
    told = object_of((checkpoint or {}).get("summary"))
    held = (item for item in items_of(checkpoint) if item.pinned or not item.text.startswith(_RESOLVED))
    return Record(tuple(held), _key(told.get("goal")), _key(told.get("next")))


def items_of(checkpoint: Mapping[str, Any] | None) -> list[Item]:
    """One for each entry of the lists. What another program added has no sources; what it took away is gone, unless it
    was pinned; what it moved to another list is still the same item."""
    entries = _entries((checkpoint or {}).get("summary"))
    known = _known((checkpoint or {}).get("items"))
    unclaimed = {(item.list, _key(item.entry)): item for item in reversed(known)}
    claimed = {place: unclaimed.pop(place) for place in entries if place in unclaimed}
    moved = {key: item for (_, key), item in unclaimed.items()}
    found: dict[str, Item] = {}
    for (name, key), entry in entries.items():
        item = claimed.get((name, key)) or moved.pop(key, None)
        if item is None:
            item = new(name, key, (), "", taken={*(one.id for one in known), *found})
        found[item.id] = replace(item, list=name, shown=None if entry == item.entry else entry)
    return [*found.values(), *(item for item in known if item.pinned and item.id not in found)]


def with_pin(checkpoint: Mapping[str, Any], item_id: str, pinned: bool, where: str) -> dict[str, Any] | None:
    """The checkpoint in which the item is pinned, or no longer; None where that is so already. `where`: the session."""
    items = items_of(checkpoint)
    found = next((item for item in items if item.id == item_id), None)
    if found is None:
        hint = f"`dagentd show {where}` lists the items with their ids."
        raise NotFound(f"no item {item_id!a} in the checkpoint", hint=hint)
    marked = [replace(item, pinned=pinned) if item.id == item_id else item for item in items]
    return None if found.pinned == pinned else {**checkpoint, "items": [item.raw() for item in marked]}


def summary_of(record: Record, left: int = 0, find: str = "") -> dict[str, Any]:
    """The lists, with goal and next step where known; one line says that `left` items are not among them any more."""
    lists: dict[str, list[Any]] = {name: [] for name in LISTS}
    for item in record.items:
        lists[item.list].append(item.entry)
    if left:
        lists["completed"].insert(0, f"[{left} earlier item{'s' if left > 1 else ''} left this summary; {find}]")
    more = {"goal": record.goal, "next": record.next, "facts": lists.pop("facts")}
    return lists | {key: value for key, value in more.items() if value}


def in_words(item: Item) -> str:
    """With the user's own words beside it where it says them in others."""
    return with_quote(line(item.entry), item.quote)


def with_quote(text: str, quote: str) -> str:
    return f'{text} (in the user\'s words: "{quote}")' if quote else text


def quotes_of(items: Any) -> dict[tuple[str, str], str]:
    """The user's words by the list and the text of the items that have them."""
    return {(item.list, _key(item.text)): item.quote for item in _known(items) if item.quote}


def _entries(summary: Any) -> dict[tuple[str, str], Any]:
    """The entries of the lists, each once; the line that says how many left is no entry."""
    told = ((name, _key(entry), entry) for name in LISTS for entry in list_of(object_of(summary).get(name)))
    return {(name, key): entry for name, key, entry in told if key and not _NOTE.match(key)}


def _known(raw: Any) -> list[Item]:
    """Each id once: who edited them by hand may have copied one."""
    found: dict[str, Item] = {}
    for item in filter(None, map(_parsed, list_of(raw))):
        own = item if item.id not in found else replace(item, id=new(item.list, item.text, (), "", taken=found).id)
        found[own.id] = own
    return list(found.values())


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _parsed(raw: Any) -> Item | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str) or not isinstance(raw.get("text"), str):
        return None
    name, text = raw.get("list"), raw["text"]
    if name not in LISTS or not text.strip():
        return None
    told = sources_of(one for one in list_of(raw.get("sources")) if isinstance(one, str))
    at, quote, kind = (value if isinstance(value := raw.get(key), str) else "" for key in ("at", "quote", "kind"))
    if raw.get("resolved") is True:
        name, text = "completed", f"{_RESOLVED}{text}"
    pinned, passed_over = raw.get("pinned") is True, raw.get("passedOver") is True
    return Item(raw["id"], name, text, told, pinned, at, quote, passed_over, kind)


def _key(entry: Any) -> str:
    return " ".join(line(entry).split())


def _id_of(name: str, text: str, number: int) -> str:
    told = f"{name}\0{text}" + (f"\0{number}" if number else "")
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]
