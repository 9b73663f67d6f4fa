"""Requests that differ in the number or name of what they ask for, rules behind a request, and messages of a word."""

from __future__ import annotations

import pytest

from dagentd.model.compaction.items import Item
from tests.model.compaction.said import after, assistant, decisions, items_after, used, user

CART = [f"please add item {number} to the cart; the total must never be negative" for number in range(1, 9)]


def open_texts(items: list[Item], *lists: str) -> list[str]:
    return [item.text for item in items if item.list in lists and not item.resolved]


def test_requests_that_differ_in_a_number_are_each_kept_and_their_rule_is_one() -> None:
    items = items_after(*map(user, CART))
    assert open_texts(items, "pending") == [f"please add item {number} to the cart" for number in range(1, 9)]
    assert open_texts(items, "decisions") == ["the total must never be negative"]


def test_each_of_them_is_closed_by_its_own_answer() -> None:
    def answer(number: int) -> list[dict[str, object]]:
        said = assistant(f"I added item {number} in src/cart{number}.py. Tests pass.")
        return [user(CART[number - 1]), used("Edit", file_path=f"src/cart{number}.py"), said]

    items = items_after(*(message for number in (1, 2, 3) for message in answer(number)), user(CART[3]))
    assert open_texts(items, "pending") == ["please add item 4 to the cart"]
    assert [one for one in open_texts(items, "completed") if one.startswith("please")] == [
        f"please add item {number} to the cart" for number in (1, 2, 3)
    ]
    assert open_texts(items, "decisions") == ["the total must never be negative"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fix bug 12", "fix bug 13"),
        ("fix issue #12", "fix issue #13"),
        ("port module a", "port module b"),
        ("please port module a to the new client", "please port module b to the new client"),
        ("write tests for the parser", "write tests for the printer"),
        ("write tests for X", "write tests for Y"),
        ("migrate the orders table to UUID keys", "migrate the customers table to UUID keys"),
        ("rename Foo.load to Foo.read", "rename Bar.load to Bar.read"),
        ("please add a spinner to the invoice list", "please add a spinner to the customer list"),
    ],
)
def test_what_differs_in_its_object_is_another_request(one: str, other: str) -> None:
    assert after(user(one), user(other))["pending"] == [one, other]
    assert decisions(user(one), user(other)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("retry 3 times", "retry 5 times"),
        ("retry a failed upload 3 times", "retry a failed upload 5 times"),
        ("Please add 3 retries to the uploader.", "Please add 5 retries to the uploader."),
    ],
)
def test_another_count_of_the_same_is_a_change(old: str, new: str) -> None:
    lists = after(user(old), assistant("OK."), user(new))
    assert lists["pending"] + lists["decisions"] == [new]


@pytest.mark.parametrize(
    ("said", "asked", "rule"),
    [
        (
            "add a retry to the uploader, and the queue must never block",
            "add a retry to the uploader",
            "the queue must never block",
        ),
        (
            "write the importer and all amounts must be in cents",
            "write the importer",
            "all amounts must be in cents",
        ),
        (
            "add dark mode, and make sure the toggle is never hidden",
            "add dark mode",
            "make sure the toggle is never hidden",
        ),
        (
            "add an export button, it must never show for guests",
            "add an export button",
            "add an export button, it must never show for guests",
        ),
    ],
)
def test_a_request_with_a_rule_behind_it_is_both(said: str, asked: str, rule: str) -> None:
    lists = after(user(said))
    assert (lists["pending"], lists["decisions"]) == ([asked], [rule])


@pytest.mark.parametrize("said", ["burst 8", "without", "ok", "go", "yes please", "hm", "later", "the second one"])
def test_a_word_or_two_decide_nothing(said: str) -> None:
    assert decisions(user("Please add a /health endpoint."), assistant("Done."), user(said)) == []


@pytest.mark.parametrize(
    ("asked", "said", "known"),
    [
        ("Which burst size should the rate limiter have?", "burst 8", "rate limiter"),
        ("Should the export come with or without headers?", "without", "headers"),
        ("Which database do you want for the queue?", "Postgres", "queue"),
    ],
)
def test_what_answers_a_question_is_kept_with_it(asked: str, said: str, known: str) -> None:
    (held,) = decisions(user("Please build the limiter."), assistant(asked), user(said))
    assert said in held and known in held


def test_what_answers_a_question_about_nothing_is_not() -> None:
    assert decisions(user("Please build the limiter."), assistant("Done. Anything else?"), user("tests")) == []


def test_a_request_of_a_number_alone_is_closed_by_that_number() -> None:
    told = user("fix bug 12"), user("fix bug 13"), used("Edit", file_path="src/a.py"), assistant("Fixed bug 12.")
    assert after(*told)["pending"] == ["fix bug 13"]


@pytest.mark.parametrize("said", ["no ORMs", "page size: 50", "tabs, not spaces", "Postgres for the queue", "use tabs"])
def test_few_words_that_say_something_of_something_are_kept(said: str) -> None:
    assert decisions(user("Please build the list."), assistant("Done."), user(said)) == [said]
