"""The only ways to change a checkpoint's items: add, move, resolve, supersede. What is not mentioned stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from dagentd.model.compaction.items import Item, new, sources_of

ListName = Literal["completed", "inProgress", "pending", "blockers", "decisions"]


class _Form(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, frozen=True)


class Add(_Form):
    op: Literal["add"] = "add"
    list: ListName
    text: str
    sources: tuple[str, ...]


class Move(_Form):
    """From one list to another: work that was pending is in progress, or completed."""

    op: Literal["move"] = "move"
    item: str
    to: ListName
    sources: tuple[str, ...]


class Resolve(_Form):
    """Over without having been completed: a blocker that blocks no more, a request that was withdrawn."""

    op: Literal["resolve"] = "resolve"
    item: str
    sources: tuple[str, ...]


class Supersede(_Form):
    """Replaced by what holds now: a decision that was reversed."""

    op: Literal["supersede"] = "supersede"
    item: str
    text: str
    sources: tuple[str, ...]


Operation = Annotated[Add | Move | Resolve | Supersede, Field(discriminator="op")]


@dataclass(frozen=True)
class Change:
    """What one operation came to; `before` is None for what was added."""

    kind: Literal["added", "moved", "resolved", "superseded"]
    before: Item | None
    after: Item


class Items:
    """The items by id, and by where they are open: a long session has thousands of them."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.by_id: dict[str, Item] = {}
        self._open: dict[tuple[str, str], Item] = {}
        for item in items:
            self._put(item)

    def twin(self, item: Item) -> Item | None:
        """The same text, open in the same list."""
        return self._open.get((item.list, item.text))

    def do(self, operation: Operation, at: str) -> Change | None:
        """What it came to; on an item that is not there it comes to nothing."""
        change = _change(self, operation, at)
        if change is None:
            return None
        if change.before is not None:
            self._remove(change.before)
        self._put(change.after)
        return change

    def _put(self, item: Item) -> None:
        self.by_id[item.id] = item
        if not item.resolved:
            self._open[item.list, item.text] = item

    def _remove(self, item: Item) -> None:
        del self.by_id[item.id]
        if self.twin(item) is item:
            del self._open[item.list, item.text]


def perform(items: Sequence[Item], operations: Iterable[Operation], at: str) -> tuple[list[Item], list[Change]]:
    """The items afterwards and what changed."""
    held = Items(items)
    changes = [change for operation in operations if (change := held.do(operation, at)) is not None]
    return list(held.by_id.values()), changes


def _change(held: Items, operation: Operation, at: str) -> Change | None:
    if isinstance(operation, Add):
        item = new(operation.list, operation.text, operation.sources, at, taken=held.by_id)
        return None if not item.text or held.twin(item) else Change("added", None, item)
    before = held.by_id.get(operation.item)
    if before is None:
        return None
    sources = sources_of((*before.sources, *operation.sources))
    if isinstance(operation, Move):
        after = replace(before, list=operation.to, sources=sources, resolved=False)
        return None if before.listed == operation.to else Change("moved", before, after)
    if isinstance(operation, Resolve):
        return None if before.resolved else Change("resolved", before, replace(before, sources=sources, resolved=True))
    return _superseded(held, before, new(before.list, operation.text, operation.sources, at, taken=held.by_id))


def _superseded(held: Items, before: Item, after: Item) -> Change | None:
    """What is there already takes the place of both, with what is known of it."""
    twin = held.twin(after)
    if twin is before or not after.text:
        return None
    if twin is not None:
        after = replace(twin, sources=sources_of((*twin.sources, *after.sources)))
    return Change("superseded", before, replace(after, pinned=after.pinned or before.pinned))
