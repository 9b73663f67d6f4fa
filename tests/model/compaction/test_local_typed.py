"""What developers type in passing: the shares below are what the rules reach, so that none is lost unnoticed."""

from __future__ import annotations

import pytest

from tests.model.compaction.typed import kept, reversals


@pytest.mark.parametrize(
    ("name", "least"), [("reversals", 0.88), ("reversals_more", 0.85), ("reversals_last", 0.7)]
)
def test_old_sides_are_gone_and_new_ones_there(name: str, least: float) -> None:
    ends = [each.outcome() for each in reversals(name)]
    assert sum(gone for gone, _ in ends) >= least * len(ends) > 10
    assert sum(there for _, there in ends) >= 0.95 * len(ends)


@pytest.mark.parametrize(
    ("name", "kind", "least"),
    [
        ("statements", "u: ", 0.95),
        ("statements_more", "u: ", 0.95),
        ("statements_chatty", "u: ", 0.9),
        ("statements", "a: ", 0.9),
        ("statements_more", "a: ", 0.7),
    ],
)
def test_statements_are_kept(name: str, kind: str, least: float) -> None:
    found = kept(name, kind)
    assert sum(found) >= least * len(found) > 10


@pytest.mark.parametrize(("name", "most"), [("statements", 0.1), ("statements_more", 0.3)])
def test_talk_is_not(name: str, most: float) -> None:
    found = kept(name, "x: ")
    assert sum(found) <= most * len(found)
    assert len(found) > 10
