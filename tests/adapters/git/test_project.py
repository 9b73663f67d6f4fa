"""Which project a path belongs to, for every way git lays out a repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters import git as layout
from dagentd.adapters.git import check_belongs, project_at
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, NotFound
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


@pytest.mark.parametrize("content", ["", "gitdir: /nowhere/at/all\n", "nonsense\n"])
def test_a_broken_git_file_is_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    with pytest.raises(NotFound, match="is not in a git repository"):
        project_at(tmp_path)


def test_a_checkout_belongs_to_its_repository_or_to_itself(project: SampleProject, tmp_path: Path) -> None:
    common = project.root / ".git"
    check_belongs(project.worktree, common)
    check_belongs(project.root, common)
    check_belongs(tmp_path, common)  # no checkout at all
    git(tmp_path, "init", "-q", "another")
    check_belongs(tmp_path / "another", common)  # a clone of its own, which has all in itself
    (project.worktree / ".git").write_text(f"gitdir: {tmp_path / 'another' / '.git'}\n")
    with pytest.raises(NotAllowed, match="of another repository"):
        check_belongs(project.worktree, common)


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


@pytest.fixture
def clone(project: SampleProject, tmp_path: Path) -> Path:
    """An agent's own, in the place of its worktree; beside it another repository of the user."""
    git(tmp_path, "init", "-q", "another")
    git(tmp_path / "another", "commit", "-q", "--allow-empty", "-m", "x")
    (project.worktree / ".git").unlink()
    git(project.worktree, "init", "-q")
    return project.worktree


def alternates(clone: Path) -> Path:
    return clone / ".git" / "objects" / "info" / "alternates"


def test_a_clone_may_share_what_is_the_projects(project: SampleProject, clone: Path) -> None:
    alternates(clone).write_text(f"{project.root / '.git' / 'objects'}\n")
    check_belongs(clone, project.root / ".git")


@pytest.mark.parametrize("way", ["behind a link", "through another", "with a space", "after another", "in quotes"])
def test_a_clone_borrows_nothing_from_another_repository(project: SampleProject, clone: Path, way: str) -> None:
    theirs, file = clone.parents[2] / "another" / ".git" / "objects", alternates(clone)
    assert theirs.is_dir()
    if way == "behind a link":
        (clone / "said").write_text(f"{theirs}\n")
        file.symlink_to("../../../said")
    elif way == "through another":
        (clone / "more" / "info").mkdir(parents=True)
        (clone / "more" / "info" / "alternates").write_text(f"{theirs}\n")
        file.write_text("../../more\n")
    elif way == "with a space":
        (clone / "a b").symlink_to(theirs.parent)
        file.write_text("../../a b/objects\n")
    else:
        file.write_text(f"x\n{theirs}\n" if way == "after another" else f'"\\057{str(theirs)[1:]}"\n')
    with pytest.raises(NotAllowed):
        check_belongs(clone, project.root / ".git")


@pytest.mark.parametrize("name", ["pack", "info", "ab"])
def test_no_folder_of_a_clones_objects_is_another_repositorys(project: SampleProject, clone: Path, name: str) -> None:
    place, theirs = clone / ".git" / "objects" / name, clone.parents[2] / "another" / ".git" / "objects"
    if place.is_dir():
        place.rmdir()
    place.symlink_to(theirs / name)
    with pytest.raises(NotAllowed):
        check_belongs(clone, project.root / ".git")


@pytest.mark.timeout(20)
def test_a_list_of_a_million_repositories(project: SampleProject, clone: Path) -> None:
    alternates(clone).write_text("a\n" * 1_000_000)
    with pytest.raises(DagentdError):
        check_belongs(clone, project.root / ".git")
