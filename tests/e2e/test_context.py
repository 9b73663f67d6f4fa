"""`dagentd context`: with a daemon and without, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.git import project_at
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon
from tests.e2e.dagentd import dagentd

PM = f"pm-feature-{FEATURE}"


@pytest.fixture
def session(project: SampleProject) -> Path:
    """Where the context of a session without one will be."""
    store = Store(project_at(project.root), Index(None))
    found = store.maker.get_or_create("feature", "pm", FEATURE).folder.document("context")
    store.close()
    (project.worktree / "CLAUDE.md").write_text("Rules\n@docs/missing.md\n")
    return found


def whose(project: SampleProject) -> dict[str, Any]:
    return {"sessionId": PM, "project": str(project.root)}


def test_without_a_daemon(project: SampleProject, session: Path) -> None:
    assert "--rebuild" in dagentd("context", PM, cwd=project.root)
    assert dagentd("context", PM, "--json", cwd=project.root) == "null\n"
    assert not session.exists()
    rebuilt = json.loads(dagentd("context", PM, "--rebuild", "--json", cwd=project.worktree))
    assert rebuilt == json.loads(session.read_text())
    assert (rebuilt["claudeMd"], rebuilt["gitBranch"]) == ("Rules\n@docs/missing.md", f"feature/{FEATURE}")
    written = session.stat()
    assert json.loads(dagentd("context", PM, "--json", cwd=project.root)) == rebuilt
    assert json.loads(dagentd("context", PM, "--rebuild", "--json", cwd=project.root)) == rebuilt
    assert session.stat() == written


def test_for_people(project: SampleProject, session: Path) -> None:
    shown = dagentd("context", PM, "--rebuild", cwd=project.root)
    commit = git(project.worktree, "rev-parse", "HEAD")
    for text in (
        str(project.worktree),
        f"feature/{FEATURE}",
        commit,
        "Login",
        "claude md",
        "tokens",
        f"request {PM} --sizes",
    ):
        assert text in shown
    assert shown.endswith("\n! docs/missing.md (imported by CLAUDE.md): is not there.\n")


def test_unknown_sessions_and_damaged_contexts(project: SampleProject, session: Path) -> None:
    for more in ([], ["--rebuild"]):
        assert "no session none" in dagentd("context", "none", *more, cwd=project.root, status=1)
    session.write_text('{"half')
    assert "is not valid JSON" in dagentd("context", PM, cwd=project.root, status=1)
    assert "Login" in dagentd("context", PM, "--rebuild", cwd=project.root)


def test_a_session_whose_worktree_is_gone_has_none(project: SampleProject, session: Path) -> None:
    git(project.root, "worktree", "remove", "--force", str(project.worktree))
    for more in ([], ["--rebuild"]):
        told = dagentd("context", PM, *more, cwd=project.root, status=1)
        assert "is gone" in told and f"dagentd restore {PM}" in told
    assert not project.worktree.exists()


def test_through_a_daemon(daemon: Daemon, project: SampleProject, session: Path) -> None:
    daemon.run(project.root)
    (project.worktree / "CLAUDE.md").write_text("Newer\n")
    rebuilt = json.loads(dagentd("context", PM, "--rebuild", "--json", cwd=project.root))
    assert rebuilt["claudeMd"] == "Newer"
    assert daemon.call("session.getContext", **whose(project)) == rebuilt
    assert daemon.call("session.rebuildContext", **whose(project)) == rebuilt
    mine = {**rebuilt, "mine": [1], "featureName": "Old"}
    assert daemon.call("session.updateContext", **whose(project), context=mine) == mine
    put_right = daemon.call("session.rebuildContext", **whose(project))
    assert (put_right["mine"], put_right["featureName"]) == ([1], "Login")


def test_beside_a_daemon_that_serves_another_project(
    daemon: Daemon, project: SampleProject, session: Path, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "other"))
    daemon.run(tmp_path / "other")
    assert "Login" in dagentd("context", PM, "--rebuild", cwd=project.root)
    assert json.loads(session.read_text())["claudeMd"].startswith("Rules")


def test_one_shot_makes_contexts(project: SampleProject, session: Path) -> None:
    assert "context written" in dagentd("run", "--once", cwd=project.root)
    assert json.loads(session.read_text())["featureName"] == "Login"
    assert "up to date" in dagentd("run", "--once", cwd=project.root)
