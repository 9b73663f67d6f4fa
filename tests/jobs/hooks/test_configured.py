"""With a git that has hooks in its configuration no hook file is touched, and the config is afterwards as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters.git import project_at
from dagentd.jobs import hooks
from dagentd.store.spool import EVENTS, Spool
from tests.conftest import SampleProject, git
from tests.jobs.hooks.hooked import HOOKS, NEW, OLD, SH, SORTS, Hooked, Sort, commit, git_says


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.name)
def test_no_hook_of_others_is_touched(
    sort: Sort, repo: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    git_says(NEW, tmp_path, monkeypatch)
    hooked = Hooked(repo, tmp_path_factory.mktemp("outside"), sort)
    hooked.make()
    before = hooked.everything()
    lines = hooks.install(project_at(repo)).lines
    assert [line.state for line in lines] == ["installed"] * len(EVENTS)
    changed = {path for path, look in hooked.everything().items() if before.get(path) != look}
    own = repo / ".git" / "dagentd"
    expected = [own, own / "hook", own / "hooks.config", own / "spool", repo / ".git" / "config"]
    assert sorted(changed) == sorted(map(str, expected))
    assert hooks.install(project_at(repo)).changed == []
    hooks.uninstall(project_at(repo))
    assert hooked.everything() == before


def test_a_newer_git_takes_over_from_hook_files_and_an_older_one_back(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, config, project = repo / HOOKS / "post-commit", repo / ".git" / "config", project_at(repo)
    hook.write_text(SH)
    hook.chmod(0o755)
    plain = config.read_bytes()
    with monkeypatch.context() as older:
        git_says(OLD, tmp_path / "old", older)
        hooks.install(project)
    assert b"dagentd" in hook.read_bytes()
    with monkeypatch.context() as newer:
        git_says(NEW, tmp_path / "new", newer)
        hooks.install(project)
    assert hook.read_text() == SH
    assert b"dagentd" in config.read_bytes()
    with monkeypatch.context() as older:
        git_says(OLD, tmp_path / "old", older)
        hooks.install(project)
    assert config.read_bytes() == plain
    assert b"dagentd" in hook.read_bytes()


@pytest.fixture
def new_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not git_says(NEW, tmp_path, monkeypatch):
        pytest.skip("needs git 2.54 or later; this one is older")


@pytest.mark.usefixtures("new_git")
def test_git_runs_them_beside_those_of_the_user_in_every_worktree(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, record = project_at(project.root), project.root / ".git" / "record"
    hook = project.root / HOOKS / "post-commit"
    hook.write_text(SH)
    hook.chmod(0o755)
    behaved = commit(project.worktree, record)
    hooks.install(ours)
    assert commit(project.worktree, record) == behaved
    git(project.worktree, "commit", "--allow-empty", "--amend", "-qm", "y")
    git(project.root, "checkout", "-q", "-b", "side")
    git(project.root, "merge", "-q", f"feature/{project.feature}")
    assert {(note.event, note.worktree) for note in Spool(ours).take()} == {
        ("post-commit", project.worktree),
        ("post-rewrite", project.worktree),
        ("post-checkout", project.root),
        ("post-merge", project.root),
    }


@pytest.mark.usefixtures("new_git")
def test_a_probe_runs_nothing_of_the_user(project: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, record = project_at(project.root), project.root / ".git" / "record"
    monkeypatch.setenv("RECORD", str(record))
    for path in (project.root / HOOKS / event for event in EVENTS):
        path.write_text(SH)
        path.chmod(0o755)
    git(project.root, "config", "hook.their own=1.event", "post-commit")
    git(project.root, "config", "hook.their own=1.command", 'echo configured >>"$RECORD" #')
    hooks.install(ours)
    assert [line.arrived for line in hooks.status(ours)] == [True] * 2 * len(EVENTS)
    assert not record.exists()
    git(project.root, "config", "hook.dagentd-post-commit.enabled", "false")
    assert [line.event for line in hooks.status(ours) if not line.arrived] == ["post-commit"] * 2
    assert os.listdir(ours.spool_dir) == []
