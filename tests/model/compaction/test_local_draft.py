"""The items while `local` works on them are what the operations make of them."""

from __future__ import annotations

from dagentd.model.compaction.items import new
from dagentd.model.compaction.local.draft import Draft
from dagentd.model.compaction.operations import perform
from tests.model.compaction.said import after, assistant, items_after, used, user

ASKED = "Please add a /health endpoint."
EDIT = used("Edit", file_path="src/health.ts")


def test_a_request_repeated_after_it_was_done_is_open_again() -> None:
    done = items_after(user(ASKED), EDIT, assistant("I've added the /health endpoint."))
    assert [item.list for item in done if item.text == ASKED] == ["completed"]
    lists = after(user(ASKED), items=done)
    assert lists["pending"] == [ASKED]
    assert ASKED in lists["completed"]


def test_what_was_only_over_is_the_same_item_again() -> None:
    begin = [new("blockers", "`npm test`: Error: one", ("m1",), "")]
    draft = Draft(begin)
    draft.resolve(begin[0], "m2")
    draft.add("blockers", begin[0].text, "m3")
    assert [(item.id, item.resolved) for item in draft] == [(begin[0].id, False)]
    assert perform(begin, draft.operations(), "")[0] == list(draft)


def test_what_takes_the_place_of_one_and_is_there_already_is_one_item() -> None:
    begin = [new("decisions", "Use npm.", ("m1",), ""), new("decisions", "Use yarn.", ("m2",), "")]
    draft = Draft(begin)
    assert draft.supersede(begin[0], "Use yarn.", "m3").id == begin[1].id
    assert [item.text for item in draft] == ["Use yarn."]
    assert perform(begin, draft.operations(), "")[0] == list(draft)


def test_the_same_text_in_another_list_is_no_twin() -> None:
    begin = [new("completed", "Use yarn.", ("m1",), ""), new("decisions", "Use npm.", ("m2",), "")]
    draft = Draft(begin)
    draft.supersede(begin[1], "Use yarn.", "m3")
    assert sorted((item.list, item.text) for item in draft) == [("completed", "Use yarn."), ("decisions", "Use yarn.")]
    assert perform(begin, draft.operations(), "")[0] == list(draft)
