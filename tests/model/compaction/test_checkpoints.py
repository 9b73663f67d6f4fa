"""The checkpoint after a compaction: within its room, and nothing leaves it that is still open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.compaction.checkpoints import DoesNotFit, Done, after, within
from dagentd.model.compaction.items import Item, items_of
from dagentd.model.compaction.local import is_talk
from dagentd.model.compaction.turns import turn
from dagentd.model.documents import Checkpoint
from tests.model.compaction.checkpoints_of import JSON, items

OPEN = ("inProgress", "pending", "blockers")


@given(items(), st.integers(150, 400))
def test_what_is_open_or_pinned_never_leaves_and_the_rest_fits(held: list[Item], limit: int) -> None:
    try:
        kept, left = within(held, limit, len)
    except DoesNotFit as error:
        must = [item for item in held if item.pinned or (item.list in OPEN and not item.resolved)]
        assert 160 + sum(len(str(item.entry)) + 3 for item in must) > limit
        assert str(limit) in str(error)
        return
    gone = [item for item in held if item not in kept]
    assert (len(kept) + left, left) == (len(held), len(gone))
    assert all(not item.pinned and (item.resolved or item.list not in OPEN) for item in gone)
    assert 160 + sum(len(str(item.entry)) + 3 for item in kept) <= limit
    assert kept == [item for item in held if item in kept]


def test_the_oldest_that_is_completed_leaves_first_then_what_is_over_then_the_oldest_decisions() -> None:
    held = [Item("d1", "decisions", "x"), Item("o1", "pending", "x", resolved=True), Item("c1", "completed", "x"),
            Item("c2", "completed", "x"), Item("d2", "decisions", "x", pinned=True), Item("d3", "decisions",
            "x")]  # fmt: skip
    kept = [" ".join(item.id for item in within(held, 160 + 4 * n, lambda _: 1)[0]) for n in (6, 5, 4, 3, 2, 1)]
    assert kept == ["d1 o1 c1 c2 d2 d3", "d1 o1 c2 d2 d3", "d1 o1 d2 d3", "d1 d2 d3", "d2 d3", "d2"]


def test_talk_leaves_before_any_decision_and_the_oldest_first() -> None:
    said = ["Use Redis for the cache.", "The demo went quite well.", "Never log tokens.", "Ines walked home again."]
    held = [Item(f"d{at}", "decisions", text) for at, text in enumerate(said)]
    kept = [" ".join(item.id for item in within(held, 160 + 4 * n, lambda _: 1, is_talk)[0]) for n in (4, 3, 2, 1)]
    assert kept == ["d0 d1 d2 d3", "d0 d2 d3", "d0 d2", "d2"]


def done(*texts: str) -> Done:
    said = [turn({"id": text, "role": "user", "content": text, "timestamp": f"2026-01-0{n}T00:00:00Z"})
            for n, text in enumerate(texts, 1)]  # fmt: skip
    return Done("2026-02-01T00:00:00Z", "local", None, 500, 120, said)


def test_what_left_is_counted_over_all_compactions() -> None:
    first = after({}, [Item("a", "decisions", "x")], 3, done("m"), None, "s1")
    second = after(first, [Item("a", "decisions", "x")], 2, done("n", "o"), {"currentIteration": 2}, "s1")
    assert second["summary"]["completed"] == [
        "[5 earlier items left this summary; `dagentd history s1` has what they came from]"
    ]
    assert (second["itemsLeft"], second["stats"]["totalCompactions"], second["stats"]["totalMessages"]) == (5, 2, 3)
    assert second["compactionInfo"]["oldestMessageTimestamp"] < second["compactionInfo"]["newestMessageTimestamp"]
    assert [item.id for item in items_of(second)] == ["a"]


def test_fields_that_others_wrote_live() -> None:
    before = {"theirs": 1, "summary": {"notes": "n", "pending": ["x"]}, "tokens": {"own": 2}, "dagentd": {"pos": 1}}
    found = after(before, items_of(before), 0, done("m"), None, "s")
    assert (found["theirs"], found["summary"]["notes"], found["tokens"]["own"]) == (1, "n", 2)
    assert "dagentd" not in found and found["summary"]["pending"] == ["x"]


@given(st.dictionaries(st.sampled_from(["summary", "stats", "tokens", "items", "itemsLeft", "createdAt"]), JSON))
def test_no_checkpoint_is_too_strange_to_go_on_from(before: dict[str, Any]) -> None:
    found = after(before, items_of(before), 1, done("m"), None, "s")
    assert Checkpoint.parse({**found, "version": 1}).summary.completed[0].startswith("[")


@pytest.mark.parametrize("wrong", [-3, True, "7", None, 1.5])
def test_a_count_that_is_none_begins_anew(wrong: Any) -> None:
    found = after({"itemsLeft": wrong, "stats": {"totalCompactions": wrong}}, [], 0, done(), None, "s")
    assert ("itemsLeft" in found, found["stats"]["totalCompactions"]) == (False, 1)
