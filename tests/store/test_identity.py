"""Which message is which: ids missing, repeated, reused for another text, edited."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dagentd.errors import Conflict
from dagentd.model import ids
from tests.store.app import STAMP, App, said
from tests.store.served import Served

OTHER = "2026-02-02T02:02:02.000Z"


def contents(served: Served) -> dict[str, Any]:
    return {message["id"]: message["content"] for message in served.app.read()["messages"]}


# --- without an id ------------------------------------------------------------------------------------------------


def test_an_entry_without_id_gets_the_same_one_each_time_it_is_read(served: Served) -> None:
    raw = App.chat_of([said(None, "hello"), said(None, "world")])
    for _ in range(3):
        served.app.write(raw)  # the app's own copy, in which there still are no ids
        served.flush()
    assert len(served.written()) == 2 and served.written() == served.shown()
    assert all(re.fullmatch(r"x-[0-9a-f]{32}", one) for one in served.written())
    source = f"sessions/chat_{served.session.id}.json"
    assert served.written()[0] == ids.derived(source, "user", STAMP, "hello", 0)


def test_equal_entries_without_id_are_as_many_as_they_are(served: Served) -> None:
    served.app.write(App.chat_of([said(None, "again")] * 3))
    served.flush()
    assert len(set(served.written())) == 3
    served.app.push(said(None, "again"))  # behind three that now have ids from us
    served.flush()
    served.app.write(App.chat_of([said(None, "again")] * 4))  # and from a copy without them
    served.flush()
    assert len(served.written()) == 4 and len(served.shown()) == 4


@pytest.mark.parametrize("by", ["us", "app"])
@pytest.mark.parametrize("restart", [False, True])
def test_an_equal_one_after_they_left_is_another(
    served: Served, wait: Callable[[float], None], by: str, restart: bool
) -> None:
    """Whoever wrote it had seen a chat without them."""
    again = said(None, "again")
    served.app.push(again, again)
    served.flush()
    wait(5)
    served.session.clear() if by == "us" else served.app.clear()
    served.flush()
    if restart:
        served.again()
    held = served.app.read()
    held["messages"].append(again)
    for _ in range(2):
        served.app.write(held)  # the second time from its own copy, which has no id of ours
        served.flush()
        assert len(served.all()) == 3 and served.shown() == served.all()[2:]
    held["messages"].append(again)
    served.app.write(held)
    served.flush()
    assert len(set(served.all())) == 4 and served.shown() == served.all()[2:]


@pytest.mark.parametrize("given", [None, "", 7, ["a"], {"a": 1}, True])
def test_an_id_that_is_no_text_counts_as_none(served: Served, given: Any) -> None:
    served.app.write(App.chat_of([said("m") | {"id": given}]))
    served.flush()
    served.flush()
    (one,) = served.shown()
    assert one.startswith("x-") and served.written() == [one]


# --- known ids from other writers ---------------------------------------------------------------------------------


def test_the_same_id_and_content_is_the_same_message(served: Served) -> None:
    served.add("a")
    served.app.push(said("a", timestamp=OTHER), said("b"), said("b"))
    served.flush()
    assert served.shown() == ["a", "b"] and served.written() == ["a", "b"] and not served.records("edit")


def test_the_same_time_and_another_content_is_an_edit(served: Served) -> None:
    served.app.push(said("a", "before"), said("b"))
    served.flush()
    raw = served.app.read()
    raw["messages"][0]["content"] = "after"
    served.app.write(raw)
    served.flush()
    assert contents(served) == {"a": "after", "b": "text of b"}
    assert served.written() == ["a", "b"] and len(served.records("edit")) == 1
    assert served.session.history()[0][0]["content"] == "after"
    served.again()
    assert contents(served)["a"] == "after"


def test_an_edit_is_not_undone_by_a_copy_from_before_it(served: Served) -> None:
    served.app.push(said("a", "before"))
    served.flush()
    stale = served.app.read()
    fresh = served.app.read()
    fresh["messages"][0]["content"] = "after"
    served.app.write(fresh)
    served.flush()
    stale["messages"].append(said("b"))
    served.app.write(stale)
    served.flush()
    assert contents(served) == {"a": "after", "b": "text of b"}
    del stale["dagentd"]
    served.app.write(stale)
    served.flush()
    assert contents(served)["a"] == "after"


def test_an_edit_by_one_who_saw_the_last_one_can_go_back_to_an_earlier_text(served: Served) -> None:
    served.app.push(said("a", "one"))
    served.flush()
    for text in ("two", "one"):
        raw = served.app.read()
        raw["messages"][0]["content"] = text
        served.app.write(raw)
        served.flush()
    assert contents(served) == {"a": "one"} and len(served.records("edit")) == 2


def test_an_edit_of_metadata(served: Served) -> None:
    served.app.push(said("a"))
    served.flush()
    raw = served.app.read()
    raw["messages"][0]["metadata"] = {"tokens": {"input": 5, "output": 6}}
    served.app.write(raw)
    served.flush()
    served.again()
    assert served.session.chat()[0]["metadata"] == {"tokens": {"input": 5, "output": 6}}


def test_another_time_and_content_is_another_message(served: Served) -> None:
    served.app.push(said("m1", "first"))
    served.flush()
    clash = said("m1", "another message", OTHER)
    for _ in range(2):
        served.app.write(App.chat_of([said("m1", "first"), clash]))
        served.flush()
    other = served.written()[1]
    assert re.fullmatch(r"m1~[0-9a-f]{8}", other)
    assert contents(served) == {"m1": "first", other: "another message"} and len(served.written()) == 2


def test_two_new_messages_of_one_id_in_one_file_are_both_kept(served: Served) -> None:
    both = [said("m1", "first"), said("m1", "another", OTHER), said("m1", "of the same time")]
    for _ in range(2):
        served.app.write(App.chat_of(both))
        served.flush()
    assert sorted(contents(served).values()) == ["another", "first", "of the same time"]
    assert len(served.written()) == 3 and not served.records("edit")


def test_two_messages_of_one_id_in_a_chat_that_has_no_journal_yet(served: Served) -> None:
    served.close()
    served.journal.unlink()
    for kept in served.kept:
        kept.unlink()
    served.app.write(App.chat_of([said("m1", "first"), said("m1", "another", OTHER), said("m1", "same time")]))
    served.open()
    served.flush()
    assert sorted(contents(served).values()) == ["another", "first", "same time"]
    assert len(served.written()) == 3


# --- ids of callers -----------------------------------------------------------------------------------------------


def test_a_caller_who_repeats_an_id_and_its_content_is_answered_the_same(served: Served) -> None:
    first = served.session.add([{"id": "a", "role": "user", "content": "once"}])
    assert served.session.add([{"id": "a", "role": "user", "content": "once"}]) == first
    served.session.clear()
    assert served.session.add([{"id": "a", "role": "user", "content": "once"}]) == first
    assert served.written() == ["a"]


def test_a_caller_who_reuses_an_id_for_another_content_is_refused(served: Served) -> None:
    served.add("a")
    for role, content in (("user", "other"), ("assistant", "text of a")):
        with pytest.raises(Conflict, match="'a' exists with other content") as told:
            served.session.add([{"role": "user", "content": "new"}, {"id": "a", "role": role, "content": content}])
        assert told.value.code == -32002 and told.value.hint
    assert served.written() == ["a"]  # all or none


def test_a_caller_who_uses_one_id_twice_in_one_call(served: Served) -> None:
    one = {"id": "a", "role": "user", "content": "x"}
    assert len(served.session.add([one, one])) == 2 and served.written() == ["a"]
    with pytest.raises(Conflict):
        served.session.add([{**one, "id": "b"}, {**one, "id": "b", "content": "y"}])
    assert served.written() == ["a"]


# --- blocks -----------------------------------------------------------------------------------------------------

BLOCKS = [{"type": "text", "text": "Look"}, {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}}]


def test_content_that_is_no_text_is_one_in_chat_and_kept_beside_it(served: Served) -> None:
    """The app showed `[object Object]`, and counted NaN tokens."""
    answered = served.session.add([{"id": "b", "role": "assistant", "content": BLOCKS, "metadata": {"mine": 1}}])
    served.app.push({**said("a"), "content": BLOCKS}, {**said("n"), "content": 7})
    served.flush()
    assert answered[0]["content"] == 'Look\n[tool call t1 Read] {"path": "a.py"}'
    assert answered[0]["metadata"] == {"mine": 1, "content": BLOCKS}
    shown = {raw["id"]: raw for raw in served.app.read()["messages"]}
    assert shown["b"] == answered[0] and shown["a"]["metadata"] == {"content": BLOCKS}
    assert (shown["a"]["content"], shown["n"]["content"]) == (answered[0]["content"], "7")
    served.again()
    assert [raw["id"] for raw in served.session.history()[0]] == ["b", "a", "n"]
    assert not served.records("edit")


def test_blocks_that_look_alike_are_told_apart(served: Served) -> None:
    one, other = ([{"type": "image", "source": {"data": data}}] for data in ("A", "B"))
    served.session.add([{"id": "i", "role": "user", "content": one}])
    assert served.session.add([{"id": "i", "role": "user", "content": one}])[0]["content"] == "[image]"
    with pytest.raises(Conflict):
        served.session.add([{"id": "i", "role": "user", "content": other}])
