"""The items beside the lists: what the lists say, with an id, sources and pins, whoever wrote them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dagentd.model.compaction.items import (
    LISTS,
    MAX_SOURCES,
    Item,
    Record,
    items_of,
    new,
    record_of,
    sources_of,
    summary_of,
)
from tests.model.compaction.checkpoints_of import JSON, items, summary


def written(held: list[Item], **changes: Any) -> dict[str, Any]:
    return {"summary": summary_of(Record(tuple(held))), "items": [item.raw() for item in held], **changes}


@given(items())
@example([Item("a", "completed", "run tests"), Item("b", "pending", "run tests")])
def test_what_is_written_is_read_again(held: list[Item]) -> None:
    """Every item, with its id, its list, its sources, its quote, and whether it is pinned."""
    assert {item.id: item for item in items_of(written(held))} == {item.id: item for item in held}


@given(items(), st.data())
def test_what_others_add_has_no_sources_and_what_they_take_away_is_gone_unless_pinned(
    held: list[Item], data: st.DataObject
) -> None:
    checkpoint = written(held)
    gone = data.draw(st.sampled_from(held)) if held else None
    if gone is not None:
        checkpoint["summary"][gone.list].remove(gone.entry)
    checkpoint["summary"]["pending"].append("something entirely new")
    found = items_of(checkpoint)
    kept = [item for item in held if item is not gone or item.pinned]
    assert {item.id for item in kept} <= {item.id for item in found}
    (added,) = [item for item in found if item.text == "something entirely new"]
    assert (added.list, added.sources, len(found)) == ("pending", (), len(kept) + 1)


@given(JSON, JSON)
@example({"pending": [{"text": "x"}, 3, None, "", [], True]}, [{"id": "a", "text": "x", "list": []}])
def test_nothing_that_stands_in_a_checkpoint_is_too_strange(lists: Any, held: Any) -> None:
    for checkpoint in ({"summary": lists, "items": held}, {"summary": dict.fromkeys(LISTS, lists), "items": [held]}):
        found = items_of(checkpoint)
        assert len({item.id for item in found}) == len(found)
        assert len(
            items_of({"summary": summary_of(Record(tuple(found))), "items": [item.raw() for item in found]})
        ) == len(found)


def test_what_another_program_moved_is_the_same_item() -> None:
    item = Item("a", "pending", "run tests", ("m1",))
    assert items_of({**summary(completed=["run tests"]), "items": [item.raw()]}) == [replace(item, list="completed")]


def test_the_same_text_in_two_lists_is_two_items() -> None:
    done, wanted = Item("a", "completed", "run tests", ("m1",)), Item("b", "pending", "run tests", ("m2",), pinned=True)
    assert items_of(written([done, wanted])) == [done, wanted]
    first, second = items_of(summary(completed=["run tests"], pending=["run tests"]))
    assert first.id != second.id


def test_what_is_asked_for_again_by_another_program_is_another_item() -> None:
    """The first one keeps its id although it stands in another list by now."""
    done = replace(new("pending", "run tests", ("m1",), ""), list="completed")
    checkpoint = written([done])
    checkpoint["summary"]["pending"].append("run tests")
    found = items_of(checkpoint)
    assert found[0] == done
    assert [(item.list, item.text) for item in found] == [("completed", "run tests"), ("pending", "run tests")]
    assert items_of(checkpoint) == found


@pytest.mark.parametrize("entry", [{"text": "run tests", "owner": "me"}, "two\nlines", "two  blanks", 7])
def test_an_entry_stays_as_another_program_wrote_it(entry: Any) -> None:
    checkpoint = summary(pending=[entry])
    for _ in range(3):
        found = items_of(checkpoint)
        checkpoint = written(found)
        assert checkpoint["summary"]["pending"] == [entry]


def test_an_id_that_was_copied_by_hand_costs_no_item() -> None:
    one, other = Item("a", "pending", "first").raw(), Item("a", "pending", "second", pinned=True).raw()
    found = items_of({**summary(pending=["first", "second"]), "items": [one, other]})
    assert [(item.text, item.pinned) for item in found] == [("first", False), ("second", True)]


def test_the_line_that_says_how_many_left_is_no_item() -> None:
    lists = summary_of(Record((Item("a", "completed", "x"),)), 12, "look there")
    assert lists["completed"] == ["[12 earlier items left this summary; look there]", "x"]
    assert [item.text for item in items_of({"summary": lists})] == ["x"]


@given(st.lists(st.text(max_size=3)))
def test_sources_are_each_named_once_and_never_many(ids: list[str]) -> None:
    found = sources_of(ids)
    assert len(found) <= MAX_SOURCES and len(set(found)) == len(found) and set(found) <= set(ids)
    assert sources_of(found) == found
    assert found[:1] == tuple(ids[:1])


def test_goal_and_next_step_stand_beside_the_lists_and_only_where_there_are_some() -> None:
    fact = Item("f", "facts", "port 5433")
    told = summary_of(Record((fact,), "a shop", "deploy it"))
    assert (told["goal"], told["next"], told["facts"]) == ("a shop", "deploy it", ["port 5433"])
    assert record_of({"summary": told, "items": [fact.raw()]}) == Record((fact,), "a shop", "deploy it")
    assert not {"goal", "next", "facts"} & summary_of(Record()).keys()


def test_what_an_earlier_version_called_over_reads_as_it_is_and_leaves_with_the_next_compaction() -> None:
    raw = {"id": "a", "list": "pending", "text": "x", "sources": [], "resolved": True}
    checkpoint = {**summary(completed=["No longer open: x", "y"]), "items": [raw]}
    assert next((item.id, item.text) for item in items_of(checkpoint)) == ("a", "No longer open: x")
    assert [item.text for item in record_of(checkpoint).items] == ["y"]
    pinned = {**checkpoint, "items": [{**raw, "pinned": True}]}
    assert [item.text for item in record_of(pinned).items] == ["No longer open: x", "y"]
