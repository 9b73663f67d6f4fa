"""What cannot be read is said in a note that a user can act on; what can be is there all the same."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.adapters.git import repository
from dagentd.adapters.git.repository import Head, Listing, Snapshot
from dagentd.errors import DagentdError, LimitReached, NotFound, expected
from tests.adapters.git import repositories
from tests.adapters.git.repositories import plain
from tests.conftest import SampleProject, git


def look(worktree: Path) -> Snapshot:
    return repository.snapshot(worktree, commits=10, depth=3, entries=100)


def only_note(worktree: Path) -> str:
    """Of a repository of which nothing at all can be read."""
    found = look(worktree)
    assert (found.commits, found.listing) == ((), Listing((), 0))
    (note,) = found.notes
    return note


def test_no_commits_yet(tmp_path: Path) -> None:
    found = look(repositories.unborn(tmp_path))
    assert found == Snapshot(
        Head("first/try", None), (), Listing(("new.txt", "staged.txt"), 0), ("There are no commits yet.",)
    )


def test_a_library_that_fails_while_it_loads_is_no_bug(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pygit2 raised a GitError, when no descriptor was left for the certificates that it reads then."""
    (tmp_path / "pygit2.py").write_text("raise RuntimeError('failed to load certificates')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "pygit2" or name.endswith("git.libgit")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("dagentd.adapters.git.libgit", raising=False)
    with pytest.raises(ImportError, match="failed to load certificates") as caught:
        look(repo)
    told = expected(caught.value)
    assert isinstance(told, LimitReached) and told.hint == "Try again, or: dagentd restart"


def test_a_shallow_clone_says_where_its_history_ends(tmp_path: Path) -> None:
    worktree = repositories.shallow(tmp_path)
    assert len(look(worktree).commits) == 2
    assert look(worktree).notes == ("This is a shallow clone: older commits are not here.",)
    assert repository.snapshot(worktree, commits=2, depth=1, entries=1).notes == ()


@pytest.mark.parametrize("extension", ["refStorage", "unheardOf"])
def test_an_extension_that_neither_reader_knows(repo: Path, extension: str) -> None:
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", f"extensions.{extension}", "reftable")
    note = only_note(repo)
    assert f"unknown repository extension found: {extension.lower()}" in note
    assert note.endswith("Try `git status` there.")


def test_a_reftable_with_a_git_that_does_not_know_it(repo: Path) -> None:
    """Its HEAD is a file that names no branch: git itself has to say where HEAD is."""
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "extensions.refStorage", "reftable")
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    (repo / ".git" / "reftable").mkdir()
    shutil.rmtree(repo / ".git" / "refs" / "heads")
    with pytest.raises(DagentdError, match="git says"):
        repository.head(repo)
    assert look(repo).head == Head(None, None)
    assert "git says: fatal" in only_note(repo)


@pytest.mark.parametrize("filter", ["blob:none", "tree:0"])
@pytest.mark.parametrize("old", [False, True], ids=["libgit2", "git"])
def test_nothing_is_fetched_into_a_partial_clone(filter: str, old: bool, tmp_path: Path) -> None:
    worktree = repositories.partial(tmp_path, filter)
    if old:
        git(worktree, "config", "core.repositoryFormatVersion", "1")
        git(worktree, "config", "extensions.partialClone", "origin")
    before = sorted(worktree.rglob("*"))
    found = look(worktree)
    assert sorted(worktree.rglob("*")) == before
    assert len(found.commits) == 4
    assert ("src/app/main.py" in found.listing.folders_and_files) == (filter == "blob:none")
    absent = "The content of some folders is not in this clone: it is a partial one, or `git fsck` says more."
    assert found.notes == ((absent,) if filter == "tree:0" else ())


@pytest.mark.parametrize("old", [False, True], ids=["libgit2", "git"])
def test_a_folder_that_a_partial_clone_lacks(old: bool, tmp_path: Path) -> None:
    worktree = repositories.partial(tmp_path, "tree:2")
    if old:
        git(worktree, "config", "core.repositoryFormatVersion", "1")
        git(worktree, "config", "extensions.partialClone", "origin")
    found = look(worktree)
    assert found.listing.folders_and_files == (
        (".gitignore", "README.md", "src-old/", "src-old/x", "src/", "src/app/", "src/lib.py")
    )
    assert found.notes[0].startswith("The content of some folders is not in this clone")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a repository away")
