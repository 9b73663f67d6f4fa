"""What a choice is for: by that a later one is known to take its place, and two sentences to be one statement."""

from __future__ import annotations

import pytest

from dagentd.model.compaction.items import new
from tests.model.compaction.said import assistant, decisions, items_after, user

OTHER = "The staging cluster runs on Kubernetes."

REPLACED = [
    # by the topic, and a word that says that something changes
    (
        "I know we discussed Nuxt at length, so the admin frontend is going to be Remix.",
        "Update on the admin frontend: SvelteKit now.",
    ),
    ("Between NATS and Pulsar for the event bus I choose NATS.", "New decision for the event bus: RabbitMQ."),
    (
        "Use calamine for the spreadsheet import, I do not want another thing.",
        "scratch what I said about the spreadsheet import, we take xlrd",
    ),
    ("- logging library: zerolog, not structlog", "We revisited the logging library and ended up with loguru."),
    (
        "We use Tempo for the tracing exporter because we have it in two services.",
        "Going forward the tracing exporter is Zipkin.",
    ),
    # it names what was chosen, in whatever words
    (
        "Everyone was happy with pnpm for the package manager, so that's that.",
        "pnpm is history; yarn for the package manager",
    ),
    ("We have chosen MinIO as our file storage.", "MinIO out, Ceph in, for the file storage."),
    (
        "In the end we picked zstd for the compression.",
        "We tried zstd for the compression and it was painful, moving to brotli.",
    ),
    # in two sentences
    ("lets stick with Alpine for the base image", "We no longer want Alpine as the base image. Use Wolfi."),
    ("Pick GraphQL for the API style.", "Use gRPC for the API style. GraphQL turned out too slow."),
    (
        "We agreed that the chart library is Plotly.",
        "Remember Plotly for the chart library? That is off. We go ECharts.",
    ),
    # numbers
    ("the audit retention must not exceed 400 days", "400 was wrong for the audit retention, make it 730 days."),
    ("cap the upload limit at 35 MB", "bump the upload limit to 75 MB, 35 is too low"),
]

BOTH_HOLD = [
    ("The login page uses React.", "Actually, please add a captcha to the login page."),
    ("The search index lives in src/search/conf.py.", "We'll use Deno for the search index."),
    ("Use port 8080 for the rate limiter.", "At most 30 workers for the rate limiter, no longer more."),
    ("We can't break the public API of the chat widget.", "Decided: chat widget -> Svelte"),
    (
        "I prefer Vault for the secrets store, it is the only one with Windows support.",
        "The state management will be Jotai after all, it is the only one with Windows support.",
    ),
    (
        "After talking to the team: the auth gateway is going to use Axum.",
        "After talking to the team: the cache layer is going to use Redis.",
    ),
    ("Use Vitest for the unit tests.", "Change of plan: Cypress for the browser tests."),
    ("Hard requirement: support Firefox ESR.", "Can you drop support for the XML feed?"),
    ("The report generator is read-only for guests.", "New decision on the report generator: Terraform."),
]


@pytest.mark.parametrize(("earlier", "later"), REPLACED)
@pytest.mark.parametrize("apart", [True, False], ids=["in two rounds", "in one"])
def test_a_later_choice_for_the_topic_replaces_the_earlier(earlier: str, later: str, apart: bool) -> None:
    told = user(earlier), user(OTHER), *[assistant("On with the parser.")] * 6
    begin = items_after(*told) if apart else ()
    assert sorted(decisions(*(() if apart else told), user(later), items=begin)) == sorted([OTHER, later])


@pytest.mark.parametrize(("earlier", "later"), BOTH_HOLD)
def test_what_says_something_else_of_the_topic_or_of_another_stays(earlier: str, later: str) -> None:
    assert earlier in decisions(user(later), items=items_after(user(earlier), *[assistant("Fine.")] * 6))


def test_of_a_chain_only_the_last_is_left() -> None:
    told = [
        "Let's switch the ORM layer from SQLAlchemy to Tortoise.",
        "We no longer want Tortoise as the ORM layer. Use Peewee.",
        "I changed my mind about the ORM layer, use Django.",
    ]
    assert decisions(user("Use SQLAlchemy for the ORM layer."), *map(user, told)) == [told[-1]]


def test_what_the_assistant_chose_is_replaced_too() -> None:
    later = "Make that bcrypt for the password hashing, not argon2id."
    assert decisions(assistant("I went with argon2id for the password hashing."), user(later)) == [later]


@pytest.mark.parametrize(
    "said",
    [
        "About the spreadsheet import. We're going with openpyxl.",
        "The websocket server question is settled. Centrifugo.",
        "The linter? Biome.",
        "Can we settle on Stripe for the payments? Yes, let's do that.",
        "We have to give up on Vault for the secrets. SOPS will do the job.",
        "We used to have Celery as the job queue. Now it's Dramatiq.",
        "The template engine needs to move off Liquid. Destination: Mako.",
        "Some people like to log whole requests. We do not.",
    ],
)
def test_a_choice_that_lacks_its_topic_takes_the_sentence_before(said: str) -> None:
    assert decisions(user(said)) == [said]
    assert decisions(user(f"Hmm, I see. {said} Thanks!")) == [said]


def test_what_is_only_a_choice_takes_its_title() -> None:
    assert decisions(user("geocoder:\n- Photon")) == ["geocoder: Photon"]
    assert decisions(user("upload limit\n75 MB")) == ["upload limit 75 MB"]


def test_of_sentences_that_stood_together_only_the_one_that_changed_leaves() -> None:
    held = new("decisions", "The page size is 45 rows. Take Biome for the linter.", ["m1"], "")
    found = decisions(user("The page size is 120 rows now."), items=[held])
    assert found == ["Take Biome for the linter.", "The page size is 120 rows now."]


def test_a_sentence_beside_it_names_what_it_replaces() -> None:
    begin = items_after(user("Let's use YAML for the config format."), user("Never log tokens."))
    found = decisions(user("They've talked me out of YAML. Make the config format HCL."), items=begin)
    assert "Never log tokens." in found and "Let's use YAML for the config format." not in found


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Use Redis for the cache. Use pnpm.", ["Use Redis for the cache.", "Use pnpm."]),
        ("Thanks, that looks good. Use pnpm.", ["Use pnpm."]),
        ("Use YAML for the configuration. Never log tokens.", ["Use YAML for the configuration.", "Never log tokens."]),
        ("About the import.\n\nUse pnpm.", ["Use pnpm."]),
        ("Is Textual any good for the terminal? Thanks!", []),
        ("How hard would it be to use Textual for the terminal? Carry on.", []),
    ],
)
def test_what_can_be_understood_alone_stays_alone(said: str, found: list[str]) -> None:
    assert decisions(user(said)) == found
