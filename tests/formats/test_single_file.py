"""L4: a whole conversation in one file."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.formats import legacy
from dagentd.model.jsontext import Undecodable
from tests.formats.golden import converted

T = "2026-01-17T10:00:00.000Z"


def test_a_whole_conversation() -> None:
    message = {
        "id": "m1",
        "timestamp": T,
        "role": "assistant",
        "content": "Done",
        "metadata": {"agentType": "dev", "internal": False, "toolUse": {"name": "Bash"}, "tokens": {"input": 1}},
    }
    raw = {
        "id": "dev-task-auth-t1",
        "type": "dev-task",
        "featureId": "auth",
        "taskId": "t1",
        "createdAt": "2026-01-17T09:00:00.000Z",
        "updatedAt": T,
        "status": "archived",
        "messages": [message, {"content": "Thanks", "role": "user"}],
        "stats": {"totalMessages": 1, "totalTokens": 5},
        "colour": "red",
    }
    found = converted("sessions/dev-task-auth-t1.json", raw, "L4")
    assert (found.session_id, found.alias) == ("dev-task-auth-t1-in_dev", "dev-task-auth-t1")
    assert found.fields == {
        "colour": "red",
        "originalStatus": "archived",
        "type": "task",
        "agentType": "dev",
        "featureId": "auth",
        "taskId": "t1",
        "taskState": "in_dev",
        "createdAt": "2026-01-17T09:00:00.000Z",
        "status": "active",
    }
    source = {"migratedFrom": "sessions/dev-task-auth-t1.json"}
    assert found.messages[0] == {**message, "metadata": {**message["metadata"], **source}}  # type: ignore[dict-item]
    assert found.messages[1]["timestamp"] == T
    assert found.messages[1]["id"].startswith("x-")
    assert (found.chat, found.checkpoint, found.context, found.agent_description) == ({}, None, None, None)


@pytest.mark.parametrize(
    ("kind", "task", "session_id", "state"),
    [
        ("pm-feature", None, "pm-feature-auth", None),
        ("pm-feature", "t1", "pm-feature-auth", None),
        ("dev-task", "t1", "dev-task-auth-t1-in_dev", "in_dev"),
        ("qa-task", "t1", "qa-task-auth-t1-in_qa", "in_qa"),
        ("merge", "t1", "merge-task-auth-t1-ready_for_merge", "ready_for_merge"),
        ("harness", None, "harness-feature-auth", None),
        ("harness", "t1", "harness-task-auth-t1-in_dev", "in_dev"),
        ("merge", None, "merge-feature-auth", None),
        ("dev-task", "../t1", "dev-feature-auth", None),
    ],
)
def test_each_type_has_its_session(kind: str, task: str | None, session_id: str, state: str | None) -> None:
    raw: dict[str, Any] = {"id": "old", "type": kind, "featureId": "other", "taskId": task, "messages": []}
    found = converted("sessions/old.json", raw, "L4")
    assert (found.session_id, found.alias) == (session_id, "old")
    assert found.fields["agentType"] == session_id.split("-")[0]
    assert found.fields["featureId"] == "auth"
    assert found.fields.get("taskState") == state


def test_the_folder_says_the_task_where_the_document_does_not() -> None:
    found = converted("nodes/t9/sessions/old.json", {"type": "qa-task"}, "L4")
    assert (found.session_id, found.alias, found.messages) == ("qa-task-auth-t9-in_qa", "old", [])


def test_one_that_has_its_canonical_id_has_no_other() -> None:
    raw = {"id": "pm-feature-auth", "type": "pm-feature", "messages": None}
    found = converted("sessions/pm-feature-auth.json", raw, "L4")
    assert (found.session_id, found.alias) == ("pm-feature-auth", None)


@pytest.mark.parametrize(
    ("raw", "fields"),
    [
        ({"id": "r1", "type": "review"}, {"agentType": "pm", "type": "feature", "originalType": "review"}),
        ({"id": "r1", "type": "review", "taskId": "t"}, {"agentType": "dev", "type": "task", "originalType": "review"}),
        ({"id": "qa-1"}, {"agentType": "qa", "type": "feature"}),
        ({"id": "r1", "type": ["pm-feature"]}, {"agentType": "pm", "originalType": ["pm-feature"]}),
    ],
)
def test_one_of_an_unknown_type_keeps_its_id(raw: dict[str, Any], fields: dict[str, Any]) -> None:
    found = converted("sessions/file.json", {**raw, "messages": [{"role": "user", "content": "Hi"}]}, "L4")
    assert (found.session_id, found.alias) == (raw["id"], None)
    assert fields.items() <= found.fields.items()
    assert len(found.messages) == 1


def test_an_id_that_could_be_no_file_name_gives_way_to_that_of_its_file() -> None:
    found = converted("sessions/old.json", {"id": "../etc", "type": "pm-feature"}, "L4")
    assert found.alias == "old"


def test_ids_that_are_too_long_together_give_no_session() -> None:
    source = legacy.Source("sessions/old.json", "f" * 150, None, "old")
    with pytest.raises(Undecodable, match=r"gives no session: .* cannot be a session id"):
        legacy.convert({"type": "dev-task", "taskId": "t" * 150}, "L4", source)
    with pytest.raises(Undecodable, match="must hold an object, not a list"):
        legacy.convert([], "L4", source)
