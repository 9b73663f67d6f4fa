"""The items while `local` works on them, and the operations that it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dagentd.model.compaction.items import Item, new, sources_of
from dagentd.model.compaction.operations import Add, ListName, Move, Operation, Resolve, Supersede

_AGAIN = " (again)"


@dataclass
class _Step:
    kind: type[Add] | type[Move] | type[Resolve] | type[Supersede]
    given: dict[str, str]
    sources: list[str] = field(default_factory=list)


class Draft:
    """Does to its items what `perform` will do, so that an item just added can be superseded by its id."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._held = {item.id: item for item in items}
        self._steps: list[_Step] = []
        self._made_by: dict[str, _Step] = {}

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._held.values()))

    def __len__(self) -> int:
        return len(self._held)

    def get(self, id: str) -> Item | None:
        return self._held.get(id)

    def open(self, name: ListName) -> list[Item]:
        """What stands in that list and may be changed."""
        return [item for item in self if item.list == name and not item.resolved and not item.pinned]

    def add(self, name: ListName, text: str, *sources: str) -> Item:
        """What is there already gets one more source; what was over is open again."""
        item = new(name, text, sources, "")
        held = self._held.get(item.id)
        if held is None:
            return self._made(_Step(Add, {"list": name, "text": item.text}, list(sources)), item)
        if held.resolved and not held.pinned:
            return self.supersede(held, f"{text}{_AGAIN}", *sources)
        self.also(held.id, *sources)
        return held

    def also(self, id: str, *sources: str) -> None:
        """Only what this draft made can take more sources: operations have no way to give them to older items."""
        if id in self._made_by:
            self._made_by[id].sources.extend(sources)

    def supersede(self, item: Item, text: str, *sources: str) -> Item:
        after = new(item.list, text, sources, "")
        if item.pinned or after.id == item.id or item.id not in self._held:
            return item
        del self._held[item.id]
        return self._made(_Step(Supersede, {"item": item.id, "text": after.text}, list(sources)), after)

    def resolve(self, item: Item, *sources: str) -> None:
        if not item.pinned and not item.resolved and item.id in self._held:
            self._made(_Step(Resolve, {"item": item.id}, list(sources)), replace(item, resolved=True))

    def move(self, item: Item, to: ListName, *sources: str) -> None:
        if not item.pinned and item.list != to and item.id in self._held:
            self._made(_Step(Move, {"item": item.id, "to": to}, list(sources)), replace(item, list=to, resolved=False))

    def operations(self) -> list[Operation]:
        return [_operation(step) for step in self._steps]

    def _made(self, step: _Step, item: Item) -> Item:
        self._steps.append(step)
        self._made_by[item.id] = step
        self._held.pop(item.id, None)
        self._held[item.id] = item
        return item


def _operation(step: _Step) -> Operation:
    return step.kind.model_validate({**step.given, "sources": sources_of(step.sources)})


def tokens(text: str) -> int:
    """About what a tokenizer would say: four letters each, one for a sign of another script, and the bullet."""
    return len(text) // 4 + 3 + sum(map("\u2e80".__le__, text))
