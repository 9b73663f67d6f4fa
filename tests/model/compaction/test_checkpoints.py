"""The checkpoint after a compaction: within its room, and with all that others wrote beside it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.compaction.checkpoints import Done, after, within
from dagentd.model.compaction.items import Item, Record, items_of, record_of
from dagentd.model.compaction.turns import turn
from dagentd.model.documents import Checkpoint
from tests.model.compaction.checkpoints_of import JSON, items


@given(items(), st.integers(150, 400))
def test_what_is_pinned_never_leaves_and_the_rest_fits(held: list[Item], limit: int) -> None:
    record, left = within(Record(tuple(held), "goal"), limit, len)
    kept, gone = list(record.items), [item for item in held if item not in record.items]
    assert (len(kept) + left, left, record.goal) == (len(held), len(gone), "goal")
    assert not any(item.pinned for item in gone)
    used = 165 + sum(len(f"{item.entry} {item.quote}") + 3 for item in kept)
    assert used <= limit or all(item.pinned for item in kept)
    assert kept == [item for item in held if item in kept]


def test_the_oldest_that_is_completed_leaves_first_and_decisions_last() -> None:
    held = (Item("d1", "decisions", "x"), Item("f1", "facts", "x"), Item("c1", "completed", "x"), Item("p1", "pending",
            "x"), Item("c2", "completed", "x"), Item("d2", "decisions", "x", pinned=True), Item("d3", "decisions",
            "x"))  # fmt: skip
    limits = (161 + 4 * n for n in range(7, 0, -1))
    kept = [" ".join(item.id for item in within(Record(held), limit, lambda _: 1)[0].items) for limit in limits]
    assert kept == ["d1 f1 c1 p1 c2 d2 d3", "d1 f1 p1 c2 d2 d3", "d1 f1 p1 d2 d3", "d1 p1 d2 d3", "d1 d2 d3", "d2 d3",
                    "d2"]  # fmt: skip


def done(*texts: str) -> Done:
    said = [turn({"id": text, "role": "user", "content": text, "timestamp": f"2026-01-0{n}T00:00:00Z"})
            for n, text in enumerate(texts, 1)]  # fmt: skip
    return Done("2026-02-01T00:00:00Z", "local", None, 500, 120, said)


def test_what_left_is_counted_over_all_compactions() -> None:
    first = after({}, Record((Item("a", "decisions", "x"),)), 3, done("m"), None, "s1")
    second = after(first, Record((Item("a", "decisions", "x"),)), 2, done("n", "o"), {"currentIteration": 2}, "s1")
    assert second["summary"]["completed"] == [
        "[5 earlier items left this summary; `dagentd history s1` has what they came from]"
    ]
    assert (second["itemsLeft"], second["stats"]["totalCompactions"], second["stats"]["totalMessages"]) == (5, 2, 3)
    assert second["compactionInfo"]["oldestMessageTimestamp"] < second["compactionInfo"]["newestMessageTimestamp"]
    assert [item.id for item in items_of(second)] == ["a"]


def test_fields_that_others_wrote_live() -> None:
    before = {"theirs": 1, "summary": {"notes": "n", "pending": ["x"]}, "tokens": {"own": 2}, "dagentd": {"pos": 1}}
    found = after(before, record_of(before), 0, done("m"), None, "s")
    assert (found["theirs"], found["summary"]["notes"], found["tokens"]["own"]) == (1, "n", 2)
    assert "dagentd" not in found and found["summary"]["pending"] == ["x"]


@given(st.dictionaries(st.sampled_from(["summary", "stats", "tokens", "items", "itemsLeft", "createdAt"]), JSON))
def test_no_checkpoint_is_too_strange_to_go_on_from(before: dict[str, Any]) -> None:
    found = after(before, record_of(before), 1, done("m"), None, "s")
    assert Checkpoint.parse({**found, "version": 1}).summary.completed[0].startswith("[")


@pytest.mark.parametrize("wrong", [-3, True, "7", None, 1.5])
def test_a_count_that_is_none_begins_anew(wrong: Any) -> None:
    found = after({"itemsLeft": wrong, "stats": {"totalCompactions": wrong}}, Record(), 0, done(), None, "s")
    assert ("itemsLeft" in found, found["stats"]["totalCompactions"]) == (False, 1)
