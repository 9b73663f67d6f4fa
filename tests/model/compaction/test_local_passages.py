"""Which sentences are one statement, and which stand for themselves."""

from __future__ import annotations

import pytest

from tests.model.compaction.said import after, decisions, user

LABELLED = [
    "Constraint: no passwords, GitHub only.",
    "Decision: GitHub only.",
    "Goal: GitHub sign-in.",
    "Note: GitHub only.",
    "Acceptance criteria: GitHub works.",
    "**Constraint:** no passwords, GitHub only.",
    "**Out of scope**: SAML.",
]


@pytest.mark.parametrize("labelled", LABELLED)
@pytest.mark.parametrize("before", ["We need a login.", "Add a login page.", "Plan the login.", "The login is open."])
def test_what_has_a_label_stands_for_itself(before: str, labelled: str) -> None:
    for gap in (" ", "\n", "\n\n", "\n- "):
        lists = after(user(f"{before}{gap}{labelled}"))
        assert labelled in lists["decisions"]
        assert lists["pending"] == ([before] if before in ("We need a login.", "Add a login page.") else [])


@pytest.mark.parametrize(
    "said",
    [
        "Topic: job queue. Decision: Celery.",
        "Topic: job queue\nDecision: Celery",
        "Context: job queue. Outcome: Celery.",
    ],
)
def test_the_label_of_a_topic_needs_what_is_decided_of_it(said: str) -> None:
    assert decisions(user(said)) == [" ".join(said.split())]


@pytest.mark.parametrize(
    "later",
    [
        "it's absolutely off limits to delete rows from the audit table",
        "remember we have to keep accessibility at AA level.",
        "Never log tokens.",
    ],
)
def test_a_request_takes_no_rule_with_it(later: str) -> None:
    lists = after(user(f"Please rename the importer. {later}"))
    assert (lists["pending"], lists["decisions"]) == (["Please rename the importer."], [later])


@pytest.mark.parametrize("closing", ["Carry on.", "Best, Marek", "Cheers", "Nothing further from me.", "That is all."])
def test_what_closes_a_message_is_no_part_of_a_request(closing: str) -> None:
    assert after(user(f"Please rename the importer. {closing}"))["pending"] == ["Please rename the importer."]


@pytest.mark.parametrize("later", ["Use Redis.", "It should stream.", "5 attempts."])
def test_a_request_has_what_says_nothing_without_it(later: str) -> None:
    said = f"Add a rate limiter to the gateway. {later}"
    assert after(user(said))["pending"] == [said]


def test_two_requests_are_two() -> None:
    said = ["One thing: the button should be blue.", "And rename Foo to Bar."]
    assert after(user(" ".join(said)))["pending"] == said
