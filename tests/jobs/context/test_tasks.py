"""What a context says of tasks: what they ask for, what stands before and behind them, how far their plan is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.jobs import requests
from dagentd.settings import Settings
from tests.conftest import FEATURE, SampleProject
from tests.jobs.context.contexts import Contexts, read, write_json

NODES: list[dict[str, Any]] = [
    {"id": "t1", "title": "Types", "description": "Declare the user.", "status": "completed"},
    {
        "id": "t2",
        "title": "OAuth flow",
        "description": "Redirect to GitHub.\nNo secrets in the page.",
        "status": "in_dev",
    },
    {"id": "t3", "title": "Logout", "status": "pending", "dependencies": ["t2"]},
]
DAG = {"nodes": NODES, "connections": [{"from": "t1", "to": "t2"}]}
PLAN = {
    "taskId": "t2", "iteration": 3, "maxIterations": 10, "status": "in_progress",
    "checklist": [
        {"id": "build", "description": "Build passes", "status": "pass"},
        {"id": "test", "description": "Tests pass", "status": "fail", "error": "test_login failed"},
        {"id": "lint", "description": "Lint passes", "status": "pending"},
    ],
    "activity": [],
}  # fmt: skip


@pytest.fixture
def contexts(project: SampleProject) -> Iterator[Contexts]:
    write_json(project.dagent / "dag.json", DAG)
    made = Contexts(project.root)
    yield made
    made.store.close()


def prompt(contexts: Contexts, path: Path) -> str:
    session = contexts.store.session(path.stem.removeprefix("context_"))
    return str(requests.preview(contexts.store, session, "Go", Settings())["systemPrompt"])


def test_a_task_is_told_with_its_description_and_its_neighbours(contexts: Contexts) -> None:
    path = contexts.session(FEATURE, "t2")
    contexts.rebuild(FEATURE)
    found = read(path)
    assert found["taskDescription"] == "Redirect to GitHub.\nNo secrets in the page."
    assert (found["dependencies"], found["dependents"]) == (["t1"], ["t3"]), "as the documents have them"
    assert found["dependencyInfo"] == [{"id": "t1", "title": "Types", "status": "completed"}]
    assert found["dependentInfo"] == [{"id": "t3", "title": "Logout", "status": "pending"}]
    assert "tasks" not in found
    told = prompt(contexts, path)
    for line in ("Redirect to GitHub.", "- t1 - Types - completed", "- t3 - Logout - pending"):
        assert line in told


def test_a_pm_is_told_all_tasks(contexts: Contexts) -> None:
    path = contexts.session(FEATURE)
    contexts.rebuild(FEATURE)
    assert [each["id"] for each in read(path)["tasks"]] == ["t1", "t2", "t3"]
    assert "- t2 - OAuth flow - in_dev" in prompt(contexts, path)


def test_a_developer_is_told_how_far_the_plan_is(project: SampleProject, contexts: Contexts) -> None:
    path, reviewer = contexts.session(FEATURE, "t2"), contexts.session(FEATURE, "t2", "qa", "in_qa")
    write_json(project.dagent / "nodes" / "t2" / "plan.json", PLAN)
    contexts.rebuild(FEATURE)
    failing = [{"id": "test", "description": "Tests pass", "error": "test_login failed"}]
    assert read(path)["plan"] == {
        "iteration": 3, "maxIterations": 10, "status": "in_progress", "failing": failing,
    }  # fmt: skip
    assert "plan" not in read(reviewer)
    told = prompt(contexts, path)
    assert "Plan: iteration 3 of 10, in_progress" in told and "- test: Tests pass: test_login failed" in told


def test_a_plan_that_changed_is_another_context(project: SampleProject, contexts: Contexts) -> None:
    path = contexts.session(FEATURE, "t2")
    file = project.dagent / "nodes" / "t2" / "plan.json"
    write_json(file, PLAN)
    contexts.rebuild(FEATURE)
    write_json(file, {**PLAN, "iteration": 4})
    assert contexts.written(FEATURE) == [path.stem.removeprefix("context_")]
    assert read(path)["plan"]["iteration"] == 4
    assert contexts.written(FEATURE) == []


@pytest.mark.parametrize("plan", [[], {"checklist": 7, "iteration": "x"}, {"checklist": [None, {"status": "fail"}, 3]}])
def test_a_plan_that_makes_no_sense(project: SampleProject, contexts: Contexts, plan: Any) -> None:
    path = contexts.session(FEATURE, "t2")
    write_json(project.dagent / "nodes" / "t2" / "plan.json", plan)
    assert contexts.rebuild(FEATURE).errors == ()
    assert prompt(contexts, path)


def test_a_secret_in_a_plan_is_not_told(project: SampleProject, contexts: Contexts) -> None:
    path = contexts.session(FEATURE, "t2")
    secret = "ghp_" + "a1B2" * 9
    checks = [{"id": "test", "description": "Tests", "status": "fail", "error": f"token {secret}"}]
    write_json(project.dagent / "nodes" / "t2" / "plan.json", {**PLAN, "checklist": checks})
    contexts.rebuild(FEATURE)
    assert secret not in path.read_text()


def test_a_long_description_is_cut_and_said(project: SampleProject, contexts: Contexts) -> None:
    nodes = [{"id": "t2", "title": "T", "description": "word " * 40_000}]
    write_json(project.dagent / "dag.json", {"nodes": nodes, "connections": []})
    path = contexts.session(FEATURE, "t2")
    contexts.rebuild(FEATURE)
    assert len(read(path)["taskDescription"]) < 20_000 and any(
        "taskDescription" in note for note in read(path)["notes"]
    )


def test_without_a_graph_what_was_said_of_the_tasks_stays(project: SampleProject, contexts: Contexts) -> None:
    """As in a session of the app's that came without its dag.json, or while that cannot be read."""
    path, feature = contexts.session(FEATURE, "t2"), contexts.session(FEATURE)
    contexts.rebuild(FEATURE)
    before, of_feature = read(path), read(feature)
    (project.dagent / "dag.json").unlink()
    contexts.rebuild(FEATURE)
    assert {**read(path), "updatedAt": 0, "tokens": 0} == {**before, "updatedAt": 0, "tokens": 0}
    assert (read(feature)["tasks"], read(feature)["dagSummary"]) == (of_feature["tasks"], of_feature["dagSummary"])


