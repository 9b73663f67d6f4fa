"""The items while `local` works on them, and the operations that it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dagentd.model.compaction.items import Item, new, sources_of
from dagentd.model.compaction.operations import Add, Items, ListName, Move, Operation, Resolve, Supersede


@dataclass
class _Step:
    kind: type[Add] | type[Move] | type[Resolve] | type[Supersede]
    given: dict[str, str]
    sources: list[str] = field(default_factory=list)

    def operation(self) -> Operation:
        return self.kind.model_validate({**self.given, "sources": sources_of(self.sources)})


class Draft:
    """Performs each step at once, so that an item just added can be superseded by its id."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._held = Items(items)
        self._steps: list[_Step] = []
        self._made_by: dict[str, _Step] = {}

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._held.by_id.values()))

    def __len__(self) -> int:
        return len(self._held.by_id)

    def get(self, id: str) -> Item | None:
        return self._held.by_id.get(id)

    def open(self, name: ListName) -> list[Item]:
        """What stands in that list and may be changed."""
        return [item for item in self if item.list == name and not item.resolved and not item.pinned]

    def add(self, name: ListName, text: str, *sources: str) -> Item:
        """What is there already gets one more source; what was over is open again, what was completed is asked anew."""
        item = new(name, text, (), "")
        over = self.get(item.id)
        if over is not None and over.resolved and over.list == name:
            return self._do(_Step(Move, {"item": over.id, "to": name}, list(sources))) or over
        if (twin := self._held.twin(item)) is not None:
            self.also(twin.id, *sources)
            return twin
        return self._do(_Step(Add, {"list": name, "text": item.text}, list(sources))) or item

    def also(self, id: str, *sources: str) -> None:
        """Only what this draft made can take more sources: operations have no way to give them to older items."""
        if id in self._made_by:
            self._made_by[id].sources.extend(sources)

    def supersede(self, item: Item, text: str, *sources: str) -> Item:
        if item.pinned:
            return item
        return self._do(_Step(Supersede, {"item": item.id, "text": text}, list(sources))) or item

    def resolve(self, item: Item, *sources: str) -> None:
        if not item.pinned:
            self._do(_Step(Resolve, {"item": item.id}, list(sources)))

    def move(self, item: Item, to: ListName, *sources: str) -> None:
        if not item.pinned:
            self._do(_Step(Move, {"item": item.id, "to": to}, list(sources)))

    def operations(self) -> list[Operation]:
        return [step.operation() for step in self._steps]

    def _do(self, step: _Step) -> Item | None:
        """The item that it made; nothing where it came to nothing."""
        change = self._held.do(step.operation(), "")
        if change is None:
            return None
        self._steps.append(step)
        self._made_by[change.after.id] = step
        return change.after


def tokens(text: str) -> int:
    """About what a tokenizer would say: four letters each, one for a sign of another script, and the bullet."""
    return len(text) // 4 + 3 + sum(map("\u2e80".__le__, text))
