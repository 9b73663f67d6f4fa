"""Which phrase of a sentence gets which value: by that a later statement takes the place of one on the same topic."""

from __future__ import annotations

import pytest

from dagentd.model.compaction.local.topics import apart, topics
from tests.model.compaction.said import after, assistant, decisions, items_after, user

FILLED = [
    "Quarkus for the ledger service",
    "ledger service: Quarkus",
    "ledger service -> Quarkus",
    "| ledger service | Quarkus | fine with all |",
    "The ledger service is Quarkus.",
    "The ledger service is to be done in Quarkus.",
    "The ledger service rests on Quarkus these days.",
    "The ledger service is handled by quarkus starting this sprint.",
    "Write the ledger service with Quarkus, please.",
    "Have Quarkus run the ledger service.",
    "Quarkus is our ledger service.",
    "On the ledger service: it'll be Quarkus.",
    "With regard to timing, as for the ledger service we'd like Quarkus.",
    "Swap Helidon for Quarkus in the ledger service.",
    "Quarkus. That's what I want for the ledger service.",
    "The result of the workshop: Quarkus for the ledger service.",
    "I'd rather not, but they insist on Quarkus for the ledger service.",
    "The ledger service is supposed to be Quarkus.",
    "helidon -> quarkus (ledger service)",
    "Their fees rule the rest out, which makes quarkus our ledger service.",
    "Legal is fine with quarkus, so that's our ledger service.",
    "Quarkus is the new ledger service, it starts faster.",
    "Context: ledger service. Outcome: take Quarkus.",
    "ledger service w/ Quarkus",
    "You may as well put the ledger service atop Quarkus.",
    "When it comes to the ledger service, we like Quarkus.",
]


@pytest.mark.parametrize("said", FILLED)
def test_the_topic_is_known_by_the_small_words_around_it(said: str) -> None:
    assert ("ledger", "servic") in [each.topic[:2] for each in topics(said).filled]


@pytest.mark.parametrize("later", FILLED[:11])
@pytest.mark.parametrize(
    "earlier", ["Helidon for the ledger service", "The ledger service uses Helidon.", "ledger service = Helidon"]
)
def test_what_fills_the_same_topic_otherwise_needs_no_word_for_that(earlier: str, later: str) -> None:
    begin = items_after(user(earlier), user("Use Gradle for the build."), *[assistant("Fine.")] * 6)
    assert sorted(decisions(user(later), items=begin)) == sorted(["Use Gradle for the build.", later])


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The dates on the order page are ISO 8601.", "The order page is Svelte."),
        ("The order page is closed for guests.", "The basket is closed for guests."),
        ("The outcome of the call: Svelte for the order page.", "The outcome of the call: Remix for the basket."),
        (
            "Use Svelte for the order page because the docs are better.",
            "Use Remix for the basket because the docs are fine.",
        ),
        ("The batch size in the importer is 20.", "The importer is limited to 40 MB."),
        ("Svelte for the order page", "The order page lives in web/order/page.svelte."),
        ("Svelte for the order page", "Please add a captcha to the order page."),
        ("Never log names on the order page.", "Svelte for the order page"),
        ("Svelte for the order page", "Also use Tailwind for the order page."),
    ],
)
def test_what_only_shares_words_stays(earlier: str, later: str) -> None:
    assert earlier in decisions(user(later), items=items_after(user(earlier), *[assistant("Fine.")] * 6))


def test_two_statements_that_fill_different_topics_have_nothing_to_do_with_each_other() -> None:
    assert apart("Svelte for the order page", "Svelte for the basket")
    assert not apart("Svelte for the order page", "order page: Remix")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("We need a grace period of 12 days.", "Grace period: 20 days."),
        ("Give the importer queue 3 workers.", "The importer queue gets 8 workers."),
        ("The grace period is fixed at 12 days.", "I said 12 for the grace period, that should read 20 days."),
        ("grace period: 12 days", "grace period: ~~12~~ 20 days"),
    ],
)
def test_another_number_of_the_same_takes_its_place(earlier: str, later: str) -> None:
    assert decisions(user(later), items=items_after(user(earlier), *[assistant("Fine.")] * 6)) == [later]


