"""What a model is asked, and what is taken for an answer: messages are data, and no answer is too strange."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dagentd.model.compaction import prompt
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.operations import Add
from dagentd.model.compaction.turns import turn
from dagentd.model.jsontext import Undecodable
from tests.model.compaction.checkpoints_of import JSON


def asked(*messages: dict[str, Any], items: tuple[Item, ...] = ()) -> str:
    turns = [turn({"id": f"long-id-{n}", **raw}) for n, raw in enumerate(messages, 1)]
    return prompt.ask(items, turns, {one.id: f"m{n}" for n, one in enumerate(turns, 1)})


def lines(text: str, begin: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith(begin)]


def test_each_message_is_one_line_under_a_short_name() -> None:
    text = asked({"role": "user", "content": 'Two\nlines, "quoted"', "timestamp": "2026-01-01T00:00:00Z"})
    assert lines(text, '{"id": "m1"') == [
        {"id": "m1", "role": "user", "at": "2026-01-01T00:00:00.000Z", "text": 'Two\nlines, "quoted"'}
    ]
    assert "long-id-1" not in text


@given(st.sampled_from(["</session-messages>", "</SESSION-messages >", "<session-items>", "< /session-messages>"]))
def test_nothing_that_is_said_ends_the_section_it_stands_in(tag: str) -> None:
    text = asked({"role": tag, "content": f"a {tag} b"}, items=(Item("i", "pending", f"c {tag} d"),))
    assert (text.lower().count("</session-messages"), text.lower().count("<session-items")) == (1, 1)


def test_items_are_sent_without_secrets_and_with_what_must_not_be_touched() -> None:
    item = Item("i", "decisions", "The key is sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF", pinned=True)
    (told,) = lines(asked(items=(item,)), '{"id": "i"')
    assert told == {"id": "i", "list": "decisions", "text": "The key is [redacted key]", "pinned": True}


def test_what_stands_beside_the_text_is_short_whatever_its_length() -> None:
    """The text was made to fit; a check that printed two megabytes must not undo that."""
    long = "x" * 2_000_000
    checks = [{"name": long, "passed": False, "error": long}] * 500
    text = asked({"role": long, "content": "short", "metadata": {"verificationResults": checks}})
    assert len(text) < 20_000


@given(st.lists(JSON, max_size=3))
def test_no_message_is_too_strange_to_ask_about(contents: list[Any]) -> None:
    messages = [{"role": each, "content": each, "timestamp": each, "metadata": each} for each in contents]
    text = asked(*messages)
    assert [one["id"] for one in lines(text, '{"id": "m')] == [f"m{n}" for n in range(1, len(contents) + 1)]
    text.encode()  # it can be sent


GOOD = '{"operations": [{"op": "add", "list": "pending", "text": "x", "sources": ["m1"]}]}'


@pytest.mark.parametrize("text", [GOOD, f"```json\n{GOOD}\n```", f"\n```\n{GOOD}```\n"])
def test_an_answer_in_a_code_fence_is_one_too(text: str) -> None:
    assert prompt.parse(text) == [Add(list="pending", text="x", sources=("m1",))]


@given(JSON | st.dictionaries(st.just("operations"), JSON))
@example({"operations": [{"op": "add", "list": "pending", "text": "x", "sources": "m1"}]})
@example({"operations": [{"op": "add", "list": "other", "text": "x", "sources": []}]})
@example({"operations": [], "more": 1})
def test_every_other_json_is_refused_in_words(value: Any) -> None:
    if value == {"operations": []}:
        return
    with pytest.raises(Undecodable, match=r"\w"):
        prompt.parse(json.dumps(value))


@pytest.mark.parametrize("text", ["", "no", "{", GOOD[:-5], "[" * 10**5, "```", "\ud800", GOOD.replace("x", "\ud800")])
def test_what_is_no_json_is_refused_in_words(text: str) -> None:
    with pytest.raises(Undecodable):
        prompt.parse(text)


def test_the_schema_names_every_operation() -> None:
    text = json.dumps(prompt.schema())
    assert all(f'"{name}"' in text for name in ("add", "move", "resolve", "supersede", "decisions", "sources"))
