"""The items of a checkpoint: each entry of the summary's five lists with an id, its sources and whether it is pinned.

The lists are what every program reads and may edit; the items stand beside them and say more about each entry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from dagentd.model.rendering import line

LISTS = ("completed", "inProgress", "pending", "blockers", "decisions")
MAX_SOURCES = 8  # of one item: the first and the last ones say where it came from
_RESOLVED = "No longer open: "
_NOTE = re.compile(r"\[\d+ earlier items? left this summary")


@dataclass(frozen=True)
class Item:
    """`sources` are ids of messages. A `resolved` one is over without having been completed. `shown` is the entry as
    another program wrote it, where that is no text."""

    id: str
    list: str
    text: str
    sources: tuple[str, ...] = ()
    pinned: bool = False
    resolved: bool = False
    at: str = ""
    shown: Any = None

    @property
    def entry(self) -> Any:
        """As it stands in its list."""
        if self.resolved:
            return f"{_RESOLVED}{self.text}"
        return self.text if self.shown is None else self.shown

    @property
    def listed(self) -> str:
        """The list that it stands in."""
        return "completed" if self.resolved else self.list

    def raw(self) -> dict[str, Any]:
        flags = {key: True for key, set in (("pinned", self.pinned), ("resolved", self.resolved)) if set}
        return (
            {"id": self.id, "list": self.list, "text": self.text, "sources": list(self.sources)}
            | flags
            | ({"at": self.at} if self.at else {})
        )


def new(name: str, text: str, sources: Iterable[str], at: str, taken: Container[str] = ()) -> Item:
    """The same text in the same list is the same item, here and on another machine; unless its id is `taken` by one
    that came to another list."""
    flat = " ".join(text.split())
    free = next(each for each in (_id_of(name, flat, number) for number in count()) if each not in taken)
    return Item(free, name, flat, sources_of(sources), at=at)


def sources_of(ids: Iterable[str]) -> tuple[str, ...]:
    """Each once, and of many the first and the last."""
    every = tuple(dict.fromkeys(ids))
    half = MAX_SOURCES // 2
    return every if len(every) <= MAX_SOURCES else every[:half] + every[-half:]


def items_of(checkpoint: Mapping[str, Any] | None) -> list[Item]:
    """One for each entry of the lists. What another program added has no sources; what it took away is gone, unless it
    was pinned; what it moved to another list is still the same item."""
    entries = _entries((checkpoint or {}).get("summary"))
    known = _known((checkpoint or {}).get("items"))
    unclaimed = {(item.listed, _key(item.entry)): item for item in reversed(known)}
    claimed = {place: unclaimed.pop(place) for place in entries if place in unclaimed}
    moved = {key: item for (_, key), item in unclaimed.items()}
    found: dict[str, Item] = {}
    for (name, key), entry in entries.items():
        item = claimed.get((name, key)) or moved.pop(key, None)
        if item is None:
            item = new(name, key, (), "", taken={*(one.id for one in known), *found})
        elif item.listed != name:
            item = replace(item, list=name, resolved=False)
        found[item.id] = replace(item, shown=None if entry == item.entry else entry)
    return [*found.values(), *(item for item in known if item.pinned and item.id not in found)]


def summary_of(items: Sequence[Item], left: int = 0, find: str = "") -> dict[str, list[Any]]:
    """The five lists. What was resolved stands with the completed ones; `left` items are not among these any more,
    and one line says so."""
    lists: dict[str, list[Any]] = {name: [] for name in LISTS}
    for item in items:
        lists[item.listed].append(item.entry)
    if left:
        lists["completed"].insert(0, f"[{left} earlier item{'s' if left > 1 else ''} left this summary; {find}]")
    return lists


def _entries(summary: Any) -> dict[tuple[str, str], Any]:
    """What stands in the lists, each once; the line that says how many left is no entry."""
    lists: Mapping[str, Any] = summary if isinstance(summary, Mapping) else {}
    return {(name, _key(entry)): entry for name in LISTS for entry in _list(lists.get(name)) if _is_item(entry)}


def _is_item(entry: Any) -> bool:
    return bool(_key(entry)) and not (isinstance(entry, str) and _NOTE.match(entry))


def _known(raw: Any) -> list[Item]:
    """Each id once: who edited them by hand may have copied one."""
    found: dict[str, Item] = {}
    for item in filter(None, map(_parsed, _list(raw))):
        own = item if item.id not in found else replace(item, id=new(item.list, item.text, (), "", taken=found).id)
        found[own.id] = own
    return list(found.values())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parsed(raw: Any) -> Item | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str) or not isinstance(raw.get("text"), str):
        return None
    name, sources = raw.get("list"), raw.get("sources")
    if name not in LISTS or not raw["text"].strip():
        return None
    told = tuple(one for one in sources if isinstance(one, str)) if isinstance(sources, list) else ()
    at = raw.get("at") if isinstance(raw.get("at"), str) else ""
    flags = raw.get("pinned") is True, raw.get("resolved") is True
    return Item(raw["id"], name, raw["text"], sources_of(told), *flags, str(at))


def _key(entry: Any) -> str:
    return " ".join(line(entry).split())


def _id_of(name: str, text: str, number: int) -> str:
    told = f"{name}\0{text}" + (f"\0{number}" if number else "")
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]
