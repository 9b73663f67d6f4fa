"""Entries of any shape become messages; what is none is named."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.formats.chat_entries import Reading
from dagentd.formats.legacy import Rejected
from dagentd.model import ids, jsontext
from dagentd.model.documents import Message
from tests.formats.golden import x

T = "2026-01-15T10:00:00.000Z"


def _read(*entries: Any, internal: bool = False) -> Reading:
    return Reading("chat.json", internal=internal).read(entries)


def _one(entry: dict[str, Any], internal: bool = False) -> dict[str, Any]:
    (message,) = _read({"timestamp": T, **entry}, internal=internal).messages
    return message


@pytest.mark.parametrize(
    ("entry", "role", "original"),
    [
        ({"type": "user"}, "user", {}),
        ({"role": "assistant"}, "assistant", {}),
        ({"role": "system", "type": "system"}, "system", {}),
        ({"role": " User "}, "user", {}),
        ({"direction": "outgoing"}, "assistant", {}),
        ({"direction": "task_to_harness"}, "assistant", {}),
        ({"direction": "incoming"}, "user", {}),
        ({"direction": "harness_to_task"}, "user", {}),
        ({"role": "assistant", "type": "thinking"}, "assistant", {"originalType": "thinking"}),
        ({"direction": "incoming", "type": "user"}, "user", {"originalType": "user"}),
        ({"role": "tool"}, "system", {"originalType": "tool"}),
        ({"type": "error"}, "system", {"originalType": "error"}),
        ({"direction": "sideways"}, "system", {"originalType": "sideways"}),
        ({"role": "tool", "type": "error"}, "system", {"originalType": "error", "originalRole": "tool"}),
        ({"role": "tool", "type": "user"}, "user", {"originalType": "tool"}),
        ({"role": 5}, "system", {"originalType": 5}),
        ({"type": ["user"]}, "system", {"originalType": ["user"]}),
        ({"role": None, "type": None, "direction": None}, "system", {}),
        ({}, "system", {}),
    ],
)
def test_roles(entry: dict[str, Any], role: str, original: dict[str, Any]) -> None:
    message = _one({**entry, "content": "Hi"})
    assert (message["role"], message["metadata"]) == (role, {"migratedFrom": "chat.json", **original})


def test_an_internal_entry_says_its_type_whatever_that_is() -> None:
    assert _one({"type": "user", "content": "Hi"}, internal=True)["metadata"]["originalType"] == "user"
    same = _one({"direction": "outgoing", "type": "outgoing", "content": "Hi"}, internal=True)
    assert same["metadata"]["originalType"] == "outgoing"


@pytest.mark.parametrize(
    "content",
    ["", " ", "\u05e9\u05dc\u05d5\u05dd \u202eRTL", "\U0001f469\u200d\U0001f467 \ud83d", "a\0b", "x" * 5_000_000,
     "e\u0301"],
    ids=lambda content: ascii(content)[:20],
)  # fmt: skip
@pytest.mark.parametrize("key", ["content", "text"])
def test_content_is_kept_as_it_is(key: str, content: str) -> None:
    message = _one({"role": "user", key: content})
    assert message["content"] == content
    assert jsontext.decode(jsontext.encode(message)) == message


BLOCKS = [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "input": {}}]


@pytest.mark.parametrize(
    ("content", "text"),
    [(0, "0"), (False, "false"), (1.5, "1.5"), ([], ""), ({}, "{}"), (BLOCKS, "Hi\n[tool call t] {}")],
)
@pytest.mark.parametrize("key", ["content", "text"])
def test_content_that_is_no_text_is_kept_beside_one(key: str, content: Any, text: str) -> None:
    message = _one({"role": "user", key: content})
    assert message["content"] == text
    assert message["metadata"]["content"] == content and type(message["metadata"]["content"]) is type(content)
    assert jsontext.decode(jsontext.encode(message)) == message


def test_content_comes_before_text_and_text_that_says_something_else_stays() -> None:
    assert _one({"content": "a", "text": "b"}).items() >= {"content": "a", "text": "b"}.items()
    assert "text" not in _one({"content": "a", "text": "a"})
    assert _one({"content": None, "text": "b"})["content"] == "b"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (None, "is null, not an object"),
        ("Hi", "is a text, not an object"),
        (7, "is a number, not an object"),
        (True, "is true or false, not an object"),
        ([{"role": "user", "content": "Hi"}], "is a list, not an object"),
        ({}, "has no text"),
        ({"role": "user", "content": None, "text": None, "media": []}, "has no text"),
        ({"message": "Hi", "timestamp": T}, "has no text"),
    ],
)
def test_what_is_no_message_is_named_by_its_place(entry: Any, reason: str) -> None:
    found = _read({"content": "a"}, entry, {"content": "b"})
    assert found.rejected == [Rejected(1, reason)]
    assert [message["content"] for message in found.messages] == ["a", "b"]


def test_unknown_fields_stay_on_the_message_and_metadata_in_its_place() -> None:
    entry = {"role": "user", "content": "Hi", "mood": None, "x": {"y": [1]}, "metadata": {"iteration": 3, "z": None}}
    message = _one(entry)
    assert (message["mood"], message["x"]) == (None, {"y": [1]})
    assert message["metadata"] == {"iteration": 3, "z": None, "migratedFrom": "chat.json"}
    assert entry["metadata"] == {"iteration": 3, "z": None}
    assert Message.parse(message).raw() == message


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"metadata": {"toolName": "Bash", "toolInput": 0}}, {"toolUse": {"name": "Bash", "input": 0}}),
        ({"metadata": {"toolResult": "ok", "toolName": None}}, {"toolUse": {"result": "ok"}, "toolName": None}),
        ({"metadata": {"toolUse": {"name": "A"}, "toolName": "B"}}, {"toolUse": {"name": "A"}, "toolName": "B"}),
        ({"metadata": ["odd"]}, {"originalMetadata": ["odd"]}),
        ({"metadata": "odd"}, {"originalMetadata": "odd"}),
        ({"media": [{"path": "a"}], "metadata": None}, {"media": [{"path": "a"}]}),
        ({"media": "a", "metadata": {"media": "b"}}, {"media": "b"}),
        ({"id": 17}, {"originalId": 17}),
    ],
)
def test_tools_media_and_odd_metadata(entry: dict[str, Any], expected: dict[str, Any]) -> None:
    message = _one({"role": "user", "content": "Hi", **entry})
    assert message["metadata"] == {**expected, "migratedFrom": "chat.json"}
    assert message.get("media") == ("a" if entry.get("media") == "a" else None)


def test_a_name_that_is_no_text_lives_in_the_metadata() -> None:
    message = _one({"role": "user", "content": "Hi", "\ud83d": 1, "größe": 2})
    assert message["größe"] == 2
    assert message["metadata"]["\ud83d"] == 1
    assert Message.parse(message).raw() == message


def test_a_direction_beside_a_role_stays() -> None:
    assert _one({"role": "user", "direction": "outgoing", "content": "Hi"})["direction"] == "outgoing"


def test_equal_entries_are_told_apart_by_their_number() -> None:
    yes = {"role": "user", "content": "yes", "timestamp": T}
    found = _read(yes, {**yes, "role": "assistant"}, yes, 5, yes)
    numbers = [("user", 0), ("assistant", 0), ("user", 1), ("user", 2)]
    assert [message["id"] for message in found.messages] == [x("chat.json", r, T, "yes", n) for r, n in numbers]


def test_ids_are_the_stores_own_for_the_same_entries() -> None:
    """A file that is canonical already gets the same ids when it is read in place."""
    naming = ids.Naming("chat.json")
    entries = [{"role": "user", "content": c, "timestamp": t} for c in ("a", [1], "\ud800") for t in (T, None, 5, T)]
    named = [naming.id_of(None, entry["role"], entry["timestamp"], entry["content"]) for entry in entries]
    assert [message["id"] for message in _read(*entries).messages] == named


def test_those_that_have_their_id_from_us_are_counted_among_their_equals() -> None:
    """Else an equal entry that was added since would get the id of the first, and be taken for it."""
    yes = {"role": "user", "content": "yes", "timestamp": T}
    given = _read(yes).messages[0]["id"]
    found = _read({**yes, "id": given}, yes).messages
    assert [message["id"] for message in found] == [x("chat.json", "user", T, "yes", n) for n in (0, 1)]


def test_one_id_is_one_message() -> None:
    first = {"id": "m", "role": "user", "content": "a", "timestamp": T}
    found = _read(first, {**first, "content": "b"}, first, {**first, "timestamp": 5}, {**first, "content": "b"})
    names = [message["id"] for message in found.messages]
    assert names[0] == "m"
    assert all(name.startswith("m~") for name in names[1:])
    assert len(set(names)) == 3
    again = "repeats another entry: the same id, role, time and content"
    assert found.rejected == [Rejected(2, again), Rejected(4, again)]


@pytest.mark.parametrize("given", [None, "", 5, ["m"], {}])
def test_what_is_no_id_is_replaced(given: Any) -> None:
    assert _one({"id": given, "role": "user", "content": "a"})["id"] == x("chat.json", "user", T, "a")


def test_what_could_not_be_read_again_is_no_message() -> None:
    """A chat holds an entry's inner parts deeper than the original did."""

    def nested(levels: int) -> dict[str, Any]:
        inner: Any = "x"
        for _ in range(levels):
            inner = [inner]
        return {"role": "user", "content": "Hi", "metadata": {"toolInput": inner}}

    found = _read(nested(150), nested(197))
    assert found.rejected == [Rejected(1, "is nested too deeply")]
    for levels in range(180, 200):
        for message in _read(nested(levels)).messages:
            assert jsontext.decode(jsontext.encode({"messages": [message]}))
