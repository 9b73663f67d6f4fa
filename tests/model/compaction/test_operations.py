"""Operations: whatever they are, nothing goes but what was superseded or is over."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.compaction.items import LISTS, Item, Record, new
from dagentd.model.compaction.operations import (
    Add,
    Change,
    Drop,
    Move,
    Operation,
    Resolve,
    Set,
    Supersede,
    compared,
)
from dagentd.model.compaction.operations import perform as perform_on
from tests.model.compaction.checkpoints_of import items

_LISTS = st.sampled_from(LISTS)
_IDS = st.sampled_from([f"i{number}" for number in range(10)])
_TEXTS = st.sampled_from(["use Rust", "fix login", "run tests", "a b", " ", "other"])
_SOURCES = st.lists(st.sampled_from("xyz"), max_size=2).map(tuple)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Add, list=_LISTS, text=_TEXTS, sources=_SOURCES),
    st.builds(Move, item=_IDS, to=_LISTS, sources=_SOURCES, text=_TEXTS),
    st.builds(Drop, item=_IDS),
    st.builds(Set, field=st.sampled_from(["goal", "next"]), text=_TEXTS),
    st.builds(Resolve, item=_IDS, sources=_SOURCES),
    st.builds(Supersede, item=_IDS, text=_TEXTS, sources=_SOURCES),
)


def perform(items: list[Item], operations: list[Operation], at: str) -> tuple[list[Item], list[Change]]:
    found = perform_on(Record(tuple(items)), operations, at)
    return list(found.items), compared(items, found.items)


@given(items(), st.lists(OPERATIONS, max_size=8))
def test_nothing_is_lost_but_what_was_superseded_or_resolved(held: list[Item], operations: list[Operation]) -> None:
    found, changes = perform(held, operations, "now")
    superseded = {change.before.id for change in changes if change.kind in ("superseded", "resolved") and change.before}
    ids = {item.id for item in found}
    assert {item.id for item in held} - superseded <= ids
    assert len(ids) == len(found)
    assert all(item.text.strip() for item in found)
    assert {item.id for item in held if item.pinned} - superseded <= {item.id for item in found if item.pinned}


@given(items(), st.lists(OPERATIONS, max_size=5))
def test_what_is_not_mentioned_stays_as_it_is(held: list[Item], operations: list[Operation]) -> None:
    found, changes = perform(held, operations, "now")
    touched = {one.id for change in changes for one in (change.before, change.after) if one}
    same = {one.text for one in operations if isinstance(one, Supersede)}  # what says it already takes over the pin
    kept, before = ([one for one in each if one.id not in touched and one.text not in same] for each in (found, held))
    assert kept == before


@given(items(), st.lists(OPERATIONS, max_size=5))
def test_every_addition_is_in_its_list_afterwards(held: list[Item], operations: list[Operation]) -> None:
    added = [operation for operation in operations if isinstance(operation, Add) and operation.text.strip()]
    found, _ = perform(held, [*added], "now")
    assert {(one.list, one.text) for one in added} <= {(one.list, one.text) for one in found}


def test_what_is_asked_for_again_is_pending_again() -> None:
    """The first time it was done; the same words do not mean that it need not be done once more."""
    wanted = new("pending", "Run the tests", ("m1",), "")
    done, _ = perform([wanted], [Move(item=wanted.id, to="completed", sources=("m2",))], "")
    found, _ = perform(done, [Add(list="pending", text="Run the tests", sources=("m9",))], "")
    assert [(item.list, item.sources) for item in found] == [("completed", ("m1", "m2")), ("pending", ("m9",))]
    again, changes = perform(found, [Add(list="pending", text="Run the tests", sources=("m9",))], "")
    assert (again, changes) == (found, [])


def test_one_that_is_superseded_by_another_keeps_what_is_known_of_that() -> None:
    old = Item("a", "decisions", "Use SQLite", ("m1",))
    pinned = Item("b", "decisions", "Use Rust", ("m2",), pinned=True)
    found, _ = perform([old, pinned], [Supersede(item="a", text="Use Rust", sources=("m3",))], "")
    assert found == [replace(pinned, sources=("m2", "m3"))]


def test_one_that_is_superseded_hands_its_pin_on() -> None:
    found, _ = perform([Item("a", "decisions", "x", pinned=True)], [Supersede(item="a", text="y", sources=("m",))], "")
    assert [(item.text, item.pinned) for item in found] == [("y", True)]


def test_what_is_over_is_taken_out() -> None:
    held = Item("a", "pending", "x")
    assert perform([held], [Resolve(item="a", sources=("m",))], "") == ([], [Change("resolved", held, None)])


def test_what_should_never_have_been_an_item_is_taken_out_without_a_source() -> None:
    held = Item("a", "blockers", "GET /api 200 in 24ms")
    assert perform([held], [Drop("a")], "") == ([], [Change("resolved", held, None)])


def test_what_moves_may_say_what_came_of_it() -> None:
    held = Item("a", "pending", "Add a pool", ("m1",), quote="add a pool, please")
    (found,), _ = perform([held], [Move("a", "completed", ("m7",), "Pool in db/pool.py; 42 tests pass")], "")
    assert (found.id, found.list, found.text) == ("a", "completed", "Pool in db/pool.py; 42 tests pass")
    assert (found.sources, found.quote) == (("m1", "m7"), "")
    (moved,), _ = perform([held], [Move("a", "inProgress", ("m7",))], "")
    assert (moved.text, moved.quote) == ("Add a pool", "add a pool, please")


def test_what_moves_to_where_it_stands_already_is_there_once() -> None:
    one, other = Item("a", "pending", "Add a pool"), Item("b", "completed", "Add a pool")
    assert perform([one, other], [Move("a", "completed", ("m7",))], "")[0] == [other]


def test_goal_and_next_step_are_set_and_stay_else() -> None:
    found = perform_on(Record((), "old goal", "old step"), [Set("next", "Run  the tests", ("m1",))], "")
    assert found == Record((), "old goal", "Run the tests")


def test_what_came_and_was_replaced_in_the_same_compaction_is_just_what_it_came_to() -> None:
    old = Item("old", "decisions", "Use SQLite")
    asked = new("pending", "Write it", (), "")
    found, changes = perform([old], [
        Supersede("old", "Use Rust", ("m1",)), Supersede("old", "Use Go", ("m2",)),
        Add("pending", "Write it", ("m3",)), Move(asked.id, "inProgress", ("m4",)),
        Add("pending", "Draw it", ("m5",)), Resolve(new("pending", "Draw it", (), "").id, ("m6",)),
    ], "")  # fmt: skip
    assert [(each.kind, each.after and each.after.text) for each in changes] == [
        ("superseded", "Use Go"),
        ("added", "Write it"),
    ]
    assert [item.list for item in found] == ["decisions", "inProgress"]
