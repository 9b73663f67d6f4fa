"""The seeds' own documents load, and what we do not know in them lives."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.model.documents import (
    AgentDescription,
    Chat,
    Checkpoint,
    Context,
    Document,
    Message,
    Session,
    position_of,
)
from dagentd.model.feature import Dag, Feature, Task, stage
from dagentd.model.jsontext import Undecodable

SESSION = {
    "id": "pm-feature-my-feature",
    "type": "feature",
    "agentType": "pm",
    "featureId": "my-feature",
    "createdAt": "2026-01-17T10:00:00.000Z",
    "updatedAt": "2026-01-17T12:30:00.000Z",
    "status": "active",
    "files": {"chat": "chat_pm-feature-my-feature.json"},
    "stats": {"totalMessages": 42, "totalTokens": 15000, "totalCompactions": 2},
}
MESSAGE = {
    "id": "msg-uuid-2",
    "role": "assistant",
    "content": "I'll create an authentication task...",
    "timestamp": "2026-01-17T12:25:05.000Z",
    "metadata": {"agentType": "pm", "tokens": {"input": 500, "output": 200}},
}
CHAT = {
    "messages": [MESSAGE],
    "totalMessages": 42,
    "oldestMessageTimestamp": "2026-01-17T12:00:00.000Z",
    "newestMessageTimestamp": "2026-01-17T12:25:05.000Z",
}
CHECKPOINT = {
    "version": 3,
    "createdAt": "2026-01-17T10:00:00.000Z",
    "updatedAt": "2026-01-17T12:00:00.000Z",
    "summary": {
        "completed": ["Reviewed feature requirements"],
        "inProgress": ["Designing authentication flow"],
        "pending": ["Implement OAuth integration"],
        "blockers": [],
        "decisions": ["Using JWT for session tokens"],
    },
    "compactionInfo": {"messagesCompacted": 40, "compactedAt": "2026-01-17T12:00:00.000Z"},
    "stats": {"totalCompactions": 2, "totalMessages": 40, "totalTokens": 12000},
}
CONTEXT = {
    "projectRoot": "/path/to/project",
    "featureName": "User Authentication",
    "dagSummary": "5 tasks: 2 complete, 1 in progress, 2 pending",
    "dependencies": ["task-100", "task-101"],
    "claudeMd": "# CLAUDE.md content...",
    "recentCommits": ["abc123 - Add auth types"],
}
AGENT = {"agentType": "pm", "roleInstructions": "You are ...", "toolInstructions": "Available tools: ..."}


@pytest.mark.parametrize(
    ("model", "raw"),
    [(Session, SESSION), (Message, MESSAGE), (Chat, CHAT), (Checkpoint, CHECKPOINT), (Context, CONTEXT),
     (AgentDescription, AGENT)],
)  # fmt: skip
def test_a_document_is_written_back_with_what_we_do_not_know(model: type[Document], raw: dict[str, Any]) -> None:
    odd = {**raw, "mood": {"half": "\ud800", "none": None}, "summaryText": [1, {"x": 2}]}
    assert model.parse(odd).raw() == odd


def test_a_null_stays_and_what_is_missing_stays_missing() -> None:
    assert Message.parse({"id": "a", "metadata": None}).raw() == {"id": "a", "metadata": None}


@pytest.mark.parametrize(
    ("model", "raw", "why"),
    [
        (Chat, {}, "has no 'messages'"),
        (Chat, {"messages": 5}, "has a wrong 'messages': input should be a valid list"),
        (Checkpoint, {"summary": []}, "has a wrong 'summary'"),
        (Checkpoint, {"summary": {"decisions": 3}}, "has a wrong 'summary.decisions'"),
        (Session, {"type": "feature"}, "has no 'id'"),
    ],
)
def test_a_wrong_shape_is_said_in_words(model: type[Document], raw: dict[str, Any], why: str) -> None:
    with pytest.raises(Undecodable) as caught:
        model.parse(raw)
    assert str(caught.value).startswith(why)


def test_a_position_is_read_only_if_it_is_one() -> None:
    found = position_of({"dagentd": {"pos": 12, "sum": "ab"}})
    assert found is not None and (found.pos, found.sum) == (12, "ab")
    assert position_of({}) is None
    assert position_of({"dagentd": "yes"}) is None
    assert position_of({"dagentd": {"pos": "x", "sum": 1}}) is None


def test_a_dag_counts_and_connects() -> None:
    nodes = [{"id": f"t{n}", "status": status} for n, status in enumerate(["done", "merged", "in_dev", "ready", None])]
    connections = [{"from": "t0", "to": "t2"}]
    dag = Dag.parse({"nodes": [*nodes, {"id": "t5", "dependencies": ["t2"]}], "connections": connections})
    assert dag.summary() == "6 tasks: 2 complete, 1 in progress, 3 pending"
    assert dag.dependencies("t2") == ["t0"]
    assert dag.dependents("t2") == ["t5"]
    assert Dag.parse({"nodes": [{"id": "a"}]}).summary() == "1 task: 0 complete, 0 in progress, 1 pending"


def test_stages_of_a_task() -> None:
    assert [stage(s) for s in ("completed", "verifying", "dev_paused", "blocked", 7)] == [
        "complete", "in progress", "in progress", "pending", "pending",
    ]  # fmt: skip


def test_features_and_tasks_keep_what_the_app_put_there() -> None:
    feature = {"id": "f", "status": "archived", "branchName": "feature/f", "color": "red"}
    assert Feature.parse(feature).ended and Feature.parse(feature).raw() == feature
    task = {"id": "t", "states": {"in_dev": {"sessionIds": ["a"], "x": 1}}, "currentState": "in_dev", "y": [{}]}
    assert Task.parse(task).raw() == task
