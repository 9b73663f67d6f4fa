"""The backend without a model: from items and messages to operations by rules alone, equal ones for equal input."""

from __future__ import annotations

from collections.abc import Sequence

from dagentd.model.compaction.items import Item
from dagentd.model.compaction.local.judging import WEAK, judged
from dagentd.model.compaction.local.reading import Reading
from dagentd.model.compaction.operations import Operation
from dagentd.model.compaction.turns import Turn


def operations(items: Sequence[Item], turns: Sequence[Turn]) -> list[Operation]:
    """What these messages come to. Earlier items stay unless a message shows that they are over."""
    return Reading(items, turns).operations() if turns else []


def is_talk(item: Item) -> bool:
    """Nothing in it shows that it decides or limits something, or says anything definite."""
    rated = judged(item.text, "", True)
    return rated is None or rated[1] == WEAK
