"""L2: what a task's agent and the harness told each other."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.formats.legacy import Rejected
from tests.formats.golden import converted, x

PATH = "nodes/task-123/session.json"


def test_the_session_of_the_documents() -> None:
    message = {"direction": "outgoing", "type": "progress", "content": "Starting", "timestamp": 1705488000000}
    answer = {"direction": "incoming", "type": "approval", "content": "Go on", "timestamp": 1705488001500}
    raw = {"taskId": "task-123", "agentId": "dev-abc", "status": "active", "messages": [message, answer]}
    found = converted(PATH, raw, "L2")
    assert (found.format, found.session_id, found.alias) == ("L2", "dev-task-auth-task-123-in_dev", None)
    assert found.fields == {
        "agentId": "dev-abc",
        "type": "task",
        "agentType": "dev",
        "featureId": "auth",
        "taskId": "task-123",
        "taskState": "in_dev",
        "createdAt": "2024-01-17T10:40:00.000Z",
        "status": "active",
    }
    assert found.messages == [
        {
            "id": "x-527630404d90f21fe83b366d1673795d",
            "role": "assistant",
            "content": "Starting",
            "timestamp": "2024-01-17T10:40:00.000Z",
            "metadata": {
                "migratedFrom": PATH,
                "originalType": "progress",
                "originalTimestamp": 1705488000000,
                "internal": True,
            },
        },
        {
            "id": x(PATH, "incoming", 1705488001500, "Go on"),
            "role": "user",
            "content": "Go on",
            "timestamp": "2024-01-17T10:40:01.500Z",
            "metadata": {
                "migratedFrom": PATH,
                "originalType": "approval",
                "originalTimestamp": 1705488001500,
                "internal": True,
            },
        },
    ]


def test_the_session_of_the_app_mixed_with_the_other() -> None:
    messages: list[Any] = [
        {
            "direction": "task_to_harness",
            "type": "tool_use",
            "content": "",
            "timestamp": "2026-01-15T10:00:00.000Z",
            "metadata": {"toolName": "Bash", "toolInput": {"command": "ls"}, "toolResult": "a\nb", "iteration": 2},
        },
        {
            "direction": "harness_to_task",
            "type": "message",
            "content": "Good",
            "timestamp": "2026-01-15T12:00:01+02:00",
        },
        {"direction": "outgoing", "content": "Done", "timestamp": 1768471203},
        {"direction": "sideways", "type": "hint", "content": "Look up"},
        {"direction": "incoming", "type": "ping", "content": None},
        {"direction": "outgoing", "type": "tool_use", "metadata": {"toolName": "Read"}},
    ]
    raw = {"status": "failed", "startedAt": 1768471199000, "completedAt": "2026-01-15T11:00:00Z", "messages": messages}
    found = converted(PATH, raw, "L2")
    assert found.fields == {
        "completedAt": "2026-01-15T11:00:00Z",
        "originalStatus": "failed",
        "type": "task",
        "agentType": "dev",
        "featureId": "auth",
        "taskId": "task-123",
        "taskState": "in_dev",
        "createdAt": "2026-01-15T09:59:59.000Z",
        "status": "active",
    }
    own = {"migratedFrom": PATH, "internal": True}
    assert [{**message, "id": None} for message in found.messages] == [
        {
            "id": None,
            "role": "assistant",
            "content": "",
            "timestamp": "2026-01-15T10:00:00.000Z",
            "metadata": {
                "iteration": 2,
                "toolUse": {"name": "Bash", "input": {"command": "ls"}, "result": "a\nb"},
                "originalType": "tool_use",
                **own,
            },
        },
        {
            "id": None,
            "role": "user",
            "content": "Good",
            "timestamp": "2026-01-15T10:00:01.000Z",
            "metadata": {"originalType": "message", "originalTimestamp": "2026-01-15T12:00:01+02:00", **own},
        },
        {
            "id": None,
            "role": "assistant",
            "content": "Done",
            "timestamp": "2026-01-15T10:00:03.000Z",
            "metadata": {"originalTimestamp": 1768471203, **own},
        },
        {
            "id": None,
            "role": "system",
            "content": "Look up",
            "timestamp": "2026-01-15T10:00:03.000Z",
            "metadata": {"originalType": "hint", "originalRole": "sideways", "originalTimestamp": None, **own},
        },
        {
            "id": None,
            "role": "assistant",
            "content": "",
            "timestamp": "2026-01-15T10:00:03.000Z",
            "metadata": {
                "toolUse": {"name": "Read"},
                "originalType": "tool_use",
                "originalTimestamp": None,
                **own,
            },
        },
    ]
    assert found.rejected == [Rejected(4, "has no text")]


@pytest.mark.parametrize("raw", [{}, {"messages": []}, {"messages": None, "taskId": "task-123"}, []])
def test_no_messages(raw: Any) -> None:
    found = converted(PATH, raw, "L2")
    assert (found.session_id, found.messages, found.rejected) == ("dev-task-auth-task-123-in_dev", [], [])


def test_the_first_without_a_time_takes_the_sessions_start() -> None:
    found = converted(PATH, {"startedAt": "2026-01-15T10:00:00Z", "messages": [{"content": "Hm"}]}, "L2")
    assert found.messages[0]["timestamp"] == found.fields["createdAt"] == "2026-01-15T10:00:00.000Z"
