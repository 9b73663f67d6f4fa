"""`dagentd new` where git has its own mind, and `dagentd status` of worktrees that are no features'."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tests.e2e.daemon import Daemon, until
from tests.e2e.dagentd import dagentd


@pytest.fixture
def elsewhere(repo: Path, tmp_path: Path) -> Path:
    """A worktree of branch `pay`, not in .dagent-worktrees."""
    git(repo, "worktree", "add", "-q", "-b", "pay", str(tmp_path / "else where"))
    return tmp_path / "else where"


def test_the_words_for_git_are_right_from_any_folder(repo: Path) -> None:
    (repo / "src").mkdir()
    told = dagentd("new", "pay", cwd=repo / "src", status=1)
    assert told.endswith(f"run `git -C {repo} worktree add -b pay .dagent-worktrees/pay`.\n")
    assert "run `git worktree add -b pay .dagent-worktrees/pay`" in dagentd("new", "pay", cwd=repo, status=1)


def test_how_one_begins_can_be_typed_where_one_is(daemon: Daemon, repo: Path, tmp_path: Path) -> None:
    assert f"`dagentd new FEATURE -C {repo}` makes one" in dagentd("sessions", str(repo), cwd=tmp_path)
    assert "`dagentd new FEATURE` makes one" in dagentd("sessions", "..", cwd=repo / ".git")
    assert f"`dagentd remove {repo}` undoes" in (said := daemon.dagentd("init", str(repo), cwd=tmp_path))
    assert f"`dagentd hooks uninstall {repo}` takes" in said and f"`dagentd new FEATURE -C {repo}` makes" in said
    git(repo, "worktree", "add", "-q", "-b", "pay", ".dagent-worktrees/pay")
    assert "`dagentd new pay -C repo` makes one" in dagentd("show", "x", "-C", repo.name, cwd=tmp_path, status=1)


def test_without_a_commit_it_says_how_there_is_one(repo: Path) -> None:
    git(repo, "symbolic-ref", "HEAD", "refs/heads/unborn")  # where there is no branch at all, a newer git helps itself
    assert "`git commit --allow-empty -m Begin` makes one." in dagentd("new", "pay", "--yes", cwd=repo, status=1)


def test_a_branch_that_is_checked_out_elsewhere_can_have_its_feature_there(repo: Path, elsewhere: Path) -> None:
    link = repo / ".dagent-worktrees" / "pay"
    told = dagentd("new", "pay", "--yes", cwd=repo, status=1)
    assert f"ln -s '{elsewhere}' {link}`, then the same" in told
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    assert f"in {elsewhere}." in dagentd("new", "pay", cwd=repo)


def test_the_name_of_a_worktree_behind_a_link_is_known_too(repo: Path, elsewhere: Path) -> None:
    (repo / ".dagent-worktrees").mkdir()
    (repo / ".dagent-worktrees" / "pay").symlink_to(elsewhere.rename(elsewhere.with_name("cash")))
    git(repo, "worktree", "repair", str(elsewhere.with_name("cash")))
    assert f"in {elsewhere.with_name('cash')}." in dagentd("new", "cash", cwd=repo)


@pytest.mark.usefixtures("elsewhere")
def test_status_says_which_worktrees_it_counts(daemon: Daemon, repo: Path) -> None:
    daemon.run(repo)
    assert "only those in .dagent-worktrees are counted" in dagentd("status", cwd=repo)
    git(repo, "worktree", "add", "-q", "-b", "login", ".dagent-worktrees/login")
    until(lambda: "are counted" not in dagentd("status", cwd=repo), "the new worktree")
