"""Hooks of every sort keep working with our part beside them, and are afterwards as they were."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.git import project_at
from dagentd.jobs import hooks
from dagentd.jobs.hooks.hook_changes import Line, apply_changes
from dagentd.model.project import Project
from dagentd.store.spool import EVENTS, Note, Spool
from tests.conftest import SampleProject, git
from tests.jobs.hooks.hooked import HOOKS, OLD, SH, SORTS, Hooked, Sort, commit, git_says
from tests.permissions import mode


@pytest.fixture(autouse=True)
def old_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that has no hooks in its configuration."""
    git_says(OLD, tmp_path, monkeypatch)


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outside")


def events(project: Project) -> set[tuple[str, Path | None]]:
    return {(note.event, note.worktree) for note in Spool(project).take()}


def line(lines: list[Line], event: str = "post-commit", worktree: Path | None = None) -> Line:
    return next(each for each in lines if each.event == event and worktree in (None, each.worktree))


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.name)
def test_every_sort_of_hook(sort: Sort, repo: Path, outside: Path) -> None:
    hooked = Hooked(repo, outside, sort)
    hooked.make()
    project, record = project_at(repo), repo / ".git" / "record"
    tools = {"LEFTHOOK_BIN": str(outside / "tool")}
    commit(repo, record, **tools)
    behaved, before = commit(repo, record, **tools), hooked.everything()
    report = hooks.install(project)
    assert report.failed == {}
    assert (line(report.lines).state == "installed") == sort.installs
    assert bool(line(report.lines).hint) != sort.installs, "what to do is said where it is left alone"
    installed = hooked.everything()
    assert hooks.install(project).changed == []
    assert commit(repo, record, **tools) == behaved
    assert events(project) == ({("post-commit", repo)} if sort.installs else set())
    assert hooked.everything() == installed, "git changed nothing, and we once"
    assert line(hooks.status(project)).arrived == (True if sort.installs else None)
    assert hooks.uninstall(project).failed == {}
    assert hooked.everything() == before
    assert hooks.uninstall(project).changed == []
    assert commit(repo, record, **tools) == behaved


@pytest.mark.parametrize("sort", [sort for sort in SORTS if not sort.installs], ids=lambda sort: sort.name)
def test_what_is_left_alone_is_not_touched(sort: Sort, repo: Path, outside: Path) -> None:
    hooked = Hooked(repo, outside, sort)
    hooked.make()
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in hooked.made}
    hooks.install(project_at(repo))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in hooked.made} == before
    assert git(repo, "status", "--porcelain", "--", ":!hooks") == ""


def test_what_is_said_to_add_by_hand_works(repo: Path) -> None:
    hook = repo / HOOKS / "post-commit"
    hook.write_text("#!/usr/bin/env python3\n")
    hook.chmod(0o755)
    project = project_at(repo)
    command = line(hooks.install(project).lines).hint.partition(": ")[2]
    hook.write_text(f"#!/usr/bin/env python3\nimport os\nos.system({command!r})\n")
    assert commit(repo, repo / ".git" / "record")[0] == 0
    assert events(project) == {("post-commit", repo)}
    assert line(hooks.status(project)).state == "by hand"
    hooks.uninstall(project)
    assert commit(repo, repo / ".git" / "record")[1].splitlines() == ["[] x"], "nothing is printed without dagentd"


