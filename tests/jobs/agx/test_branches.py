"""Sessions of branches: made and entered at a checkout, their git fields renewed at a commit, and no others touched."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from dagentd.agx import branches
from dagentd.agx.session_files import AgxSessions
from tests.conftest import git
from tests.jobs.context.contexts import Steps
from tests.store.agx.agx import Store, home, snapshot


@pytest.fixture
def followed(store: Store) -> Store:
    store.agx.new(store.root)
    return store


def checkout(store: Store, *arguments: str) -> None:
    git(store.root, "checkout", "-q", *arguments)
    store.agx.settle(store.root)


def commit(store: Store) -> str:
    git(store.root, "commit", "-q", "--allow-empty", "-m", "More")
    store.agx.settle(store.root)
    return git(store.root, "rev-parse", "HEAD")[:12]


def test_a_checkout_makes_the_branchs_session_and_enters_it(followed: Store) -> None:
    checkout(followed, "-b", "feature/auth")
    raw = followed.session("feature-auth")
    assert followed.current == "feature-auth"
    assert raw["metadata"]["variant"] == raw["project"]["gitBranch"] == "feature/auth"
    assert raw["project"]["gitCommit"] == git(followed.root, "rev-parse", "HEAD")[:12]
    assert raw["lifecycle"]["stateHistory"][-1]["reason"] == "branch_checkout"
    left = followed.session("main")["lifecycle"]
    assert left["state"] == "paused" and left["stateHistory"][-1]["reason"] == "branch_left"
    checkout(followed, "main")
    assert followed.current == "main" and followed.session("main")["lifecycle"]["state"] == "active"
    assert followed.session("feature-auth")["lifecycle"]["state"] == "paused"


def test_a_checkout_while_another_is_followed_is_not_missed(followed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    follow, later = branches.follow, ["second"]

    def slowly(sessions: AgxSessions, now: datetime) -> None:
        follow(sessions, now)
        if later:
            git(followed.root, "checkout", "-q", "-b", later.pop())

    monkeypatch.setattr(branches, "follow", slowly)
    checkout(followed, "-b", "first")
    assert followed.current == "first"
    followed.agx.settle(followed.root)
    assert followed.current == "second"


def test_a_commit_renews_only_the_session_of_its_branch(followed: Store) -> None:
    followed.agx.new(followed.root, "testing")
    checkout(followed, "-b", "side")
    before = {name: followed.session(name) for name in ("main", "testing")}
    id = commit(followed)
    assert followed.session("side")["project"]["gitCommit"] == id
    assert {name: followed.session(name) for name in before} == before
    assert followed.current == "side"


def test_a_session_that_was_switched_to_stays_current_at_a_commit(followed: Store) -> None:
    checkout(followed, "-b", "side")
    followed.agx.switch(followed.root, "main")
    commit(followed)
    followed.again().settle(followed.root)
    assert followed.current == "main"
    checkout(followed, "-b", "third")
    assert followed.current == "third"


def test_dirty_and_remote_are_told(followed: Store, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(followed.root), "origin.git")
    git(followed.root, "remote", "add", "origin", str(tmp_path / "origin.git"))
    git(followed.root, "fetch", "-q", "origin")
    git(followed.root, "branch", "-q", "-u", "origin/main")
    (followed.root / "README.md").write_text("changed")
    (followed.root / "new").write_text("untracked")
    commit(followed)
    held = followed.session("main")["project"]
    assert held["gitRemote"] == "origin/main" and held["gitDirty"] is True
    git(followed.root, "commit", "-q", "-am", "All")
    followed.agx.settle(followed.root)
    assert followed.session("main")["project"]["gitDirty"] is False, "what git does not track does not count"


def test_branches_that_would_have_one_id_have_two(followed: Store) -> None:
    checkout(followed, "-b", "feature/auth")
    checkout(followed, "-b", "feature-auth")
    made = followed.current
    assert made.startswith("feature-auth-") and len(made) == len("feature-auth-0000")
    checkout(followed, "feature/auth")
    assert followed.current == "feature-auth"
    checkout(followed, "feature-auth")
    assert followed.current == made
    assert len(list(followed.folder.sessions.glob("*.json"))) == 3


def test_a_detached_head_belongs_to_no_session(followed: Store) -> None:
    before = snapshot(followed.root / ".agx")
    checkout(followed, "--detach")
    git(followed.root, "commit", "-q", "--allow-empty", "-m", "x")
    followed.agx.settle(followed.root)
    assert snapshot(followed.root / ".agx") == before
    checkout(followed, "main")
    assert snapshot(followed.root / ".agx") == before


def test_worktrees_do_not_count(followed: Store) -> None:
    git(followed.root, "worktree", "add", "-q", "-b", "w", str(followed.root / ".dagent-worktrees" / "w"))
    before = snapshot(followed.root / ".agx")
    followed.agx.settle(followed.root)
    assert snapshot(followed.root / ".agx") == before


@pytest.mark.parametrize("where", ["project", "global", "create"])
def test_branch_sessions_can_be_switched_off(followed: Store, where: str) -> None:
    texts = {
        "project": {"session": {"branchSessions": False}},
        "global": {"session": {"autoBranchSessions": False}},
        "create": {"default": {"autoCreateSessions": False}},
    }
    file = followed.root / ".agx" / "config.json" if where == "project" else home() / "config.json"
    file.write_text(json.dumps({"version": "1.0.0", **texts[where]}))
    checkout(followed, "-b", "side")
    assert followed.current == "main" and not (followed.folder.sessions / "side.json").exists()
    checkout(followed, "main")
    id = commit(followed)
    assert followed.session("main")["project"]["gitCommit"] == id, "what is there is kept up"


def test_the_project_overrides_the_user(followed: Store) -> None:
    (home() / "config.json").write_text(json.dumps({"version": "1.0.0", "session": {"autoBranchSessions": False}}))
    config = {"version": "1.0.0", "session": {"branchSessions": True}}
    (followed.root / ".agx" / "config.json").write_text(json.dumps(config))
    checkout(followed, "-b", "side")
    assert followed.current == "side"


def test_an_archived_session_is_active_again_when_its_branch_is(followed: Store) -> None:
    checkout(followed, "-b", "side")
    followed.agx.archive(followed.root, "main")
    checkout(followed, "main")
    assert followed.session("main")["lifecycle"]["state"] == "active"


def test_a_current_session_that_cannot_be_read_holds_up_nobody(followed: Store) -> None:
    (followed.folder.sessions / "main.json").write_bytes(b"{")
    checkout(followed, "-b", "side")
    assert followed.current == "side"


def test_a_damaged_session_of_a_branch_is_not_written_over(followed: Store) -> None:
    from dagentd.errors import CorruptFile

    checkout(followed, "-b", "side")
    bad = followed.folder.sessions / "main.json"
    bad.write_bytes(b"{ half")
    git(followed.root, "checkout", "-q", "main")
    with pytest.raises(CorruptFile):
        followed.agx.settle(followed.root)
    assert bad.read_bytes() == b"{ half" and followed.current == "side"


def test_a_project_with_sessions_of_another_program_keeps_its_current(store: Store) -> None:
    from tests.model.agx.seed import example

    store.write("testing", {**example("session"), "sessionId": "testing"})
    (store.folder.sessions / ".current").write_text("testing\n")
    store.agx.settle(store.root)
    assert store.current == "testing\n"
    assert (store.folder.sessions / "main.json").exists(), "the branch has its session all the same"


def test_looking_again_costs_nothing(followed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout(followed, "-b", "side")
    steps = Steps(monkeypatch)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: 1 / 0)
    followed.agx.settle(followed.root)
    followed.again().settle(followed.root)
    assert steps.taken() == []


def test_an_unborn_branch_has_a_session_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "fresh")
    store = Store(tmp_path / "fresh")
    store.agx.new(store.root)
    assert store.session("main")["project"]["gitCommit"] is None
    store.agx.settle(store.root)
    assert store.session("main")["project"]["gitBranch"] == "main"


def merge(store: Store, *how: str) -> None:
    git(store.root, "merge", "-q", *how)
    store.agx.settle(store.root)


@pytest.mark.parametrize("how", [("--no-ff", "-m", "Merge"), ("--ff-only",)])
def test_the_session_of_a_merged_branch_is_completed(followed: Store, how: tuple[str, ...]) -> None:
    checkout(followed, "-b", "open")
    commit(followed)
    checkout(followed, "-b", "done")
    commit(followed)
    checkout(followed, "-b", "empty")
    checkout(followed, "main")
    git(followed.root, "branch", "-q", "unseen")
    merge(followed, *how, "done")
    git(followed.root, "branch", "-q", "-d", "done")
    held = followed.session("done")["lifecycle"]
    assert held["state"] == "completed" and held["stateHistory"][-1]["reason"] == "branch_merged"
    assert followed.session("main")["lifecycle"]["state"] == "active"
    checkout(followed, "empty")
    assert followed.session("empty")["lifecycle"]["state"] == "active", "it can be gone on with"


def test_a_branch_that_only_begins_where_another_ended_is_not_merged(followed: Store) -> None:
    git(followed.root, "commit", "-q", "--allow-empty", "-m", "Nobody looked")
    checkout(followed, "-b", "fresh")
    checkout(followed, "main")
    commit(followed)
    assert followed.session("fresh")["lifecycle"]["state"] == "paused"


def test_what_goes_into_another_branch_completes_nothing(followed: Store) -> None:
    checkout(followed, "-b", "part")
    commit(followed)
    checkout(followed, "-b", "whole", "main")
    merge(followed, "--no-ff", "-m", "Merge", "part")
    assert followed.session("part")["lifecycle"]["state"] == "paused"
