"""The judge is judged: what it plants is really said, and its score tells good items from bad ones."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from dagentd.model.compaction.items import Item, new
from dagentd.model.compaction.turns import turn
from tests.planted import KINDS, Conversation, Fact, Half, conversation
from tests.planted.conversation import HALVES
from tests.planted.scoring import mentions, still_open, still_says, tells


@pytest.fixture(scope="module", params=[(half, seed) for half in HALVES for seed in (7, 8)], ids=str)
def planted(request: pytest.FixtureRequest) -> Conversation:
    half, seed = request.param
    return conversation(seed, half)


def perfect(planted: Conversation, rounds: int = 5) -> list[Item]:
    return [new(fact.list, fact.text, [fact.message], "") for fact in planted.facts if fact.live(rounds)]


def test_equal_seeds_give_equal_conversations_and_others_do_not() -> None:
    assert conversation(3) == conversation(3)
    assert conversation(3).rounds != conversation(4).rounds
    assert conversation(3).rounds != conversation(3, "held_out").rounds


def test_a_conversation_is_long_and_has_facts_of_every_kind_in_every_form(planted: Conversation) -> None:
    assert len(planted.rounds) == 5 and all(295 <= len(each) <= 315 for each in planted.rounds)
    live = Counter(fact.kind for fact in planted.facts if fact.live(5))
    assert all(live[kind] >= 7 for kind in KINDS), live
    assert 60 <= sum(live.values()) <= 120
    assert {fact.round for fact in planted.facts} == set(range(5))
    replaced = [fact for fact in planted.facts if fact.successor]
    gaps = [_position(planted, fact.over_by) - _position(planted, fact.message) for fact in replaced]
    assert min(gaps) > 0 and max(gaps) > 300
    fixed = [fact for fact in planted.facts if fact.kind == "error" and fact.over is not None]
    assert fixed
    metadata = {key for message in planted.messages for key in message.get("metadata", {})}
    assert {"toolUse", "verificationResults", "internal", "iteration"} <= metadata
    assert any(isinstance(message["content"], list) for message in planted.messages)


def test_messages_are_as_the_app_stores_them(planted: Conversation) -> None:
    ids = [message["id"] for message in planted.messages]
    assert len(set(ids)) == len(ids)
    times = [message["timestamp"] for message in planted.messages]
    assert times == sorted(times) and all(time.endswith("Z") for time in times)
    assert {message["role"] for message in planted.messages} == {"user", "assistant"}
    json.dumps(planted.messages)


def test_every_fact_is_in_the_message_that_is_said_to_hold_it(planted: Conversation) -> None:
    by_id = {message["id"]: message for message in planted.messages}
    for fact in planted.facts:
        assert fact.message in {message["id"] for message in planted.rounds[fact.round]}
        assert mentions(_everything(by_id[fact.message]), fact.needs), fact
        assert fact.said.casefold().lstrip("-* ") in _everything(by_id[fact.message]).casefold(), fact
    for distractor in planted.distractors:
        assert mentions(_everything(by_id[distractor.message]), distractor.needs), distractor


def test_what_failed_and_what_was_done_is_seen_by_its_evidence(planted: Conversation) -> None:
    turns = {message["id"]: turn(message) for message in planted.messages}
    for fact in planted.facts:
        seen = turns[fact.message]
        if fact.kind == "error":
            assert any(tool.failed for tool in seen.tools) or any(not check.passed for check in seen.checks)
        if fact.kind == "completed":
            assert any(tool.failed is False for tool in seen.tools) or all(check.passed for check in seen.checks)


def test_only_what_was_planted_tells_a_fact(planted: Conversation) -> None:
    """No other message says by accident what a fact says, but for a new side that names the old one."""
    words = {message["id"]: turn(message).words for message in planted.messages}
    for fact in planted.facts:
        if fact.kind in ("decision", "reversal", "constraint", "path", "number"):
            allowed = {fact.message, fact.over_by}
            others = [said for id, said in words.items() if id not in allowed]
            assert [said for said in others if mentions(said, fact.needs)] == [], fact


@pytest.mark.parametrize(("one", "other"), tuple(combinations(HALVES, 2)))
def test_no_two_sets_share_a_phrasing(one: Half, other: Half) -> None:
    for form, phrases in vars(HALVES[one]).items():
        assert not {_plain(said) for said in phrases} & {_plain(said) for said in vars(HALVES[other])[form]}, form


SLOTS = {
    ("decision", "resolution", "change", "question", "hypothesis", "hearsay", "proposal"): {"topic", "choice"},
    ("reversal",): {"topic", "choice", "old"},
    ("never", "must", "request", "quotation", "injection"): {"core"},
    ("number",): {"subject", "value", "unit"},
    ("renumbering",): {"subject", "value", "unit", "old"},
    ("place",): {"what", "path"},
    ("later", "noted", "opening", "closing"): set(),
}


@pytest.mark.parametrize("half", HALVES)
def test_every_phrasing_names_what_it_is_about_and_comes_once(half: Half) -> None:
    needed = {form: slots for forms, slots in SLOTS.items() for form in forms}
    for form, phrases in vars(HALVES[half]).items():
        assert len(set(phrases)) == len(phrases), form
        for said in phrases:
            slots = {slot for _, slot, _, _ in string.Formatter().parse(said) if slot}
            assert slots - {"other", "why"} == needed[form], said


@pytest.mark.parametrize("rounds", range(1, 6))
def test_perfect_items_score_all(planted: Conversation, rounds: int) -> None:
    score = planted.score(perfect(planted, rounds), rounds)

    assert score.lost == () and score.share() == 1.0
    assert score.planted == score.kept
    assert (score.old_sides, score.stale, score.distracted) == ((), (), ())
    assert (score.sourceless, score.misattributed) == (0, 0)


def test_items_in_the_words_of_the_messages_score_all(planted: Conversation) -> None:
    """Whoever keeps what was said, as it was said, has kept it."""
    items = [new(fact.list, fact.said, [fact.message], "") for fact in planted.facts if fact.live(5)]

    assert planted.score(items).lost == ()


def test_no_items_score_nothing(planted: Conversation) -> None:
    score = planted.score([])

    assert score.share() == 0.0 and set(score.kept.values()) == {0}
    assert len(score.lost) == sum(score.planted.values())
    assert (score.old_sides, score.stale, score.distracted) == ((), (), ())


def test_a_fact_that_is_left_out_is_told_by_name(planted: Conversation) -> None:
    items = perfect(planted)
    gone = items.pop(10)

    score = planted.score(items)

    assert [fact.message for fact in score.lost] == list(gone.sources)
    assert score.share() == 1 - 1 / sum(score.planted.values())
    assert score.share(score.lost[0].kind) < 1.0


def test_an_old_side_that_stays_is_noticed(planted: Conversation) -> None:
    old = [fact for fact in planted.facts if fact.successor]
    kept = [new("decisions", fact.text, [fact.message], "") for fact in old]

    score = planted.score([*perfect(planted), *kept])

    assert set(map(id, score.old_sides)) == set(map(id, old))
    assert score.share() == 1.0


def test_an_item_that_tells_the_reversal_itself_is_no_old_side() -> None:
    newer = Fact("2", "reversal", "decisions", "", (("Valkey",), ("session cache",)))
    old = Fact("1", "decision", "decisions", "", (("Redis",), ("session cache",)), successor=newer)

    assert still_says(_item("Use Redis for the session cache"), old)
    assert not still_says(_item("Use Valkey instead of Redis for the session cache"), old)
    assert not still_says(replace(_item("Use Redis for the session cache"), resolved=True), old)


def test_what_is_done_or_fixed_is_stale_while_it_is_listed_as_open(planted: Conversation) -> None:
    over = [fact for fact in planted.facts if fact.over is not None and not fact.successor]
    assert {fact.kind for fact in over} == {"request", "error"}
    items = [new(fact.list, fact.text, [fact.message], "") for fact in over]

    assert set(map(id, planted.score(items).stale)) == set(map(id, over))
    assert planted.score([replace(item, resolved=True) for item in items]).stale == ()
    assert not still_open(replace(items[0], list="completed"), over[0])


def test_a_distractor_that_became_an_item_is_noticed(planted: Conversation) -> None:
    items = [new("decisions", one.said, [one.message], "") for one in planted.distractors]

    assert len(planted.score(items).distracted) == len(planted.distractors)
    assert {one.kind for one in planted.distractors} >= {"question", "hypothesis", "quotation", "injection"}


def test_items_without_a_source_or_with_a_strange_one_are_counted(planted: Conversation) -> None:
    items = [_item("a"), replace(_item("b"), sources=("nobody",)), *perfect(planted)]

    score = planted.score(items)

    assert (score.sourceless, score.misattributed) == (1, 1)
    later = next(fact for fact in planted.facts if fact.round == 4)
    assert planted.score([replace(_item("c"), sources=(later.message,))], rounds=4).misattributed == 1


DECISION = Fact("1", "decision", "decisions", "", (("PostgreSQL",), ("orders database", "orders")), said="use it")
NUMBER = Fact("2", "number", "decisions", "", (("40", "40"), ("pool",)), said="pool 40")
NEVER = Fact("3", "constraint", "decisions", "", (("request bodies",), ("not", "never")), said="never log")
PLACE = Fact("4", "path", "decisions", "", (("db/new/a.sql",), ("schema",)), said="schema")
ERROR = Fact("5", "error", "blockers", "", (('column "x" does not exist',),), said="column")
OPEN = Fact("6", "request", "pending", "", (("--dry-run",), ("importer",)), said="add it")


@pytest.mark.parametrize(
    ("fact", "text", "told"),
    [
        (DECISION, "Use PostgreSQL for the orders database", True),
        (DECISION, "we take **postgresql** for orders, it is known here", True),
        (DECISION, "PostgreSQL", False),
        (DECISION, "The orders database", False),
        (DECISION, "Should we use PostgreSQL for the orders database?", False),
        (DECISION, "Use PostgreSQL for the orders database. Does that work for you?", True),
        (DECISION, "use PostgreSQL for the orders database Does that work for you?", True),
        (NUMBER, "Connection pool: 40 connections", True),
        (NUMBER, "Connection pool of 40.", True),
        (NUMBER, "Connection pool: 400 connections", False),
        (NUMBER, "Connection pool: 1.40", False),
        (NUMBER, "40 of the tests passed", False),
        (NEVER, "Don't log request bodies", True),
        (NEVER, "dont log request bodies", True),
        (NEVER, "Log request bodies", False),
        (PLACE, "The schema is db/new/a.sql.", True),
        (PLACE, "The schema is db/new/a.sql.old", True),
        (PLACE, "The schema is db/new/a.sqlite", False),
        (ERROR, 'migration failed: column "x" does not exist', True),
        (ERROR, '{"stderr": "column \\"x\\" does not exist"}', True),
        (ERROR, "a column does not exist", False),
        (OPEN, "can you add a `--dry-run` flag to the importer?", True),
    ],
)
def test_a_reader_of_the_item_would_know(fact: Fact, text: str, told: bool) -> None:
    assert tells(replace(_item(text), list=fact.list), fact) is told


@pytest.mark.parametrize("fact", [DECISION, OPEN, ERROR])
def test_what_is_listed_as_completed_or_resolved_tells_no_open_fact(fact: Fact) -> None:
    item = _item(" ".join(group[0] for group in fact.needs))
    assert tells(item, fact)
    assert not tells(replace(item, list="completed"), fact)
    assert not tells(replace(item, resolved=True), fact)


def _item(text: str) -> Item:
    return Item("i", "decisions", text)


def _everything(message: Any) -> str:
    """What a process said stands in the text of a turn as JSON, with its quotes escaped."""
    checks = turn(message).checks
    return "\n".join((turn(message).text.replace('\\"', '"'), *(f"{check.name} {check.error}" for check in checks)))


def _position(planted: Conversation, id: str) -> int:
    return [message["id"] for message in planted.messages].index(id)


def _plain(phrase: str) -> str:
    """A colon or an equals sign may be all that a phrasing has of its own; commas and full stops are not."""
    return " ".join(re.sub(r"[.,;!?|`]", " ", phrase.casefold()).split()).strip("-* ")