@pytest.mark.parametrize(
    ("kind", "owned"),
    [
        (repositories.plain, "plain"),
        (repositories.linked, "plain"),
        (repositories.bare, "bare.git"),
        (repositories.sha256, "plain"),
        (repositories.odd_path, repositories.ODD),
    ],
)
def test_a_repository_of_another_user(kind: Callable[[Path], Path], owned: str, tmp_path: Path) -> None:
    """The command in the note, typed as it is, lets us read."""
    worktree = kind(tmp_path)
    expected = look(worktree)
    for path in (tmp_path / owned, *(tmp_path / owned).rglob("*")):
        os.chown(path, 65534, 65534)
    note = only_note(worktree)
    assert note.startswith(
        "Another user owns this repository, so git does not read it. If you trust it, run `git config"
    )
    assert look(worktree).head == expected.head
    subprocess.run(["sh", "-c", note.partition("`")[2].removesuffix("`.")], check=True, cwd="/")
    assert look(worktree) == expected


def test_a_worktree_whose_repository_is_gone(project: SampleProject) -> None:
    shutil.rmtree(project.root / ".git")
    assert repository.git_dir(project.worktree) is None
    assert not repository.rebasing(project.worktree)
    with pytest.raises(NotFound):
        repository.head(project.worktree)
    assert f"{project.worktree}: is not the worktree of a git repository" in only_note(project.worktree)


def test_a_worktree_that_git_has_forgotten(project: SampleProject) -> None:
    """It lies in the main checkout; what git finds from there upward is another worktree's."""
    shutil.rmtree(project.root / ".git" / "worktrees")
    assert "is not the worktree of a git repository" in only_note(project.worktree)


@pytest.mark.parametrize("where", ["empty", "gone", "repo/empty"])
def test_no_repository_at_all(repo: Path, where: str) -> None:
    folder = repo.parent / where
    if where != "gone":
        folder.mkdir()
    assert repository.git_dir(folder) is None
    assert "is not the worktree of a git repository" in only_note(folder)


def test_a_repository_that_lost_its_last_commit(tmp_path: Path) -> None:
    root = plain(tmp_path)
    id = git(root, "rev-parse", "HEAD")
    (root / ".git" / "objects" / id[:2] / id[2:]).unlink()
    found = look(root)
    assert found.commits == ()
    assert found.listing.folders_and_files[:2] == (".gitignore", "README.md")
    assert "git says: fatal: bad object" in found.notes[0]


def test_a_repository_that_lost_an_older_commit(tmp_path: Path) -> None:
    root = plain(tmp_path)
    id = git(root, "rev-parse", "HEAD~2")
    (root / ".git" / "objects" / id[:2] / id[2:]).unlink()
    found = look(root)
    assert "src/app/main.py" in found.listing.folders_and_files
    assert "git says: " in found.notes[0]


def test_no_git_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """libgit2 reads what it can; for the rest the note says what to install."""
    root, other = plain(tmp_path), tmp_path / "sha256"
    git(tmp_path, "init", "-q", "--object-format=sha256", str(other))
    repositories.write(other, "new.txt", "")
    monkeypatch.setenv("PATH", "")
    assert look(root).notes == ()
    assert look(other).notes[0] == "There are no commits yet."
    assert "Install git" in look(other).notes[1]


def test_worktrees_that_vanish_while_they_are_read(project: SampleProject) -> None:
    """At every moment of it there is a snapshot: whole, or with a note. `head` gives an answer or says why not."""
    churn = "for n in 1 2 3 4 5 6 7 8 9 10; do git worktree remove --force $0; git worktree add -q $0 $1; done"
    branch = f"feature/{project.feature}"
    expected = look(project.worktree)
    with subprocess.Popen(
        ["sh", "-e", "-c", churn, str(project.worktree), branch], cwd=project.root, stderr=subprocess.DEVNULL
    ) as running:
        while running.poll() is None:
            found = look(project.worktree)
            assert found.notes or found.head == expected.head
            with contextlib.suppress(DagentdError):
                assert repository.head(project.worktree) in (expected.head, Head(branch, None))
    assert running.returncode == 0
    assert look(project.worktree) == expected
