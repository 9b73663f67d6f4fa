"""What developers type in passing: the shares below are what the rules reach, so that none is lost unnoticed."""

from __future__ import annotations

import pytest

from tests.model.compaction.said import assistant, user
from tests.model.compaction.typed import bystanders, kept, open_ids, reversals


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("reversals", 0.9),
        ("reversals_more", 0.9),
        ("reversals_last", 0.7),
        ("reversals_long", 0.9),
        ("reversals_plain", 0.8),
        ("reversals_mixed", 0.9),
    ],
)
def test_old_sides_are_gone_and_new_ones_there(name: str, least: float) -> None:
    ends = [each.outcome() for each in reversals(name)]
    assert sum(gone for gone, _ in ends) >= least * len(ends) > 10
    assert sum(there for _, there in ends) >= 0.92 * len(ends)


@pytest.mark.parametrize(("earlier", "later"), bystanders())
def test_neither_of_two_near_topics_takes_the_place_of_the_other(earlier: str, later: str) -> None:
    for first, second in ((earlier, later), (later, earlier)):
        alone = open_ids(user(first))
        assert alone <= open_ids(user(first), assistant("On with the parser."), user(second))


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
