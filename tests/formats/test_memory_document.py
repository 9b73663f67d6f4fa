"""The newer app's memory is a checkpoint that both sides write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dagentd.adapters.git import project_at
from dagentd.formats import memory_document
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject

MEMORY = {"version": 2, "summary": {"critical": ["Use JWT"], "important": ["GitHub only"], "minor": ["Add docs"]}}


def test_a_memory_becomes_decisions_and_pending_and_leaves_the_rest() -> None:
    base = {"version": 1, "summary": {"completed": ["Set up"], "decisions": ["Use JWT"], "pending": []}, "x": 1}
    assert memory_document.as_checkpoint(MEMORY, base) == {
        "version": 2,
        "summary": {"completed": ["Set up"], "decisions": ["Use JWT", "GitHub only"], "pending": ["Add docs"]},
        "critical": ["Use JWT"],
        "x": 1,
    }


def test_a_decision_keeps_its_weight_and_a_new_one_is_important() -> None:
    checkpoint = {"summary": {"decisions": ["GitHub only", "Use JWT", "No cookies"], "pending": ["Ship"]}}
    assert memory_document.with_checkpoint({**MEMORY, "mood": "good"}, checkpoint) == {
        "version": 2,
        "mood": "good",
        "summary": {"critical": ["Use JWT"], "important": ["GitHub only", "No cookies"], "minor": ["Ship"]},
    }


def _session_with_memory(project: SampleProject) -> Path:
    folder = project.dagent / "sessions"
    folder.mkdir()
    sid = f"pm-feature-{project.feature}"
    document = {"id": sid, "type": "feature", "agentType": "pm", "featureId": project.feature, "status": "active"}
    (folder / f"session_{sid}.json").write_text(json.dumps(document))
    (folder / f"chat_{sid}.json").write_text(json.dumps({"messages": []}))
    (folder / f"memory_{sid}.json").write_text(json.dumps(MEMORY))
    return folder / f"memory_{sid}.json"


def _summary(path: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(path.read_text())["summary"]
    return summary


def test_a_memory_is_live_in_both_directions(project: SampleProject) -> None:
    path = _session_with_memory(project)
    store = Store(project_at(project.root), Index(None))
    session = store.session(f"pm-feature-{project.feature}")
    assert (session.checkpoint() or {})["summary"]["decisions"] == ["Use JWT", "GitHub only"]

    raw = json.loads(path.read_text())
    raw["summary"]["important"].append("No cookies")
    raw["summary"]["minor"] = []
    path.write_text(json.dumps(raw))
    session.reconcile()
    after = (session.checkpoint() or {})["summary"]
    assert after["decisions"] == ["Use JWT", "GitHub only", "No cookies"]
    assert after["pending"] == []

    session.update_checkpoint({"summary": {**after, "decisions": [*after["decisions"], "Ship on Friday"]}})
    store.close()
    assert _summary(path)["critical"] == ["Use JWT"]
    assert _summary(path)["important"] == ["GitHub only", "No cookies", "Ship on Friday"]


def test_goal_next_step_and_facts_are_told_and_not_read_back() -> None:
    lists = {"decisions": ["Use JWT"], "pending": ["Ship"], "facts": ["port 5433"]}
    summary = {**lists, "goal": "a login", "next": "deploy"}
    told = memory_document.with_checkpoint({}, {"summary": summary})["summary"]
    assert told["important"] == ["Goal: a login", "Next step: deploy", "Use JWT"]
    assert told["minor"] == ["Ship", "port 5433"]
    assert memory_document.as_checkpoint({"summary": told}, {"summary": summary})["summary"] == summary
