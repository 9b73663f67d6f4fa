"""The only ways to change a record: add, move, resolve, supersede, drop, set. What is not mentioned stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from dagentd.model.compaction.items import Item, Record, new, sources_of
from dagentd.model.jsontext import Undecodable

ListName = Literal["completed", "inProgress", "pending", "blockers", "decisions", "facts"]


@dataclass(frozen=True)
class Add:
    list: ListName
    text: str
    sources: tuple[str, ...]
    quote: str = ""
    passed_over: bool = False


@dataclass(frozen=True)
class Move:
    """From one list to another, in other words if there are any: what was asked for was done, with what came of it."""

    item: str
    to: ListName
    sources: tuple[str, ...]
    text: str = ""
    quote: str = ""


@dataclass(frozen=True)
class Resolve:
    """Over without having been completed: a blocker that blocks no more, a request that was withdrawn."""

    item: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Supersede:
    """Replaced by what holds now: a decision that was reversed, several items merged into one."""

    item: str
    text: str
    sources: tuple[str, ...]
    quote: str = ""


@dataclass(frozen=True)
class Drop:
    """Taken out: it should never have been an item."""

    item: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Set:
    """The goal of it all, or the next step, in new words."""

    field: Literal["goal", "next"]
    text: str
    sources: tuple[str, ...] = ()


Operation = Add | Move | Resolve | Supersede | Drop | Set


def perform(record: Record, operations: Iterable[Operation], at: str) -> Record:
    """The record afterwards. What changed comes last."""
    held, told = {item.id: item for item in record.items}, {"goal": record.goal, "next": record.next}
    for operation in operations:
        if isinstance(operation, Set):
            told[operation.field] = " ".join(operation.text.split())
        elif isinstance(operation, Add):
            item = new(operation.list, operation.text, operation.sources, at, taken=held)
            item = replace(item, quote=operation.quote, passed_over=operation.passed_over)
            if item.text and _twin(held, item) is None:
                held[item.id] = item
        elif (before := held.get(operation.item)) is not None:  # on one that is not there it comes to nothing
            _change(held, before, operation, at)
    return Record(tuple(held.values()), **told)


def _change(held: dict[str, Item], before: Item, operation: Move | Resolve | Supersede | Drop, at: str) -> None:
    """It is the same item in another list or in other words; if another says that already, it is there once."""
    if isinstance(operation, Resolve | Drop):
        del held[before.id]
        return
    if isinstance(operation, Move):
        after = _moved(before, operation)
    else:
        made = new(before.list, operation.text, operation.sources, at)
        after = replace(made, id=before.id, quote=operation.quote, pinned=before.pinned)
    twin = _twin(held, after)
    if after.text and twin is not before:
        del held[before.id]
        if twin is None:
            held[after.id] = after
        elif isinstance(operation, Supersede):
            sources = sources_of((*twin.sources, *after.sources))
            held[twin.id] = replace(twin, sources=sources, pinned=twin.pinned or before.pinned)


def _moved(before: Item, operation: Move) -> Item:
    text, sources = " ".join(operation.text.split()) or before.text, (*before.sources, *operation.sources)
    return replace(before, list=operation.to, text=text, quote=operation.quote if operation.text else before.quote,
                   sources=sources_of(sources), passed_over=False, kind="",
                   shown=None if operation.text else before.shown)  # fmt: skip


def _twin(held: Mapping[str, Item], item: Item) -> Item | None:
    """The same text in the same list."""
    return next((one for one in held.values() if (one.list, one.text) == (item.list, item.text)), None)


@dataclass(frozen=True)
class Change:
    """A change of an item; `before` is None for what was added, `after` for what was taken out."""

    kind: Literal["added", "moved", "resolved", "superseded"]
    before: Item | None
    after: Item | None


def compared(before: Sequence[Item], after: Sequence[Item]) -> list[Change]:
    """The changes between two states: an item that came and was replaced in between was never seen by anybody."""
    old, now = {item.id: item for item in before}, {item.id: item for item in after}
    found = [Change("resolved", item, None) for item in before if item.id not in now]
    for item in after:
        known = old.get(item.id)
        if known is None:
            found.append(Change("added", None, item))
        elif known.list != item.list:
            found.append(Change("moved", known, item))
        elif known.text != item.text:
            found.append(Change("superseded", known, item))
    return found


# From what a model answered to operations: JSON wherever it stands, each operation read for itself.

Raw = Mapping[str, Any]

_MOST = 1000  # operations of one answer, and places at which one may begin
_LISTS: dict[str, ListName] = {name.lower(): name for name in get_args(ListName)}
_OF_AN_OPERATION = ("op", "item", "text", "list", "to", "goal", "next")
_BEGINNING = re.compile(r"\{|\[(?=\s*[{\]])")  # of a list only where it may hold operations: prose has brackets
_decoder = json.JSONDecoder(strict=False)  # a line end within a text is no reason to lose it


def operations_in(text: str) -> list[Raw] | None:
    """The operations of an answer, as written, without what is broken; None if it has no JSON that could hold any."""
    values = [*_values(text)]
    listed = [one for value in values for one in _listed(value)]
    return listed[:_MOST] if listed or any(isinstance(value, list) for value in values) else None


def _values(text: str) -> Iterator[Any]:
    at, tries = 0, 0
    while (match := _BEGINNING.search(text, at)) and tries < _MOST:
        try:
            value, at = _decoder.raw_decode(text, match.start())
            held = value.get("operations") if isinstance(value, dict) else None  # a list of them may be a field
            yield held if isinstance(held, list) else value
        except (ValueError, RecursionError):
            at, tries = match.end(), tries + 1


def _listed(value: Any) -> list[Raw]:
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)]
    return [value] if isinstance(value, dict) and any(key in value for key in _OF_AN_OPERATION) else []


def parse_operation(raw: Raw) -> Operation:
    """One of them; Undecodable if that cannot be told. Which it is follows from its fields where it does not say so."""
    kind = _text(raw, "op").lower() or _inferred(raw)
    sources = _sources(raw.get("sources", raw.get("source")))
    text, quote = _text(raw, "text"), _text(raw, "quote")
    if kind == "add":
        return Add(_list(raw, "list", "to"), text, sources, quote)
    if kind == "set":
        field = _text(raw, "field") or ("goal" if "goal" in raw else "next" if "next" in raw else "")
        if field not in ("goal", "next"):
            raise Undecodable("set is of goal or next")
        return Set("goal" if field == "goal" else "next", text or _text(raw, field), sources)
    item = _text(raw, "item", "id").strip("[]")
    if not item:
        raise Undecodable("it names no item" if kind in ("move", "resolve", "supersede", "drop") else "unknown op")
    if kind == "move":
        return Move(item, _list(raw, "to", "list"), sources, text, quote)
    if kind == "supersede":
        return Supersede(item, text, sources, quote)
    if kind == "resolve":
        return Resolve(item, sources)
    if kind == "drop":
        return Drop(item, sources)
    raise Undecodable("unknown op")


def _inferred(raw: Raw) -> str:
    if "field" in raw or "goal" in raw or ("next" in raw and "text" not in raw):
        return "set"
    if "item" not in raw:
        return "add"
    return "move" if "to" in raw or "list" in raw else "supersede" if raw.get("text") else "resolve"


def _list(raw: Raw, *keys: str) -> ListName:
    name = re.sub(r"[\s_-]", "", _text(raw, *keys)).lower()
    if name not in _LISTS:
        raise Undecodable(f"there is no list {_text(raw, *keys)[:40]!a}")
    return _LISTS[name]


def _sources(value: Any) -> tuple[str, ...]:
    """A list, or names in one text; a bare number is the name without its letter."""
    values = value if isinstance(value, list) else re.split(r"[\s,;]+", value) if isinstance(value, str) else [value]
    named = (str(one).strip("[] ") for one in values if isinstance(one, str | int) and not isinstance(one, bool))
    return tuple(dict.fromkeys(f"m{one}" if one.isdecimal() else one for one in named if one))


def _text(raw: Raw, *keys: str) -> str:
    """The first that is there. Half a character, which JSON can spell and UTF-8 cannot hold, becomes a mark."""
    found = next((raw[key] for key in keys if isinstance(raw.get(key), str)), "")
    return found.encode("utf-8", "replace").decode().strip()
