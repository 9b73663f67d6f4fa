"""The items of a checkpoint: each entry of the summary's five lists with an id, its sources and whether it is pinned.

The lists are what every program reads and may edit; the items stand beside them and say more about each entry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
        if self.shown is not None:
            return self.shown
        return f"{_RESOLVED}{self.text}" if self.resolved else self.text

    def raw(self) -> dict[str, Any]:
        flags = {key: True for key, set in (("pinned", self.pinned), ("resolved", self.resolved)) if set}
        return {"id": self.id, "list": self.list, "text": self.text, "sources": list(self.sources)} | flags | (
            {"at": self.at} if self.at else {}
        )


def new(name: str, text: str, sources: Iterable[str], at: str) -> Item:
    """The same text in the same list is the same item, here and on another machine."""
    flat = " ".join(text.split())
    return Item(_id_of(name, flat), name, flat, sources_of(sources), at=at)


def sources_of(ids: Iterable[str]) -> tuple[str, ...]:
    """Each once, and of many the first and the last."""
    every = tuple(dict.fromkeys(ids))
    half = MAX_SOURCES // 2
    return every if len(every) <= MAX_SOURCES else every[:half] + every[-half:]


def items_of(checkpoint: Mapping[str, Any] | None) -> list[Item]:
    """One for each entry of the lists. What another program added has no sources; what it took away is gone, unless it
    was pinned; what it moved to another list is still the same item."""
    summary = (checkpoint or {}).get("summary")
    lists: Mapping[str, Any] = summary if isinstance(summary, Mapping) else {}
    known = _known((checkpoint or {}).get("items"))
    by_entry = {_key(item.entry): item for item in known}
    found: dict[str, Item] = {}
    for name in LISTS:
        entries = lists.get(name)
        for entry in entries if isinstance(entries, list) else []:
            if (item := _item(name, entry, by_entry)) is not None:
                found.setdefault(item.id, item)
    return [*found.values(), *(item for item in known if item.pinned and item.id not in found)]


def summary_of(items: Sequence[Item], left: int = 0, find: str = "") -> dict[str, list[Any]]:
    """The five lists. What was resolved stands with the completed ones; `left` items are not among these any more,
    and one line says so."""
    lists: dict[str, list[Any]] = {name: [] for name in LISTS}
    for item in items:
        lists["completed" if item.resolved else item.list].append(item.entry)
    if left:
        lists["completed"].insert(0, f"[{left} earlier item{'s' if left > 1 else ''} left this summary; {find}]")
    return lists


def _item(name: str, entry: Any, by_entry: Mapping[str, Item]) -> Item | None:
    text = line(entry)
    if not text or (isinstance(entry, str) and _NOTE.match(entry)):
        return None
    known = by_entry.get(_key(entry))
    if known is None:
        return replace(new(name, text, (), ""), shown=None if entry == text else entry)
    listed = "completed" if known.resolved else known.list
    return known if name == listed else replace(known, list=name, resolved=False)


def _known(raw: Any) -> list[Item]:
    return [item for each in (raw if isinstance(raw, list) else []) if (item := _parsed(each)) is not None]


def _parsed(raw: Any) -> Item | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str) or not isinstance(raw.get("text"), str):
        return None
    name, sources = raw.get("list"), raw.get("sources")
    if name not in LISTS:
        return None
    told = tuple(one for one in sources if isinstance(one, str)) if isinstance(sources, list) else ()
    at = raw.get("at") if isinstance(raw.get("at"), str) else ""
    return Item(raw["id"], name, raw["text"], told, raw.get("pinned") is True, raw.get("resolved") is True, str(at))


def _key(entry: Any) -> str:
    return " ".join(line(entry).split())


def _id_of(name: str, text: str) -> str:
    return hashlib.sha256(f"{name}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
