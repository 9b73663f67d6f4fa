"""The model of the tests answers by the protocol, and its operations come to items that know everything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from dagentd.model.compaction import prompt
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.operations import Operation, perform
from dagentd.model.compaction.turns import turn
from tests.model_by_protocol import Model
from tests.planted import Conversation, Score, conversation

OPERATIONS: TypeAdapter[list[Operation]] = TypeAdapter(list[Operation])


@pytest.fixture(scope="module")
def planted() -> Conversation:
    return conversation(11, "held_out", messages=220)


def asked(items: Sequence[Item], messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    turns = [turn(message) for message in messages]
    text = prompt.ask(items, turns, {each.id: f"m{number}" for number, each in enumerate(turns)})
    return {"model": "claude-haiku-5-5", "messages": [{"role": "user", "content": text}]}


def compacted(planted: Conversation, model: Model) -> tuple[list[Item], list[Score]]:
    """Round after round; aliases become ids again as the engine would do it."""
    items: list[Item] = []
    scores = []
    for number, messages in enumerate(planted.rounds, start=1):
        reply = model.answer(asked(items, messages))
        assert reply["stop_reason"] == "end_turn"
        operations = OPERATIONS.validate_json(json.dumps(json.loads(reply["content"][0]["text"])["operations"]))
        ids = {f"m{position}": message["id"] for position, message in enumerate(messages)}
        named = [one.model_copy(update={"sources": tuple(ids[alias] for alias in one.sources)}) for one in operations]
        items, _ = perform(items, named, "")
        scores.append(planted.score(items, number))
    return items, scores


def test_a_model_without_faults_keeps_everything_round_after_round(planted: Conversation) -> None:
    model = Model(planted)

    _, scores = compacted(planted, model)

    for score in scores:
        assert score.lost == () and score.old_sides == () and score.stale == () and score.distracted == ()
        assert (score.sourceless, score.misattributed) == (0, 0)
    used = {operation["op"] for answer in model.answers for operation in answer}
    assert used == {"add", "move", "resolve", "supersede"}


def test_sources_are_the_messages_in_which_the_facts_were_planted(planted: Conversation) -> None:
    items, _ = compacted(planted, Model(planted))

    told = {source for item in items for source in item.sources}
    missing = [fact for fact in planted.facts if fact.live(5) and fact.message not in told]
    assert [fact for fact in missing if fact.kind not in ("completed", "error")] == []


def test_faults_can_be_set_and_are_repeatable(planted: Conversation) -> None:
    _, poor = compacted(planted, Model(planted, forgets=0.5, seed=1))
    _, again = compacted(planted, Model(planted, forgets=0.5, seed=1))
    exact, _ = compacted(planted, Model(planted))
    wrong, _ = compacted(planted, Model(planted, miscites=1.0))

    assert 0.2 < poor[-1].share() < 0.8
    assert poor == again
    assert {item.id for item in wrong} == {item.id for item in exact}
    assert [replace(item, sources=()) for item in wrong] == [replace(item, sources=()) for item in exact]
    assert wrong != exact
