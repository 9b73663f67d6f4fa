"""What the user asked for: open until something shows that it was done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dagentd.model.compaction.items import new
from dagentd.model.compaction.local.wishes import MOST
from tests.model.compaction.said import after, assistant, items_after, used, user

EDIT = used("Edit", file_path="src/health.ts")


@pytest.mark.parametrize(
    "said",
    [
        "Please add a /health endpoint.",
        "Can you also look into the flaky login test?",
        "Don't forget to update the changelog.",
        "We still need to benchmark the importer.",
        "TODO: rotate the signing keys",
        "The login button does nothing when I click it.",
        "When you have time, clean up the fixtures.",
    ],
)
def test_a_request_is_pending(said: str) -> None:
    assert after(user(said))["pending"] == [said]


@pytest.mark.parametrize("said", ["What does this do?", "Run the tests.", "continue", "Show me the diff.", "yes"])
def test_what_is_over_with_the_answer_is_not(said: str) -> None:
    assert after(user(said))["pending"] == []


def test_the_same_wish_twice_is_one() -> None:
    told = user("Please add a /health endpoint."), user("please add a /health endpoint!")
    assert after(*told)["pending"] == ["Please add a /health endpoint."]


def test_of_a_wish_that_is_changed_only_the_newest_side_stays() -> None:
    later = "Please add an /alive endpoint instead of the /health endpoint."
    assert after(user("Please add a /health endpoint."), user(later))["pending"] == [later]
    both = "Please add a /health endpoint.", "Please add a login page."
    assert after(*map(user, both))["pending"] == list(both)


def test_done_is_what_is_said_and_what_tools_show() -> None:
    asked = user("Please add a /health endpoint.")
    claim = assistant("I've added the /health endpoint.")
    assert after(asked, EDIT, claim)["completed"][0] == "Please add a /health endpoint."
    assert after(asked, EDIT)["pending"] == ["Please add a /health endpoint."]


def test_a_claim_that_nothing_shows_only_ends_it() -> None:
    lists = after(user("Please add a /health endpoint."), assistant("I've added the /health endpoint."))
    assert lists["pending"] == []
    assert lists["completed"] == ["No longer open: Please add a /health endpoint."]


def test_a_claim_about_something_else_ends_nothing() -> None:
    lists = after(user("Please add a /health endpoint."), EDIT, assistant("I've renamed the logger module."))
    assert lists["pending"] == ["Please add a /health endpoint."]


def test_what_is_announced_is_not_done() -> None:
    lists = after(user("Please add a /health endpoint."), EDIT, assistant("The /health endpoint will be added later."))
    assert lists["pending"] == ["Please add a /health endpoint."]


def test_it_is_done_or_withdrawn_also_in_a_later_round() -> None:
    begin = items_after(user("Please add a dark mode to the settings."), user("Add CSV export to the reports."))
    lists = after(
        user("Never mind the dark mode."), EDIT, assistant("CSV export for the reports is done."), items=begin
    )
    assert lists["pending"] == []
    assert "No longer open: Please add a dark mode to the settings." in lists["completed"]


def test_open_ones_are_bounded_and_what_somebody_wrote_by_hand_stays() -> None:
    mine = new("pending", "Call the customer", (), "")
    wishes = [user(f"Please add option{at} to the command{at} parser.") for at in range(MOST + 3)]
    lists = after(*wishes, items=[mine])
    assert len(lists["pending"]) == MOST + 1
    assert "Call the customer" in lists["pending"]
    assert "No longer open: Please add option0 to the command0 parser." in lists["completed"]


def test_the_last_exchange_is_in_progress_and_follows_the_conversation() -> None:
    begin = items_after(user("Fix the login test."), assistant("Looking."))
    assert [item.text for item in begin if item.list == "inProgress"] == ["Last asked: Fix the login test."]
    later = items_after(user("How far are you?"), user("ok"), items=begin, first=10)
    assert [item.text for item in later if item.list == "inProgress"] == ["Last asked: How far are you?"]


def test_pinned_items_are_not_touched() -> None:
    begin = [replace(item, pinned=True) for item in items_after(user("Please add a /health endpoint."))]
    later = items_after(EDIT, assistant("I've added the /health endpoint."), user("Thanks, go on."), items=begin)
    assert set(begin) <= set(later)


def test_nobody_but_the_user_asks() -> None:
    assert after(assistant("Please add a /health endpoint."))["pending"] == []
    assert after(user("Please add a /health endpoint.", internal=True))["pending"] == []


@pytest.mark.parametrize(
    "order",
    ["archive the old client", "scour the tests for leftovers", "now decompose our importer"],
)
def test_an_order_is_a_request_whatever_its_verb(order: str) -> None:
    lists = after(user(order))
    assert lists["pending"] == [order]
    assert lists["decisions"] == []


def test_an_order_behind_what_is_wrong_is_one() -> None:
    asked = "two lanes can't keep up with the load, can you open a third lane?"
    assert after(user(asked))["pending"] == [asked]


def test_what_was_said_twice_outlives_that_the_last_is_ignored() -> None:
    rule = "Please do not commit the raw scans."
    assert after(user(rule), user(rule), user("ignore my last message, sorry."))["decisions"] == [rule]
