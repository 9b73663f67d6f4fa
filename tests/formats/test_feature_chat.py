"""L1 and L3: the old chats of a feature and of a task's planning."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.formats.legacy import Rejected
from dagentd.model.jsontext import Undecodable
from tests.formats.golden import converted, x

T = "2026-01-15T10:00:00.000Z"


def test_the_chat_of_the_documents() -> None:
    found = converted(
        "chat.json",
        {
            "entries": [
                {"type": "user", "text": "Create a login feature", "timestamp": "2026-01-15T10:00:00.000Z"},
                {"type": "assistant", "text": "I'll create it", "timestamp": "2026-01-15T10:00:05.000Z"},
            ]
        },
        "L1",
    )
    assert (found.format, found.session_id, found.alias) == ("L1", "pm-feature-auth", None)
    assert found.fields == {
        "type": "feature",
        "agentType": "pm",
        "featureId": "auth",
        "createdAt": "2026-01-15T10:00:00.000Z",
        "status": "active",
    }
    assert found.messages == [
        {
            "id": "x-6f2147aba79d834ece5d7bb4cb5c272e",
            "role": "user",
            "content": "Create a login feature",
            "timestamp": "2026-01-15T10:00:00.000Z",
            "metadata": {"migratedFrom": "chat.json"},
        },
        {
            "id": x("chat.json", "assistant", "2026-01-15T10:00:05.000Z", "I'll create it"),
            "role": "assistant",
            "content": "I'll create it",
            "timestamp": "2026-01-15T10:00:05.000Z",
            "metadata": {"migratedFrom": "chat.json"},
        },
    ]
    assert found.rejected == []
    assert (found.chat, found.checkpoint, found.context, found.agent_description) == ({}, None, None, None)


def test_the_chat_of_the_app_mixed_with_the_other_and_with_what_is_no_message() -> None:
    entries: list[Any] = [
        {"role": "user", "content": "See this", "timestamp": "2026-01-15T12:00:00+02:00", "media": [{"path": "a.png"}]},
        {"type": "assistant", "text": "I see", "timestamp": "2026-01-15T10:00:01"},
        "a stray text",
        {"role": "system", "content": "Restarted", "timestamp": 1768471202, "id": "m-3", "mood": {"x": [None]}},
        {"role": "assistant", "timestamp": T},
        {"role": "user", "content": None, "media": ["b.png"]},
    ]
    found = converted("chat.json", {"entries": entries, "title": "Login"}, "L1")
    assert found.messages == [
        {
            "id": x("chat.json", "user", "2026-01-15T12:00:00+02:00", "See this"),
            "role": "user",
            "content": "See this",
            "timestamp": "2026-01-15T12:00:00+02:00",
            "metadata": {"media": [{"path": "a.png"}], "migratedFrom": "chat.json"},
        },
        {
            "id": x("chat.json", "assistant", "2026-01-15T10:00:01", "I see"),
            "role": "assistant",
            "content": "I see",
            "timestamp": "2026-01-15T10:00:01.000Z",
            "metadata": {"migratedFrom": "chat.json", "originalTimestamp": "2026-01-15T10:00:01"},
        },
        {
            "id": "m-3",
            "role": "system",
            "content": "Restarted",
            "timestamp": "2026-01-15T10:00:02.000Z",
            "metadata": {"migratedFrom": "chat.json", "originalTimestamp": 1768471202},
            "mood": {"x": [None]},
        },
        {
            "id": x("chat.json", "user", None, ""),
            "role": "user",
            "content": "",
            "timestamp": "2026-01-15T10:00:02.000Z",
            "metadata": {"media": ["b.png"], "migratedFrom": "chat.json", "originalTimestamp": None},
        },
    ]
    assert found.rejected == [Rejected(2, "is a text, not an object"), Rejected(4, "has no text")]
    assert found.fields["title"] == "Login"
    assert found.fields["createdAt"] == "2026-01-15T10:00:00.000Z"


def test_a_planning_chat_is_its_tasks() -> None:
    found = converted("nodes/t-1/chat.json", {"entries": [{"role": "user", "content": "Plan", "timestamp": T}]}, "L3")
    assert (found.format, found.session_id) == ("L3", "pm-task-auth-t-1-planning")
    assert found.fields == {
        "type": "task",
        "agentType": "pm",
        "featureId": "auth",
        "taskId": "t-1",
        "taskState": "planning",
        "createdAt": T,
        "status": "active",
    }
    assert found.messages == [
        {
            "id": x("nodes/t-1/chat.json", "user", T, "Plan"),
            "role": "user",
            "content": "Plan",
            "timestamp": T,
            "metadata": {"migratedFrom": "nodes/t-1/chat.json"},
        }
    ]


@pytest.mark.parametrize("raw", [{}, {"entries": []}, {"entries": None}, [], {"entries": None, "messages": None}])
@pytest.mark.parametrize(("path", "shape"), [("chat.json", "L1"), ("nodes/t/chat.json", "L3")])
def test_no_entries_are_no_messages(path: str, shape: str, raw: Any) -> None:
    found = converted(path, raw, shape)
    assert (found.messages, found.rejected) == ([], [])
    assert "createdAt" not in found.fields


@pytest.mark.parametrize("raw", [[{"role": "user", "content": "Hi"}], {"messages": [{"type": "user", "text": "Hi"}]}])
def test_entries_under_another_name_or_none(raw: Any) -> None:
    assert [message["content"] for message in converted("chat.json", raw, "L1").messages] == ["Hi"]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (None, "must hold an object, not null"),
        ("chat", "must hold an object, not a text"),
        ({"entries": "none"}, "has a wrong 'entries': it must be a list, not a text"),
        ({"entries": {"0": {}}}, "has a wrong 'entries': it must be a list, not an object"),
    ],
)
def test_what_makes_no_sense_as_a_whole_is_refused(raw: Any, why: str) -> None:
    with pytest.raises(Undecodable, match=f"^{why}$"):
        converted("chat.json", raw, "L1")
