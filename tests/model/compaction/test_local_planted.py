"""Planted facts: what is left of them after five rounds, within the room of a checkpoint.

The figures of more sessions: `python -m tests.model.compaction.measuring`."""

from __future__ import annotations

import pytest

from tests.model.compaction.conversations import INJECTED, PARTS, conversation
from tests.model.compaction.measuring import ROOM, compacted, fitted, measured


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("each", [12, 28])
def test_decisions_and_limits_are_kept_and_nearly_all_else(part: int, each: int) -> None:
    found = measured(part, 2, each)
    assert found.share("decision", "reversal", "constrain") >= 0.95
    assert found.share("only newest") >= 0.95
    for kind in ("number", "place", "wish", "error", "file"):
        assert found.share(kind) >= 0.9, kind


def test_every_item_has_a_source_and_none_came_from_a_tools_text() -> None:
    items = compacted(conversation(5, 1))
    assert all(item.sources for item in items)
    assert not any("MongoDB" in item.text for item in items)
    assert "MongoDB" in INJECTED


def test_what_does_not_fit_leaves() -> None:
    items = compacted(conversation(5, 1, each=28))
    doubled = [*items, *(type(item)(f"x{item.id}", item.list, f"{item.text} again", ("m",)) for item in items)]
    left = fitted([*doubled, *(type(item)(f"y{item.id}", item.list, f"{item.text} more", ("m",)) for item in items)])
    assert len(left) < 3 * len(items)
    assert ROOM == 5161
