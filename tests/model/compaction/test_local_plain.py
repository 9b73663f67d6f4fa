"""What a user says plainly is kept, however he leads up to it, with what it needs to be understood; nothing of it takes
the place of what is about something else."""

from __future__ import annotations

import pytest

from tests.model.compaction.said import after, decisions, user


def kept(*said: str) -> list[str]:
    lists = after(*map(user, said))
    return [*lists["decisions"], *lists["pending"]]


@pytest.mark.parametrize(
    "said",
    [
        "The thumbnails are left to crop, could you see to that?",
        "We were hoping to get you to warn about stale locks.",
        "We want you to trim the log lines.",
        "Can I trust you to squash the fixtures?",
        "I'd be glad if we could sort imports each time.",
        "Is compulsory to quote every identifier.",
        "60 was perhaps too low for the batch size; 90 rows.",
        "The shortlist got shorter, and I have signed it: Caddy.",
        "Remember about the release: tag every image.",
        "My wish list has one entry: rotate the tokens.",
        "Looks fine except for the reverse proxy, that one needs Caddy.",
        "🚫 print from the worker threads",
    ],
)
def test_a_plain_statement_is_kept_however_it_is_led_up_to(said: str) -> None:
    assert kept(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Maybe Caddy for the proxy; maybe not.",
        "One option for the proxy might be this: Caddy.",
        "Is Caddy any good",
        "Looks good, thanks, see you on Monday!",
        "A friend told me this: take Caddy for the proxy.",
    ],
)
def test_questions_guesses_and_hearsay_are_not(said: str) -> None:
    assert kept(said) == []


@pytest.mark.parametrize(
    ("said", "needed"),
    [
        ("Given a new tenant\nWhen the quota is read\nThen it shows 70 seats", ("quota", "70 seats")),
        ("> and what do we take for the proxy?\n\nCaddy, since it does TLS.", ("proxy", "Caddy")),
        ("- > and for the proxy?\n\nCaddy, since it does TLS.", ("proxy", "Caddy")),
        ("I fear nginx is the wrong fit for the proxy. Caddy shall be its heir.", ("proxy", "Caddy")),
    ],
)
def test_what_is_not_understood_alone_is_kept_with_what_it_needs(said: str, needed: tuple[str, ...]) -> None:
    assert any(all(word in held for word in needed) for held in kept(said))


def test_code_in_a_list_ends_where_it_ends() -> None:
    rule = "Never ship with the debug flag."
    assert kept(f"- ```toml\n  debug = true\n  ```\n- {rule}") == [rule]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("nit: retry budget ought to read 25 calls", "nit: thumbnail width ought to read 180 px"),
        (
            "The lexer is built around pest from today on, as it is the only one with decent Linux support.",
            'our queue ticket got closed with "NATS, because it is the only one with decent Linux support", do it so',
        ),
        (
            'our proxy ticket got closed with "Caddy, because nobody wants certificates by hand", do it so',
            "Any mention of Kafka in this ticket is obsolete.",
        ),
        (
            "reverse proxy: rolling out Caddy on all nodes tonight, code against that",
            "purging RabbitMQ from the nodes tonight, event bus comes back up on NATS",
        ),
    ],
)
def test_what_is_about_something_else_takes_no_place(one: str, other: str) -> None:
    assert one in decisions(user(one), user("Use pnpm for the packages."), user(other))
