"""How many planted facts are left after rounds of compaction, within the room of a checkpoint.

python -m tests.model.compaction.measuring     prints the figures"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dagentd.adapters import tokens
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local import operations
from dagentd.model.compaction.operations import perform
from dagentd.model.compaction.turns import turn
from tests.model.compaction.conversations import PARTS, Conversation, conversation

ROOM = int(8000 / 1.55)  # checkpoint_tokens, calibrated
_LEAVING: tuple[Callable[[Item], bool], ...] = (
    lambda item: item.list == "completed" and not item.resolved,
    lambda item: item.resolved,
    lambda item: item.list == "decisions",
)


@dataclass
class Figures:
    kept: Counter[str] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, kept: bool) -> None:
        self.planted[kind] += 1
        self.kept[kind] += kept

    def share(self, *kinds: str) -> float:
        return sum(self.kept[kind] for kind in kinds) / max(1, sum(self.planted[kind] for kind in kinds))


def compacted(told: Conversation, rounds: int = 5) -> list[Item]:
    """As the engine does it: operations, then what does not fit leaves."""
    items: list[Item] = []
    size = len(told.messages)
    for at in range(rounds):
        turns = [turn(raw) for raw in told.messages[size * at // rounds : size * (at + 1) // rounds]]
        items = fitted(perform(items, operations(items, turns), "")[0])
    return items


def fitted(items: Sequence[Item]) -> list[Item]:
    sizes = {item.id: tokens.count(f"- {item.entry}\n") for item in items}
    over, left = sum(sizes.values()) - ROOM, set()
    for leaves in _LEAVING:
        for item in items:
            if over > 0 and leaves(item) and not item.pinned and item.id not in left:
                left.add(item.id)
                over -= sizes[item.id]
    return [item for item in items if item.id not in left]


def measured(part: int, seeds: int, each: int) -> Figures:
    figures = Figures()
    for seed in range(seeds):
        told = conversation(seed, part, each=each)
        texts = [str(item.entry) for item in compacted(told)]
        for fact in told.facts:
            figures.count(fact.kind, any(fact.needle in text for text in texts))
            if fact.gone:
                figures.count("only newest", not any(fact.gone.rstrip(".") in text for text in texts))
    return figures


if __name__ == "__main__":
    for part in range(PARTS):
        for each in (12, 28):
            found = measured(part, 8, each)
            shares = ", ".join(f"{kind} {found.share(kind):.1%}" for kind in found.planted)
            sys.stdout.write(f"part {part}, {sum(found.planted.values()) // 8} facts a session: {shares}\n")
