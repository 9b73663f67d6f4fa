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


def perform(items: Sequence[Item], operations: Iterable[Operation], at: str) -> tuple[list[Item], list[Change]]:
    """The items afterwards and what changed; operations on items that are not there come to nothing."""
    held = {item.id: item for item in items}
    changes = []
    for operation in operations:
        change = _change(held, operation, at)
        if change is None:
            continue
        changes.append(change)
        if change.before is not None:
            held.pop(change.before.id)
        held[change.after.id] = change.after
    return list(held.values()), changes


def _change(held: dict[str, Item], operation: Operation, at: str) -> Change | None:
    if isinstance(operation, Add):
        item = new(operation.list, operation.text, operation.sources, at, taken=held)
        return None if not item.text or _twin(held, item) else Change("added", None, item)
    before = held.get(operation.item)
    if before is None:
        return None
    sources = sources_of((*before.sources, *operation.sources))
    if isinstance(operation, Move):
        after = replace(before, list=operation.to, sources=sources, resolved=False)
        return None if before.listed == operation.to else Change("moved", before, after)
    if isinstance(operation, Resolve):
        return None if before.resolved else Change("resolved", before, replace(before, sources=sources, resolved=True))
    return _superseded(held, before, new(before.list, operation.text, operation.sources, at, taken=held))


def _superseded(held: dict[str, Item], before: Item, after: Item) -> Change | None:
    """What is there already takes the place of both, with what is known of it."""
    twin = _twin(held, after)
    if twin is before or not after.text:
        return None
    if twin is not None:
        after = replace(twin, sources=sources_of((*twin.sources, *after.sources)))
    return Change("superseded", before, replace(after, pinned=after.pinned or before.pinned))


def _twin(held: dict[str, Item], item: Item) -> Item | None:
    """The same text, open in the same list."""
    same = (each for each in held.values() if (each.list, each.text) == (item.list, item.text))
    return next((each for each in same if not each.resolved), None)
