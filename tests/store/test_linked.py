"""getOrCreate answers the session that the feature or the task names, whatever its id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.store.place import DEV, FEATURE, PM, TASK, Place

UUID, SECOND = "5f0c1a52-7c1b-4a53-9a0e-3a1c2b7d9e10", "9d1f6d40-0e21-4f3c-8f1b-5a7c3e2b1d00"
AT = "2026-01-15T10:00:00.000Z"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


def put(path: Path, raw: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw))
    return path


def session(place: Place, session_id: str, agent: str, state: str | None = None, status: str = "active") -> None:
    """As the app left it: the session document and its chat."""
    task = {"taskId": TASK, "taskState": state} if state else {}
    about = {"id": session_id, "type": "task" if task else "feature", "agentType": agent, "featureId": FEATURE, **task}
    put(place.flat / "sessions" / f"session_{session_id}.json", {**about, "createdAt": AT, "status": status})
    said = {"id": f"m-{session_id}", "role": "user", "content": "hello", "timestamp": AT}
    put(place.flat / "sessions" / f"chat_{session_id}.json", {"messages": [said]})


def feature_names(place: Place, session_id: object) -> Path:
    return put(place.flat / "feature.json", {"id": FEATURE, "name": "F", "sessionId": session_id})


def task_lists(place: Place, **states: list[str]) -> Path:
    listed = {state: {"sessionIds": found} for state, found in states.items()}
    return put(place.flat / "nodes" / TASK / "task.json", {"id": TASK, "states": listed, "currentState": "in_dev"})


def test_the_session_that_the_feature_names(place: Place) -> None:
    session(place, UUID, "pm")
    link = feature_names(place, UUID)
    before = link.read_bytes()
    with place.store() as store:
        found = store.maker.get_or_create("feature", "pm", FEATURE)
        assert found.id == UUID and [raw["content"] for raw in found.chat()] == ["hello"]
    assert link.read_bytes() == before and not place.pm.journal.exists()


def test_the_session_that_the_task_lists(place: Place) -> None:
    session(place, UUID, "dev", "in_dev")
    session(place, SECOND, "dev", "in_dev")
    link = task_lists(place, in_dev=[UUID, SECOND])
    before = link.read_bytes()
    with place.store() as store:
        assert store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").id == SECOND, "the latest"
    assert link.read_bytes() == before and not place.dev.journal.exists()


def test_of_several_that_are_listed_the_one_with_the_usual_id(place: Place) -> None:
    session(place, UUID, "dev", "in_dev")
    session(place, DEV, "dev", "in_dev")
    task_lists(place, in_dev=[DEV, UUID])
    with place.store() as store:
        assert store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").id == DEV


@pytest.mark.parametrize(
    ("agent", "state", "status"),
    [("qa", "in_dev", "active"), ("dev", "in_qa", "active"), ("dev", "in_dev", "archived")],
)
def test_one_of_another_role_or_state_or_that_has_ended_is_not_it(
    place: Place, agent: str, state: str, status: str
) -> None:
    session(place, UUID, agent, state, status)
    task_lists(place, **{state: [UUID]})
    with place.store() as store:
        assert store.maker.get_or_create("task", "dev", FEATURE, TASK, "in_dev").id == DEV


@pytest.mark.parametrize("named", ["nobody", "../../etc", 7, None, {"a": 1}])
def test_a_link_that_leads_nowhere(place: Place, named: object) -> None:
    feature_names(place, named)
    with place.store() as store:
        assert store.maker.get_or_create("feature", "pm", FEATURE).id == PM
    assert json.loads((place.flat / "feature.json").read_text())["sessionId"] == PM


def test_another_role_leaves_the_link_to_the_pm(place: Place) -> None:
    session(place, UUID, "pm")
    feature_names(place, UUID)
    with place.store() as store:
        assert store.maker.get_or_create("feature", "harness", FEATURE).id == f"harness-feature-{FEATURE}"
        assert store.maker.get_or_create("feature", "pm", FEATURE).id == UUID


def test_an_old_id_is_a_link_too(place: Place) -> None:
    session(place, PM, "pm")
    path = place.flat / "sessions" / f"session_{PM}.json"
    put(path, {**json.loads(path.read_text()), "aliases": ["pm-old"]})
    feature_names(place, "pm-old")
    with place.store() as store:
        assert store.maker.get_or_create("feature", "pm", FEATURE).id == PM


@pytest.mark.parametrize(
    ("agent", "state"), [("dev", "in_dev"), ("qa", "in_qa"), ("merge", "ready_for_merge"), ("pm", "planning")]
)
def test_the_state_may_be_left_out(place: Place, agent: str, state: str) -> None:
    with place.store() as store:
        made = store.maker.get_or_create("task", agent, FEATURE, TASK)
        assert made.id == f"{agent}-task-{FEATURE}-{TASK}-{state}" and made.fields["taskState"] == state
