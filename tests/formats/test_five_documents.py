"""L5: sessions from before there was a session document."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.formats.legacy import Rejected
from dagentd.model.agent_types import ROLES
from dagentd.model.documents import AgentDescription, Checkpoint, Context
from dagentd.model.jsontext import Undecodable
from tests.formats.golden import converted, x

T = "2026-01-17T10:00:00.000Z"
SID = "0b7e-uuid"
CHAT = f"sessions/chat_{SID}.json"


def test_all_four_documents() -> None:
    messages = [
        {"id": "m1", "timestamp": T, "role": "user", "content": "Go", "tokens": 3},
        {"timestamp": T, "role": "assistant", "content": "Gone"},
        7,
    ]
    chat_metadata = {"createdAt": "2026-01-17T09:00:00.000Z", "updatedAt": T, "messageCount": 2, "tokenCount": 9}
    raw = {
        "chat": {"sessionId": SID, "messages": messages, "metadata": {**chat_metadata, "theme": "dark"}},
        "checkpoint": {
            "sessionId": SID,
            "version": 4,
            "createdAt": T,
            "updatedAt": T,
            "summary": {
                "completedItems": ["Set up"],
                "pendingItems": ["Ship"],
                "decisions": ["JWT"],
                "blockers": [],
                "risks": ["Time"],
            },
            "ralphLoop": {"currentIteration": 2, "passedChecks": ["build"], "failedChecks": []},
            "tokens": {"checkpoint": 10, "lastCompactionInput": 100, "totalSaved": 90},
        },
        "context": {
            "sessionId": SID,
            "type": "qa-task",
            "featureId": "auth",
            "taskId": "t1",
            "project": {
                "structure": "src/",
                "claudeMd": "# Rules",
                "projectMd": "# About",
                "recentCommits": [{"hash": "abc1234567890", "message": "Add types\n\nlong"}, "def456 - Routes"],
            },
            "feature": {"name": "Login", "spec": "# Spec", "tasks": [{"id": "t1"}]},
            "task": {"title": "OAuth", "description": "Do it", "dependencies": [{"id": "t0"}], "dependents": ["t2"]},
            "updatedAt": T,
            "tokens": 500,
        },
        "agent-description": {
            "sessionId": SID,
            "agentType": "qa",
            "role": "You review.",
            "instructions": ["Read first", "Run tests"],
            "allowedTools": ["Read", "Bash"],
            "toolInstructions": "Be careful.",
            "createdAt": T,
            "tokens": 50,
        },
    }
    found = converted(CHAT, raw, "L5")
    assert (found.session_id, found.alias) == (SID, None)
    assert found.fields == {
        "type": "task",
        "agentType": "qa",
        "featureId": "auth",
        "taskId": "t1",
        "taskState": "in_qa",
        "createdAt": "2026-01-17T09:00:00.000Z",
        "status": "active",
    }
    assert found.messages == [
        {
            "id": "m1",
            "role": "user",
            "content": "Go",
            "timestamp": T,
            "metadata": {"migratedFrom": CHAT},
            "tokens": 3,
        },
        {
            "id": x(CHAT, "assistant", T, "Gone"),
            "role": "assistant",
            "content": "Gone",
            "timestamp": T,
            "metadata": {"migratedFrom": CHAT},
        },
    ]
    assert found.rejected == [Rejected(2, "is a number, not an object")]
    assert found.chat == {"sessionId": SID, "metadata": {"theme": "dark"}}
    assert found.checkpoint == {
        "sessionId": SID,
        "version": 4,
        "createdAt": T,
        "updatedAt": T,
        "summary": {
            "completed": ["Set up"],
            "inProgress": [],
            "pending": ["Ship"],
            "blockers": [],
            "decisions": ["JWT"],
            "risks": ["Time"],
        },
        "ralphLoop": {"currentIteration": 2, "passedChecks": ["build"], "failedChecks": []},
        "tokens": {"checkpoint": 10, "lastCompactionInput": 100, "totalSaved": 90},
    }
    assert found.context == {
        "sessionId": SID,
        "type": "qa-task",
        "featureId": "auth",
        "taskId": "t1",
        "taskState": "in_qa",
        "projectStructure": "src/",
        "claudeMd": "# Rules",
        "projectMd": "# About",
        "recentCommits": ["abc1234 - Add types", "def456 - Routes"],
        "featureName": "Login",
        "spec": "# Spec",
        "taskTitle": "OAuth",
        "taskDescription": "Do it",
        "dependencies": ["t0"],
        "dependencyInfo": [{"id": "t0"}],
        "dependents": ["t2"],
        "tasks": [{"id": "t1"}],
        "updatedAt": T,
        "tokens": {"total": 500},
    }
    assert found.agent_description == {
        "sessionId": SID,
        "agentType": "qa",
        "roleInstructions": "You review.\n\n- Read first\n- Run tests",
        "toolInstructions": "Use only these tools: Read, Bash.\n\nBe careful.",
        "allowedTools": ["Read", "Bash"],
        "createdAt": T,
        "tokens": 50,
    }


def test_documents_of_todays_shape_stay_as_they_are() -> None:
    summary = {"completed": ["a"], "inProgress": ["b"], "pending": [], "blockers": [], "decisions": []}
    agent = {"agentType": "pm", "roleInstructions": "Plan.", "toolInstructions": "None.", "createdAt": T}
    raw = {
        "chat": {"messages": [], "totalMessages": 0},
        "checkpoint": {"version": 1, "summary": summary, "compactionInfo": None},
        "context": {"featureId": "auth", "featureName": "Login", "recentCommits": ["abc - x"]},
        "agent-description": agent,
    }
    found = converted(CHAT, raw, "L5")
    assert found.chat == {"totalMessages": 0}
    assert (found.checkpoint, found.context, found.agent_description) == (raw["checkpoint"], raw["context"], agent)


def test_some_of_the_documents_are_enough_and_ids_do_not_depend_on_which_led_here() -> None:
    chat = {"chat": {"messages": [{"role": "user", "content": "Hi"}]}}
    one = converted(CHAT, chat, "L5")
    other = converted(f"sessions/context_{SID}.json", chat, "L5")
    assert one == other
    assert (one.checkpoint, one.context, one.agent_description) == (None, None, None)
    assert one.fields["agentType"] == "pm"
    assert converted(CHAT, {}, "L5").messages == []


@pytest.mark.parametrize(
    ("path", "raw", "expected"),
    [
        ("nodes/t7/sessions/chat_u.json", {}, ("dev", "task", "t7", "in_dev")),
        ("nodes/t7/sessions/chat_merge-1.json", {}, ("merge", "task", "t7", "ready_for_merge")),
        ("sessions/chat_u.json", {"context": {"type": "harness"}}, ("harness", "feature", None, None)),
        ("sessions/chat_u.json", {"agent-description": {"agentType": "boss"}}, ("pm", "feature", None, None)),
        ("sessions/chat_u.json", {"agent-description": {"agentType": ["qa"]}}, ("pm", "feature", None, None)),
    ],
)
def test_whose_session_it_is(path: str, raw: Any, expected: tuple[str | None, ...]) -> None:
    fields = converted(path, raw, "L5").fields
    assert (fields["agentType"], fields["type"], fields.get("taskId"), fields.get("taskState")) == expected


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ({"completedItems": None, "pendingItems": "Ship"}, {"completed": [], "pending": ["Ship"]}),
        ({"completed": ["a"], "completedItems": ["a"]}, {"completed": ["a"]}),
        ({"completed": ["a"], "completedItems": ["b"]}, {"completed": ["a", "b"]}),
        (None, {"completed": []}),
        ("We did much", {"completed": []}),
    ],
)
def test_odd_summaries(summary: Any, expected: dict[str, Any]) -> None:
    found = converted(CHAT, {"checkpoint": {"version": "two", "summary": summary}}, "L5").checkpoint or {}
    assert expected.items() <= found["summary"].items()
    assert found["version"] == 1
    assert found.get("originalSummary") == (summary if isinstance(summary, str) else None)
    assert Checkpoint.parse(found).raw() == found


def test_odd_contexts_keep_what_has_no_place() -> None:
    context = {
        "project": {"structure": {"src": {}}, "recentCommits": [{"date": 1}], "claudeMd": None},
        "feature": "Login",
        "task": {"dependencies": [{"id": "a"}, 4], "title": "New"},
        "taskTitle": "Kept",
    }
    found = converted(CHAT, {"context": context}, "L5").context
    assert found == {**context, "featureId": "auth"}
    assert Context.parse(found).raw() == found


def test_a_description_that_cannot_be_understood_is_the_usual_one_and_keeps_what_it_said() -> None:
    raw = {"agent-description": {"agentType": "qa", "role": 5, "instructions": {}}}
    found = converted(CHAT, raw, "L5").agent_description or {}
    assert found["roleInstructions"] == ROLES["qa"][0]
    assert (found["role"], found["instructions"]) == (5, {})
    assert AgentDescription.parse(found).raw() == found


@pytest.mark.parametrize("name", ["chat", "checkpoint", "context", "agent-description"])
def test_a_document_that_is_no_object_is_refused(name: str) -> None:
    with pytest.raises(Undecodable, match=f"^{name} must hold an object, not a list$"):
        converted(CHAT, {name: []}, "L5")
    with pytest.raises(Undecodable, match=r"^must hold an object, not null$"):
        converted(CHAT, None, "L5")


@pytest.mark.parametrize(
    ("checkpoint", "completed", "version"),
    [
        (None, [], 1),
        ({"version": 3, "summary": {"completedItems": ["Set up"], "pendingItems": ["Old"]}}, ["Set up"], 3),
    ],
)
def test_a_memory_beside_them_is_read_as_the_checkpoint(checkpoint: Any, completed: list[str], version: int) -> None:
    summary = {"critical": ["No cookies"], "important": ["JWT"], "minor": ["Docs"]}
    remembered = {"dagentd": {"pos": 9}, "summary": summary}
    found = converted(CHAT, {"checkpoint": checkpoint, "memory": remembered}, "L5").checkpoint or {}
    assert (found["version"], found.get("dagentd")) == (version, None), "its position is in another journal"
    assert found["summary"] == {
        "completed": completed,
        "inProgress": [],
        "pending": ["Docs"],
        "blockers": [],
        "decisions": ["No cookies", "JWT"],
    }
