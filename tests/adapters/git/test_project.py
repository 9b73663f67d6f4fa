"""Which project a path belongs to, for every way git lays out a repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters import git as layout
from dagentd.adapters.git import checked_dir, project_at
from dagentd.adapters.git.repository import head, snapshot
from dagentd.errors import CorruptFile, NotAllowed, NotFound
from tests.conftest import SampleProject, git


def test_from_any_folder_in_the_main_checkout(repo: Path) -> None:
    (repo / "src" / "deep").mkdir(parents=True)
    found = project_at(repo / "src" / "deep")
    assert (found.root, found.common_dir) == (repo, repo / ".git")


def test_from_a_linked_worktree_it_is_the_main_repository(project: SampleProject) -> None:
    found = project_at(project.dagent)
    assert (found.root, found.common_dir) == (project.root, project.root / ".git")


def test_a_worktree_elsewhere(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "else where"))
    assert project_at(tmp_path / "else where").root == repo


def test_a_git_folder_that_is_a_link_is_the_one_behind_it(repo: Path, tmp_path: Path) -> None:
    """As the tool `repo` makes them; a link that comes later is none of the project's."""
    (repo / ".git").rename(tmp_path / "behind")
    (repo / ".git").symlink_to(tmp_path / "behind")
    found = project_at(repo)
    assert (found.root, found.common_dir) == (repo, tmp_path / "behind")
    assert checked_dir(repo, found.common_dir) == tmp_path / "behind"
    with pytest.raises(NotAllowed, match="another repository"):
        checked_dir(repo, repo / ".git")


def test_one_that_became_a_link_is_told_with_the_way_on(repo: Path, tmp_path: Path) -> None:
    before = project_at(repo)
    (repo / ".git").rename(tmp_path / "moved")
    (repo / ".git").symlink_to(tmp_path / "moved")
    with pytest.raises(NotAllowed, match="became a link") as told:
        layout.check_there(before)
    assert told.value.hint.endswith(f"dagentd init {repo}")
    layout.check_there(project_at(repo))


def test_a_bare_repository_and_its_worktree(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    git(bare, "worktree", "add", "-q", str(bare / ".dagent-worktrees" / "f"))
    assert project_at(bare).root == bare
    assert project_at(bare / ".dagent-worktrees" / "f").root == bare


def test_a_submodule_is_a_project_of_its_own(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    git(tmp_path, "init", "-q", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "inner")
    found = project_at(outer / "inner")
    assert found.root == outer / "inner"
    assert found.common_dir == outer / ".git" / "modules" / "inner"


def test_a_separate_git_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "git folder"), str(tmp_path / "work"))
    git(tmp_path / "work", "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path / "work", "worktree", "add", "-q", ".dagent-worktrees/f")
    for place in ("work", "work/.dagent-worktrees/f"):
        found = project_at(tmp_path / place)
        assert (found.root, found.common_dir) == (tmp_path / "work", tmp_path / "git folder")


def test_odd_names(tmp_path: Path) -> None:
    root = tmp_path / "a 'b\"\nü"
    git(tmp_path, "init", "-q", str(root))
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    git(root, "worktree", "add", "-q", "-b", "other", ".dagent-worktrees/w ö\n")
    assert project_at(root / ".dagent-worktrees" / "w ö\n").root == root


@pytest.mark.parametrize(
    "content", ["", "gitdir: /nowhere/at/all\n", "nonsense\n", "non: \0", "gitdir: \0", "gitdir: round"]
)
def test_a_broken_git_file_is_no_repository(tmp_path: Path, content: str) -> None:
    """Nor a bug: of a project with one such worktree nothing was heard."""
    (tmp_path / "round").symlink_to("round")
    (tmp_path / ".git").write_text(content)
    with pytest.raises(NotFound, match="is not in a git repository"):
        project_at(tmp_path)


def test_what_is_read_of_a_checkout_lies_in_its_repository(project: SampleProject, tmp_path: Path) -> None:
    common = project.root / ".git"
    assert checked_dir(project.root, common) == common
    assert checked_dir(project.worktree, common) == common / "worktrees" / project.worktree.name
    with pytest.raises(NotFound):
        checked_dir(tmp_path, common)
    git(tmp_path, "init", "-q", "another")
    for marker in (f"gitdir: {tmp_path / 'another' / '.git'}\n", "gitdir: mine\n"):
        (project.worktree / ".git").write_text(marker)
        (project.worktree / "mine").mkdir(exist_ok=True)
        with pytest.raises(NotAllowed, match="of another repository"):
            checked_dir(project.worktree, common)


@pytest.mark.parametrize("reftable", [False, True])
def test_only_the_git_folder_that_was_looked_at_is_read(project: SampleProject, tmp_path: Path, reftable: bool) -> None:
    """An agent may put another `.git` into its worktree between two looks."""
    own, before = checked_dir(project.worktree, project.root / ".git"), head(project.worktree)
    git(tmp_path, "init", "-q", "-b", "theirs", "another")
    git(tmp_path / "another", "commit", "-q", "--allow-empty", "-m", "theirs")
    (project.worktree / ".git").write_text(f"gitdir: {tmp_path / 'another' / '.git'}\n")
    if reftable:  # then git itself is asked
        (own / "HEAD").unlink()
        (own / "HEAD").symlink_to("refs/heads/" + (before.branch or ""))
        (own / "refs" / "heads" / "feature").mkdir(parents=True)
    found = snapshot(project.worktree, own, commits=5, depth=1, entries=5)
    assert "theirs" not in str(found) and (reftable or found.head == before)


# --- what an agent can put there --------------------------------------------------------------------------------------

HUGE = 1 << 40  # bytes of a file that takes no room on disk


def test_a_git_file_of_any_size_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".git").touch()
    os.truncate(tmp_path / ".git", HUGE)
    assert layout.git_dir(tmp_path) is None


def test_no_pointer_and_no_configuration_of_any_size_is_read(project: SampleProject) -> None:
    own = project.root / ".git" / "worktrees" / project.worktree.name
    for file in (own / "commondir", project.root / ".git" / "config"):
        os.truncate(file, HUGE)
    with pytest.raises(CorruptFile):
        layout.common_dir(own)
    with pytest.raises(CorruptFile):
        layout.is_bare(project.root / ".git")


@pytest.mark.timeout(20)
def test_a_configuration_of_line_breaks(repo: Path) -> None:
    """Which took hours, and no other thread could run meanwhile."""
    with (repo / ".git" / "config").open("a") as config:
        config.write("\n" * 1_000_000)
    assert not layout.is_bare(repo / ".git")
