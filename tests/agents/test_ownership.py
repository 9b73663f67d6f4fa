"""Whose a conversation is, by where it was begun."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dagentd.agents.ownership import Owner, Ownership
from dagentd.model.project import Project, Registered
from tests.conftest import git, make_repo


@pytest.fixture
def owned(repo: Path) -> Registered:
    return Registered("p1", Project(repo, repo / ".git"), "")


def where(found: Owner | None) -> str | None:
    return None if found is None else found.worktree


@pytest.mark.parametrize("place", [".dagent-worktrees/x", ".claude/worktrees/x", "../sibling"])
def test_a_worktree_anywhere_is_the_repositorys_also_when_it_is_gone(repo: Path, owned: Registered, place: str) -> None:
    worktree = (repo / place).resolve()
    git(repo, "worktree", "add", "-q", "--detach", str(worktree))
    (worktree / "src").mkdir()
    assert Ownership([owned]).of(str(worktree / "src")) == Owner("p1", str(repo), str(worktree))
    shutil.rmtree(worktree)
    assert Ownership([owned]).of(str(worktree / "src")) == Owner("p1", str(repo), str(worktree))
    git(repo, "worktree", "prune")
    known = [Owner("p1", str(repo), str(worktree))]
    assert where(Ownership([owned], known).of(str(worktree / "src"))) == str(worktree)
    if place != "../sibling":
        assert where(Ownership([owned]).of(str(worktree / "src"))) == str(worktree)


def test_a_new_clone_in_the_place_of_a_removed_one_has_its_conversations(repo: Path, owned: Registered) -> None:
    known = [Owner("an older id", str(repo), str(repo.parent / "gone"))]
    assert Ownership([owned], known).of(str(repo.parent / "gone")) == Owner("p1", str(repo), str(repo.parent / "gone"))


def test_nothing_of_another_repository_is_ours(repo: Path, owned: Registered, tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other")
    inner = make_repo(repo / "vendor")
    (tmp_path / "linked").symlink_to(repo)
    ownership = Ownership([owned])
    for cwd in (other, inner, inner / "gone", tmp_path, "/", "", "repo", "/proc/self/cwd/x", f"{repo}/../other",
                f"{repo}\0", "/\udcff", f"{repo}x"):  # fmt: skip
        assert ownership.of(str(cwd)) is None, cwd
    assert ownership.of(None) is None
    assert where(ownership.of(str(tmp_path / "linked"))) is not None


def test_folders_are_left_out(repo: Path, owned: Registered, home: Path) -> None:
    git(home, "init", "-q", str(home / "mine"))
    mine = Registered("p2", Project(home / "mine", home / "mine/.git"), "")
    ownership = Ownership([owned, mine], ignored=[str(repo / "a"), "~/mine"])
    assert ownership.of(str(repo / "a/b")) is None and ownership.of(str(home / "mine")) is None
    assert where(ownership.of(str(repo / "ab"))) == str(repo)


def test_everything_is_taken_where_that_is_asked_for(repo: Path, owned: Registered) -> None:
    ownership = Ownership([owned], scope="all", ignored=["/secret"])
    assert ownership.of("/any/where") == Owner(None, None, "/any/where")
    assert ownership.of(str(repo)) == Owner("p1", str(repo), str(repo))
    assert ownership.of("/secret/x") is None
