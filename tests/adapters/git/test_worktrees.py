"""Linked worktrees are found as git has them, also moved, damaged and gone ones."""

from __future__ import annotations

import shutil
from pathlib import Path

from dagentd.adapters.git import checkout_of, linked_worktrees
from tests.conftest import SampleProject, git


def test_none_and_some_and_none_again(repo: Path, tmp_path: Path) -> None:
    common, tree = repo / ".git", tmp_path / "it's a\ntree ü"
    assert linked_worktrees(common) == {}
    git(repo, "worktree", "add", "-q", "--detach", str(tree))
    [(name, found)] = linked_worktrees(common).items()
    assert found == checkout_of(common, name) == tree
    git(repo, "worktree", "remove", str(tree))
    assert linked_worktrees(common) == {}, "git removed the folder that they were in"


def test_one_that_was_deleted_by_hand_is_left_out(project: SampleProject) -> None:
    shutil.rmtree(project.worktree)
    assert linked_worktrees(project.root / ".git") == {}


def test_a_relative_pointer_is_followed(project: SampleProject) -> None:
    """As git 2.48 and later write it with worktree.useRelativePaths."""
    pointer = project.root / ".git" / "worktrees" / project.feature / "gitdir"
    pointer.write_text(f"../../../.dagent-worktrees/{project.feature}/.git\n")
    assert linked_worktrees(project.root / ".git") == {project.feature: project.worktree}


def test_names_and_pointers_that_make_no_sense_are_nothing(project: SampleProject) -> None:
    common = project.root / ".git"
    assert [checkout_of(common, name) for name in ("", ".", "..", "nowhere", "x" * 300)] == [None] * 5
    pointer = common / "worktrees" / project.feature / "gitdir"
    for damaged in (b"", b"\n", b"/\n", b"\xff\xfe", b"\0/.git", b"x" * 5000 + b"/.git"):
        pointer.write_bytes(damaged)
        assert checkout_of(common, project.feature) is None
    pointer.unlink()
    pointer.mkdir()
    assert checkout_of(common, project.feature) is None
