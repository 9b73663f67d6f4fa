"""What is taken for an answer: JSON wherever it stands, each operation for itself, and nothing good thrown away."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.compaction.operations import (
    Add,
    Drop,
    Move,
    Operation,
    Resolve,
    Set,
    Supersede,
    operations_in,
    parse_operation,
)
from dagentd.model.jsontext import Undecodable
from tests.model.compaction.checkpoints_of import JSON

ONE = {"op": "add", "list": "pending", "text": "x", "sources": ["m1"]}
GOOD = json.dumps({"operations": [ONE]})


@pytest.mark.parametrize("text", [
    GOOD, f"```json\n{GOOD}\n```", f"\n```\n{GOOD}```\n", f"Here is what I found [1]:\n\n{GOOD}\n\nDoes {{x}} help?",
    json.dumps([ONE]), f"The operations:\n{json.dumps(ONE)}", json.dumps(ONE, indent=2), f'{{"thought": "hm"}} {GOOD}',
    f'{{"operations": [{json.dumps(ONE)}, {{"op": "add", "list": "pend', GOOD[:-1] + ",}", GOOD.replace("}]", "},]"),
])  # fmt: skip
def test_json_is_found_in_prose_and_beside_what_is_broken(text: str) -> None:
    assert operations_in(text) == [ONE]


@pytest.mark.parametrize("text", ["", "no", "{", "I would rather not.", '{"operations": "none"}', "{}", '{"x": 1}'])
def test_what_has_no_operations_is_no_answer(text: str) -> None:
    assert operations_in(text) is None


def test_no_operations_at_all_are_an_answer() -> None:
    assert operations_in('{"operations": []}') == operations_in("```\n[]\n```") == []


@pytest.mark.parametrize("text", ["[" * 10**5, '{"a":' * 10**5, "{" * 10**5, '[{"a":' * 50_000, '"\ud800'])
def test_nothing_is_too_strange_to_be_looked_at(text: str) -> None:
    assert operations_in(text) is None


OPERATIONS: list[tuple[dict[str, Any], Operation]] = [
    (ONE, Add("pending", "x", ("m1",))),
    ({"list": "facts", "text": "x", "sources": ["m1"]}, Add("facts", "x", ("m1",))),
    ({"op": "ADD", "list": "In progress", "text": " x ", "sources": "m1, m2"}, Add("inProgress", "x", ("m1", "m2"))),
    ({"item": "a", "to": "completed", "sources": [3]}, Move("a", "completed", ("m3",))),
    ({"item": "a", "to": "completed", "text": "y", "sources": ["m3"]}, Move("a", "completed", ("m3",), "y")),
    ({"item": "[a]", "text": "y", "quote": "z", "sources": ["m3"]}, Supersede("a", "y", ("m3",), "z")),
    ({"item": "a", "sources": ["m3"]}, Resolve("a", ("m3",))),
    ({"op": "drop", "id": "a"}, Drop("a")),
    ({"goal": "Ship it", "sources": ["m1"]}, Set("goal", "Ship it", ("m1",))),
    ({"op": "set", "field": "next", "text": "Run it"}, Set("next", "Run it")),
    ({"op": "set", "next": "Run it"}, Set("next", "Run it")),
    ({"op": "add", "list": "pending", "text": "half \ud800", "sources": []}, Add("pending", "half ?", ())),
]


@pytest.mark.parametrize(("raw", "wanted"), OPERATIONS)
def test_what_it_is_follows_from_its_fields(raw: dict[str, Any], wanted: Operation) -> None:
    assert parse_operation(raw) == wanted


@pytest.mark.parametrize("raw", [
    {"op": "add", "list": "other", "text": "x"}, {"op": "merge", "item": "a"}, {"op": "move", "to": "pending"},
    {"op": "set", "field": "title", "text": "x"}, {"text": "x"}, {"op": "fly"},
])  # fmt: skip
def test_what_cannot_be_told_is_refused_in_words(raw: dict[str, Any]) -> None:
    with pytest.raises(Undecodable, match=r"\w"):
        parse_operation(raw)


@given(JSON | st.dictionaries(st.just("operations"), JSON))
def test_every_json_is_read_or_refused(value: Any) -> None:
    for raw in operations_in(json.dumps(value)) or ():
        try:
            parse_operation(raw)
        except Undecodable as error:
            assert str(error)
