"""Orders that are put politely, and talk that sounds like a decision."""

from __future__ import annotations

import pytest

from tests.model.compaction.said import after, assistant, decisions, user


@pytest.mark.parametrize(
    "said",
    [
        "would be great if you could record who approved a refund",
        "Could you also sort the warehouse list by distance?",
        "Any chance you could translate the wizard?",
        "If you get around to it, cache the exchange rates.",
        "I'd appreciate it if you could warn about duplicates.",
        "Could we add pagination to the audit screen?",
        "do me a favour and sort the list by distance",
        "Another task for you: record who approved a refund.",
        "Go ahead and cache the exchange rates.",
        "show a spinner while the invoices load please",
        "The gateway could use a proper README.",
    ],
)
def test_a_polite_order_is_a_request(said: str) -> None:
    assert after(user(said))["pending"] == [said]


@pytest.mark.parametrize(
    "said", ["please always store timestamps in UTC ok?", "Could you always squash before merging?"]
)
def test_a_polite_rule_is_a_limit(said: str) -> None:
    assert decisions(user(said)) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Could we use Kafka for the events?",
        "Would you use Kafka for the events?",
        "Can you show me the diff?",
        "Could you tell me what Kafka does for the events?",
        "Thoughts on Kafka for the events",
        # weighed
        "In an ideal world we would have Kafka for the events.",
        "Kafka for the events sounds tempting, but I have not made up my mind.",
        "Some day I'd like to try Kafka for the events.",
        "If money were no object I would take Kafka for the events.",
        # told of others
        "The other team uses Kafka for their events.",
        "At my last job they used Kafka for the events and everybody hated it.",
        "I read a blog post where somebody praised Kafka for the events.",
        "Our competitors switched to Kafka for the events, apparently.",
    ],
)
def test_questions_thoughts_and_hearsay_are_none(said: str) -> None:
    lists = after(user(said))
    assert lists["decisions"] + lists["pending"] == []


@pytest.mark.parametrize(
    "said",
    [
        "I talked to the team, and while Ceph would have been nice too, we settled on MinIO for the files.",
        "Although tRPC could have worked, I want GraphQL for the API style.",
        "I heard good things about Kafka, so let's use it for the events.",
        "We're going with Kafka for the events, let me know if that is a problem.",
        "Use LiveKit for the video calls.",
        "Proceed with Kafka for the events.",
        "Look, the events are on Kafka now.",
        "Can we switch the events from NATS to Kafka?",
    ],
)
def test_what_is_decided_in_a_clause_of_its_own_counts(said: str) -> None:
    assert decisions(user(said)) == [said]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Given what I found I picked Zod for the validation; Valibot would have meant more glue code.", True),
        ("The job queue will be Celery.", True),
        ("Using structlog for the logging from here on.", True),
        ("There are two ways for the event bus: NATS or RabbitMQ.", False),
        ("I could use Zod for the validation, if you like.", False),
        ("The page is slow because the list is rendered as a whole.", False),
        ("I am through about half of the files.", False),
    ],
)
def test_what_the_assistant_took_for_some_use_counts(said: str, found: bool) -> None:
    assert decisions(assistant(said)) == ([said] if found else [])


@pytest.mark.parametrize(
    "said", ["In what is left of the day, do rename the importer.", "Feel free to wait, but do rename it."]
)
def test_what_is_asked_with_a_stress_is_asked(said: str) -> None:
    assert after(user(said))["pending"] == [said]
