"""For any legacy document: all that was said is preserved, in order, under ids that stay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagentd.formats import legacy
from dagentd.formats.legacy import Converted
from dagentd.model import jsontext
from dagentd.model.documents import AgentDescription, Checkpoint, Context, Message, Session
from dagentd.model.jsontext import Undecodable
from tests.formats.documents import LISTS, PLACES, anything, damaged, document, entries, no_message

SHAPES = sorted(PLACES)
shapes = st.sampled_from(SHAPES)
patient = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def _convert(raw: Any, shape: str) -> Converted:
    source = legacy.source_at(PLACES[shape], "auth")
    assert source is not None
    return legacy.convert(raw, shape, source)


def _read_again(raw: Any) -> Any:
    """As a file holds it: NaN and the infinite are null in JSON."""
    return jsontext.decode(jsontext.encode(raw))


def _content(message: dict[str, Any]) -> Any:
    """As it was: what was no text is kept beside the text that shows it."""
    assert isinstance(message["content"], str)
    return message["metadata"].get("content", message["content"])


def _said(entry: dict[str, Any]) -> Any:
    return entry["text"] if "text" in entry else entry["content"]


@patient
@given(shapes, entries, st.lists(no_message, max_size=4), st.randoms(use_true_random=False))
def test_all_that_was_said_is_there_in_order(shape: str, good: list[Any], bad: list[Any], random: Any) -> None:
    held = list(good)
    for each in bad:
        held.insert(random.randint(0, len(held)), each)
    raw = _read_again(document(shape, held))
    found = _convert(raw, shape)
    repeated = {one.index for one in found.rejected if one.reason.startswith("repeats")}
    read = (raw["chat"] if shape == "L5" else raw)[LISTS[shape]]
    expected = [_said(one) for i, one in enumerate(read) if isinstance(one, dict) and one and i not in repeated]
    assert [_content(message) for message in found.messages] == expected
    assert len(found.rejected) == len(bad) + len(repeated)
    for index in repeated:  # not one is lost by it: the same is there under the same id
        assert any(_said(read[index]) == _said(one) for one in read[:index] if isinstance(one, dict) and one)


@patient
@given(shapes, entries)
def test_messages_are_canonical(shape: str, held: list[Any]) -> None:
    found = _convert(_read_again(document(shape, held)), shape)
    assert len({message["id"] for message in found.messages}) == len(found.messages)
    for message in found.messages:
        assert list(message)[:5] == ["id", "role", "content", "timestamp", "metadata"]
        assert message["role"] in ("user", "assistant", "system")
        assert isinstance(message["timestamp"], str)
        assert message["metadata"]["migratedFrom"] == PLACES[shape]
        assert message["metadata"].get("internal") == (True if shape == "L2" else None)
        assert _read_again(message) == Message.parse(message).raw() == message
    Session.parse({"id": found.session_id, **found.fields})


@patient
@given(shapes, entries, entries, st.booleans())
def test_a_file_that_grew_gives_the_old_messages_first(shape: str, old: list[Any], new: list[Any], dated: bool) -> None:
    raw, grown = _read_again(document(shape, old)), _read_again(document(shape, old + new))
    for whole in (raw, grown):
        if not dated:
            (whole["chat"] if shape == "L5" else whole).pop("createdAt")
    before, after = _convert(raw, shape).messages, _convert(grown, shape).messages[: len(_convert(raw, shape).messages)]
    if dated:
        assert after == before
    assert [(one["id"], one["role"], one["content"]) for one in after] == [
        (one["id"], one["role"], one["content"]) for one in before
    ]


@patient
@given(shapes, st.data())
def test_damage_takes_nothing_from_other_entries(shape: str, data: st.DataObject) -> None:
    raw = _read_again(data.draw(damaged(shape)))
    try:
        found = _convert(raw, shape)
    except Undecodable as error:
        assert str(error)
        return
    assert found == _convert(_read_again(raw), shape)
    assert raw == _read_again(raw)
    chat = (raw.get("chat") or {}) if shape == "L5" else raw
    other = "messages" if LISTS[shape] == "entries" else "entries"
    held: list[Any] = next((chat[name] for name in (LISTS[shape], other) if chat.get(name) is not None), [])
    assert len(found.messages) + len(found.rejected) == len(held)
    refused = {one.index for one in found.rejected}
    kept = [one for index, one in enumerate(held) if index not in refused]
    for entry, message in zip(kept, found.messages, strict=True):
        said = next((entry[key] for key in ("content", "text") if entry.get(key) is not None), "")
        assert _content(message) == said
    for index in refused:
        one = held[index]
        silent = isinstance(one, dict) and one.get("content") is None and one.get("text") is None
        repeats = next(each.reason for each in found.rejected if each.index == index).startswith("repeats")
        assert not isinstance(one, dict) or silent or repeats


@patient
@given(anything, shapes)
def test_any_document_at_all_is_converted_or_refused_with_a_sentence(raw: Any, shape: str) -> None:
    raw = _read_again(raw)
    source = legacy.source_at(PLACES[shape], "auth")
    assert source is not None
    assert legacy.recognise(raw, source) in (shape, None)
    try:
        found = _convert(raw, shape)
    except Undecodable as error:
        assert str(error)
    else:
        assert found.fields["status"] == "active"
        assert _read_again(found.fields) == found.fields


@patient
@given(st.fixed_dictionaries({}, optional={
    "checkpoint": st.fixed_dictionaries({}, optional={
        "version": anything, "createdAt": anything, "tokens": anything,
        "summary": anything.filter(lambda value: not isinstance(value, dict)) | st.dictionaries(
            st.sampled_from(["completedItems", "completed", "pendingItems", "decisions", "blockers", "mood"]), anything
        ),
    }),
    "context": st.fixed_dictionaries({}, optional={
        "type": anything, "taskId": anything, "tokens": anything, "claudeMd": anything,
        "project": anything | st.dictionaries(st.sampled_from(["structure", "claudeMd", "recentCommits"]), anything),
        "task": anything | st.dictionaries(st.sampled_from(["title", "dependencies", "dependents"]), anything),
    }),
    "agent-description": st.fixed_dictionaries({}, optional={
        "agentType": anything | st.sampled_from(["pm", "qa"]), "role": anything, "instructions": anything,
        "allowedTools": anything, "toolInstructions": anything, "createdAt": anything,
    }),
}))  # fmt: skip
def test_any_of_the_other_documents_becomes_one_that_can_be_read(raw: Any) -> None:
    raw = _read_again(raw)
    found = _convert(raw, "L5")
    assert (found.checkpoint is None, found.context is None) == ("checkpoint" not in raw, "context" not in raw)
    assert found.checkpoint is None or Checkpoint.parse(found.checkpoint).version >= 1
    assert found.context is None or Context.parse(found.context)
    assert found.agent_description is None or AgentDescription.parse(found.agent_description)
    leaves = {value for value in _leaves(found.checkpoint) if isinstance(value, str)}
    assert {value for value in _leaves(raw.get("checkpoint", {}).get("summary")) if isinstance(value, str)} <= leaves


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (dict, list)):
        return [leaf for item in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(item)]
    return [value]


@pytest.mark.parametrize("shape", SHAPES)
def test_fifty_thousand_entries(shape: str) -> None:
    """That the time grows with their number is for the bench to show; here that none is lost."""
    word = {"direction": "outgoing"} if shape == "L2" else {"role": "user"}
    held = [{**word, "content": f"{i % 1000}", "timestamp": 1705488000000 + i // 5000} for i in range(50_000)]
    found = _convert(document(shape, held), shape)
    assert len({message["id"] for message in found.messages}) == 50_000
    assert [message["content"] for message in found.messages] == [entry["content"] for entry in held]