def test_what_is_to_be_made_with_something_is_decided_and_what_is_to_be_made_is_asked_for() -> None:
    lists = after(user("Please write the ledger service with Quarkus."), user("Please write a guide for the ledger."))
    assert lists["decisions"] == ["Please write the ledger service with Quarkus."]
    assert lists["pending"] == ["Please write a guide for the ledger."]


def test_a_decision_ends_a_wish_that_it_decides_otherwise() -> None:
    lists = after(user("Can you build a report with Jasper for the ledger service?"), user("ledger service: Quarkus"))
    assert "ledger service: Quarkus" in lists["decisions"]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("No Helidon for the ledger service, whatever I said. Take Quarkus.", 1),
        ("I keep worrying about Helidon for the ledger service. Let's settle for Quarkus.", 1),
        ("Earlier I told you Helidon for the ledger service. That no longer holds: Quarkus.", 1),
        ("Subject: ledger service\nDecision: Quarkus", 1),
        ("Put names into the log? Not here.", 1),
        ("Quarkus. Yes, for the ledger service.", 1),
        ("I missed a detail about the ledger service. It has to be Quarkus.", 1),
        ("Remember that I took Helidon for the ledger service? Bad call. Quarkus it is.", 1),
        ("It could not be clearer: the ledger service is Quarkus.", 1),
        ("Context: ledger service. Outcome: Quarkus.", 1),
        ("They asked what to take for the ledger service. The verdict from above is Quarkus.", 1),
        ("It would hurt me to see you keep names in the log. So please, no.", 1),
        ("My mistake on the ledger service. Where I wrote Helidon, read Quarkus.", 1),
        ("Should the ledger service be Quarkus? Cheers", 0),
        ("Have you ever seen Quarkus for a ledger service? Talk tomorrow.", 0),
        ("We may end up with Quarkus for the ledger service, who knows", 0),
        ("I go back and forth on Quarkus for the ledger service.", 0),
        ("Suppose for a moment the ledger service were Quarkus.", 0),
        ("I haven't ruled out Quarkus for the ledger service.", 0),
        ("The jury is out on Quarkus as ledger service.", 0),
        ("My cousin's startup runs Quarkus as ledger service.", 0),
        ("According to a poll, Quarkus is the nicest ledger service.", 0),
        ("As a mental exercise: Quarkus for the ledger service.", 0),
        ("Quarkus is on my shortlist for the ledger service, with some others.", 0),
        ("No consensus on the ledger service; Quarkus is one of the contenders.", 0),
        ("One vendor swore that Quarkus had rescued the ledger service of a bank.", 0),
    ],
)
def test_what_is_said_in_several_sentences_is_one_statement_or_none(said: str, found: int) -> None:
    assert decisions(user(said)) == [said.replace("\n", " ")][:found]


@pytest.mark.parametrize(
    "said", ["You left the ledger to me, so I took Quarkus.", "The ledger service now rests on Quarkus."]
)
def test_what_the_assistant_took_counts_and_what_it_offers_does_not(said: str) -> None:
    assert decisions(assistant(said)) == [said]
    offer = assistant("Quarkus and Helidon are both possible for the ledger service; tell me which.")
    assert not any(after(offer).values())


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I stand corrected on the ledger service, helidon is right.", "The ledger service will be Quarkus."),
        ("The ledger service is intended to be Helidon.", "FYI Amended ruling for the ledger service: Quarkus."),
    ],
)
def test_what_was_changed_once_can_be_changed_again(earlier: str, later: str) -> None:
    found = decisions(user(later), items=items_after(user(earlier), *[assistant("Fine.")] * 6))
    assert [one.removeprefix("FYI ") for one in found] == [later.removeprefix("FYI ")]