def test_without_a_graph_the_plan_is_followed(project: SampleProject, contexts: Contexts) -> None:
    path, file = contexts.session(FEATURE, "t2"), project.dagent / "nodes" / "t2" / "plan.json"
    (project.dagent / "dag.json").unlink()
    for iteration in (3, 4):
        write_json(file, {**PLAN, "iteration": iteration})
        contexts.rebuild(FEATURE)
        assert read(path)["plan"]["iteration"] == iteration


def test_a_session_of_a_feature_stays_about_the_task_that_its_app_named(contexts: Contexts) -> None:
    """As the documents' own example of a pm's context is."""
    path = contexts.session(FEATURE)
    contexts.rebuild(FEATURE)
    elsewhere = {
        "taskId": "t-9", "taskTitle": "Elsewhere", "taskDescription": "Not in this graph.", "taskState": "in_dev",
        "dependencies": ["t-7"], "dependents": ["t-8"],
    }  # fmt: skip
    write_json(path, {**read(path), **elsewhere})
    contexts.rebuild(FEATURE)
    assert {name: read(path).get(name) for name in elsewhere} == elsewhere
    assert [each["id"] for each in read(path)["tasks"]] == ["t1", "t2", "t3"], "and what the graph has is followed"
    write_json(path, {**read(path), "taskId": "t2", "taskTitle": "Old", "dependencies": []})
    contexts.rebuild(FEATURE)
    assert (read(path)["taskTitle"], read(path)["dependencies"]) == ("OAuth flow", ["t1"])