def test_a_hook_outside_with_the_line_serves_the_repository_and_no_other(repo: Path, outside: Path) -> None:
    git(repo, "config", "core.hooksPath", str(outside))
    project = project_at(repo)
    command = line(hooks.install(project).lines).hint.partition(": ")[2]
    (outside / "post-commit").write_text(f"#!/bin/sh\n{command}\n")
    (outside / "post-commit").chmod(0o755)
    commit(repo, repo / ".git" / "record")
    assert events(project) == {("post-commit", repo)}
    assert line(hooks.install(project).lines).state == "by hand"


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Also for root, who may write where the mode forbids it."""
    if os.getuid() != 0:
        folder.chmod(0o500)
    elif subprocess.run(["chattr", "+i", str(folder)], capture_output=True).returncode:
        pytest.skip("this file system cannot forbid root to write")
    try:
        yield
    finally:
        if os.getuid() == 0:
            subprocess.run(["chattr", "-i", str(folder)], check=True)
        folder.chmod(0o755)


def test_a_hooks_folder_that_may_not_be_looked_into_is_not_taken_for_empty(repo: Path) -> None:
    project, folder = project_at(repo), repo / HOOKS
    folder.mkdir(exist_ok=True)
    hooks.install(project)
    (folder / "post-commit").rename(folder / "post-commit.legacy")
    for bits in (0o000, 0o400):
        with mode(folder, bits):
            lines = hooks.look(project)
            assert {(each.state, each.reason) for each in lines} == {("left alone", "permission denied")}
            assert set(hooks.uninstall(project).failed) in ({folder}, {folder / event for event in EVENTS})
    hooks.uninstall(project)
    assert not (folder / "post-commit.legacy").exists()


def test_a_read_only_hooks_folder_is_reported_with_the_reason(repo: Path, outside: Path) -> None:
    hooked = Hooked(repo, outside, Sort("sh", {f"{HOOKS}/post-commit": SH}, True))
    hooked.make()
    project = project_at(repo)
    (repo / HOOKS).chmod(0o755)
    before = hooked.everything()
    with read_only(repo / HOOKS):
        lines = hooks.install(project).lines
        assert [each.state for each in lines] == ["left alone"] * len(EVENTS)
        assert all(each.reason and each.hint for each in lines)
    hooks.uninstall(project)
    assert hooked.everything() == before
    hooks.install(project)
    installed = hooked.everything()
    with read_only(repo / HOOKS):
        assert len(hooks.uninstall(project).failed) == len(EVENTS)
    hooks.install(project)
    assert hooked.everything() == installed
    hooks.uninstall(project)
    assert hooked.everything() == before


# --- worktrees ------------------------------------------------------------------------------------------------


def test_one_installation_serves_all_worktrees_and_later_ones(project: SampleProject) -> None:
    ours = project_at(project.root)
    report = hooks.install(ours)
    assert {each.worktree for each in report.lines} == {project.root, project.worktree}
    git(project.worktree, "commit", "--allow-empty", "-qm", "x")
    later = project.root / ".dagent-worktrees" / "it's\nlater ü"
    git(project.root, "worktree", "add", "-q", "-b", "later", str(later))
    assert events(ours) == {("post-commit", project.worktree), ("post-checkout", later)}
    lines = hooks.status(ours)
    assert [each.arrived for each in lines] == [True] * len(EVENTS) * 3
    assert events(ours) == set()
    assert not [name for name in os.listdir(ours.spool_dir) if "probe" in name]


def test_a_relative_hooks_path_is_another_folder_in_each_worktree(project: SampleProject) -> None:
    """Ignored, so that git does not see what is written there; one worktree does not have it yet."""
    (project.root / ".git" / "info" / "exclude").write_text("own-hooks/\n")
    git(project.root, "config", "core.hooksPath", "own-hooks")
    (project.root / "own-hooks").mkdir()
    ours = project_at(project.root)
    lines = hooks.install(ours).lines
    assert line(lines, worktree=project.root).state == "installed"
    assert line(lines, worktree=project.worktree).state == "left alone"
    assert "is not there" in line(lines, worktree=project.worktree).reason
    (project.worktree / "own-hooks").mkdir()
    assert line(hooks.install(ours).lines, worktree=project.worktree).state == "installed"
    for where in (project.root, project.worktree):
        git(where, "commit", "--allow-empty", "-qm", "x")
    assert events(ours) == {("post-commit", project.root), ("post-commit", project.worktree)}
    assert git(project.worktree, "status", "--porcelain", "own-hooks") == ""
    hooks.uninstall(ours)
    assert os.listdir(project.root / "own-hooks") == os.listdir(project.worktree / "own-hooks") == []


def test_a_worktree_that_git_will_not_look_into_does_not_keep_the_others_from_it(project: SampleProject) -> None:
    (project.worktree / ".git").write_text(f"gitdir: {project.root}/.git/worktrees/nowhere\n")
    lines = hooks.install(project_at(project.root)).lines
    assert line(lines, worktree=project.root).state == "installed"
    assert "git says" in line(lines, worktree=project.worktree).reason


def test_a_bare_repository_with_a_worktree(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "tree"))
    ours = project_at(tmp_path / "tree")
    hooks.install(ours)
    git(tmp_path / "tree", "commit", "--allow-empty", "-qm", "x")
    assert events(ours) == {("post-commit", tmp_path / "tree")}
    assert {each.arrived for each in hooks.status(ours)} == {True}


def test_a_submodule_has_hooks_of_its_own(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "super")
    git(tmp_path / "super", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "sub")
    ours = project_at(tmp_path / "super" / "sub")
    hooks.install(ours)
    git(tmp_path / "super" / "sub", "commit", "--allow-empty", "-qm", "x")
    git(tmp_path / "super", "commit", "--allow-empty", "-qm", "x")
    assert Spool(ours).take() == [Note("post-commit", tmp_path / "super" / "sub")]


# --- what users and other tools do ----------------------------------------------------------------------------


def test_a_missing_hooks_folder_is_made_and_goes_again(repo: Path) -> None:
    folder = repo / HOOKS
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    project = project_at(repo)
    hooks.install(project)
    assert sorted(os.listdir(folder)) == sorted(EVENTS)
    assert folder.stat().st_mode == (repo / ".git").stat().st_mode
    hooks.install(project)
    hooks.uninstall(project)
    assert not folder.exists()


def test_a_hooks_folder_we_made_stays_if_the_user_put_something_there(repo: Path) -> None:
    folder = repo / HOOKS
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    hooks.install(project_at(repo))
    (folder / "pre-push").write_text(SH)
    hooks.uninstall(project_at(repo))
    assert os.listdir(folder) == ["pre-push"]


def test_a_hook_moved_aside_by_another_tool_is_cleaned_too(repo: Path) -> None:
    """As pre-commit does with a hook that was there before its own, and runs it from there."""
    project, folder = project_at(repo), repo / HOOKS
    before = sorted(os.listdir(folder))
    hooks.install(project)
    (folder / "post-commit").rename(folder / "post-commit.legacy")
    hook = folder / "post-commit"
    hook.write_text('#!/bin/sh\nexec "$(dirname "$0")/post-commit.legacy"\n')
    hook.chmod(0o755)
    commit(repo, repo / ".git" / "record")
    assert events(project) == {("post-commit", repo)}
    assert line(hooks.status(project)).state == "missing"
    hooks.install(project)
    hooks.uninstall(project)
    assert hook.read_text() == '#!/bin/sh\nexec "$(dirname "$0")/post-commit.legacy"\n'
    assert sorted(os.listdir(folder)) == sorted([*before, "post-commit"])


def test_parts_in_a_folder_that_git_no_longer_looks_into_go_too(repo: Path) -> None:
    project = project_at(repo)
    before = sorted(os.listdir(repo / HOOKS))
    hooks.install(project)
    git(repo, "config", "core.hooksPath", ".husky/_")
    hooks.uninstall(project)
    assert sorted(os.listdir(repo / HOOKS)) == before


def test_one_script_linked_to_under_several_names(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECORD", str(repo / ".git" / "record"))
    folder = repo / HOOKS
    (folder / "all").write_text(SH)
    (folder / "all").chmod(0o755)
    for event in ("post-commit", "post-checkout"):
        (folder / event).symlink_to("all")
    project = project_at(repo)
    hooks.install(project)
    assert hooks.install(project).changed == []
    git(repo, "checkout", "-q", "-b", "other")
    git(repo, "commit", "--allow-empty", "-qm", "x")
    assert events(project) == {("post-checkout", repo), ("post-commit", repo)}
    assert (folder / "post-commit").is_symlink()
    hooks.uninstall(project)
    assert (folder / "all").read_text() == SH


def test_a_link_to_a_tracked_script_is_left_alone(repo: Path) -> None:
    (repo / "hook.sh").write_text(SH)
    (repo / "hook.sh").chmod(0o755)
    git(repo, "add", "hook.sh")
    (repo / HOOKS / "post-commit").symlink_to("../../hook.sh")
    found = line(hooks.install(project_at(repo)).lines)
    assert (found.state, "git would see" in found.reason) == ("left alone", True)
    assert (repo / "hook.sh").read_text() == SH


def test_hooks_that_are_switched_off_stay_so(repo: Path) -> None:
    git(repo, "config", "core.hooksPath", "/dev/null")
    found = line(hooks.install(project_at(repo)).lines)
    assert (found.state, "core.hooksPath is /dev/null" in found.reason) == ("left alone", True)


def test_a_part_that_was_damaged_is_named_and_left(repo: Path) -> None:
    project, hook = project_at(repo), repo / HOOKS / "post-commit"
    hooks.install(project)
    damaged = hook.read_bytes().replace(b"# <<< dagentd <<<\n", b"")
    hook.write_bytes(damaged)
    assert line(hooks.status(project)).state == "left alone"
    assert list(hooks.uninstall(project).failed) == [hook]
    assert hook.read_bytes() == damaged


def test_a_moved_repository_needs_no_new_installation(repo: Path, tmp_path: Path) -> None:
    hooks.install(project_at(repo))
    repo.rename(tmp_path / "moved")
    git(tmp_path / "moved", "commit", "--allow-empty", "-qm", "x")
    assert events(project_at(tmp_path / "moved")) == {("post-commit", tmp_path / "moved")}


def test_status_runs_nothing_of_the_user(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, hook = repo / ".git" / "record", repo / HOOKS / "post-commit"
    monkeypatch.setenv("RECORD", str(record))
    hook.write_text(SH)
    hook.chmod(0o755)
    project = project_at(repo)
    assert line(hooks.status(project)).state == "missing"
    hooks.install(project)
    assert line(hooks.status(project)).arrived is True
    hook.write_bytes(hook.read_bytes().replace(b"#!/bin/sh\n", b'#!/bin/sh\necho before >>"$RECORD"\n', 1))
    found = line(hooks.status(project))
    assert (found.state, found.arrived) == ("outdated", None), "what stands before our part would be run"
    assert not record.exists()


def test_status_notices_that_word_does_not_arrive(repo: Path) -> None:
    project = project_at(repo)
    hooks.install(project)
    Spool(project).remove()
    assert {each.arrived for each in hooks.status(project)} == {False}


@pytest.mark.parametrize("place", [".git/hooks", ".git"])
def test_a_link_that_comes_between_looking_and_writing_leads_nowhere(
    project: SampleProject, outside: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = project.root / place, project_at(project.root)
    (outside / "hooks").mkdir()

    def exchanged(*given: Any) -> Any:
        folder.rename(folder.with_name("before"))
        folder.symlink_to(outside)
        return apply_changes(*given)

    monkeypatch.setattr(hooks, "apply_changes", exchanged)
    report = hooks.install(found)
    assert not [path for path in outside.rglob("*") if path.is_file()]
    assert {path.name for path in report.failed} >= set(EVENTS)
