"""The only ways to change a record: add, move, resolve, supersede, drop, set. What is not mentioned stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dagentd.model.compaction.items import Item, Record, new, sources_of

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
    """What should never have been an item."""

    item: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Set:
    """What it is all about, or the next step."""

    field: Literal["goal", "next"]
    text: str
    sources: tuple[str, ...] = ()


OfItem = Add | Move | Resolve | Supersede | Drop
Operation = OfItem | Set


@dataclass(frozen=True)
class Change:
    """What one operation came to; `before` is None for what was added, `after` for what was taken out."""

    kind: Literal["added", "moved", "resolved", "superseded"]
    before: Item | None
    after: Item | None


def perform(record: Record, operations: Iterable[Operation], at: str) -> tuple[Record, list[Change]]:
    """The record afterwards, and what changed among its items."""
    held, changes = {item.id: item for item in record.items}, list[Change]()
    told = {"goal": record.goal, "next": record.next}
    for operation in operations:
        if isinstance(operation, Set):
            told[operation.field] = " ".join(operation.text.split())
        elif (change := _change(held, operation, at)) is not None:
            if change.before is not None:
                del held[change.before.id]
            if change.after is not None:
                held[change.after.id] = change.after
            changes.append(change)
    return Record(tuple(held.values()), **told), changes


def _change(held: Mapping[str, Item], operation: OfItem, at: str) -> Change | None:
    """On an item that is not there it comes to nothing."""
    if isinstance(operation, Add):
        item = new(operation.list, operation.text, operation.sources, at, taken=held)
        item = replace(item, quote=operation.quote, passed_over=operation.passed_over)
        return None if not item.text or _twin(held, item) else Change("added", None, item)
    before = held.get(operation.item)
    if before is None:
        return None
    if isinstance(operation, Move):
        return _moved(held, before, operation)
    if isinstance(operation, Supersede):
        made = new(before.list, operation.text, operation.sources, at, taken=held)
        return _superseded(held, before, replace(made, quote=operation.quote))
    return Change("resolved", before, None)


def _moved(held: Mapping[str, Item], before: Item, operation: Move) -> Change | None:
    text, sources = " ".join(operation.text.split()) or before.text, (*before.sources, *operation.sources)
    quote = operation.quote if operation.text else before.quote
    after = replace(before, list=operation.to, text=text, quote=quote, sources=sources_of(sources), passed_over=False,
                    kind="", shown=None if operation.text else before.shown)  # fmt: skip
    twin = _twin(held, after)
    if twin is before:
        return None
    return Change("moved", before, after) if twin is None else Change("resolved", before, None)  # it is there already


def _superseded(held: Mapping[str, Item], before: Item, after: Item) -> Change | None:
    """What is there already takes the place of both, with what is known of it."""
    twin = _twin(held, after)
    if twin is before or not after.text:
        return None
    if twin is not None:
        after = replace(twin, sources=sources_of((*twin.sources, *after.sources)))
    return Change("superseded", before, replace(after, pinned=after.pinned or before.pinned))


def _twin(held: Mapping[str, Item], item: Item) -> Item | None:
    """The same text in the same list."""
    return next((one for one in held.values() if (one.list, one.text) == (item.list, item.text)), None)


def compared(before: Sequence[Item], after: Sequence[Item]) -> list[Change]:
    """What changed between two states of the items, told as if by operations."""
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
