"""HEAD follows every thing one does with git, read off the files; and so does the place of the git folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.adapters import git as heads
from dagentd.adapters.git import repository
from dagentd.adapters.git.repository import Head
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, NotFound
from tests.adapters.git import repositories
from tests.adapters.git.repositories import commit, write
from tests.conftest import SampleProject, git


def subjects(worktree: Path) -> list[str]:
    found = repository.snapshot(worktree, commits=3, depth=1, entries=10)
    return [one.subject for one in found.commits]


def tip(worktree: Path) -> str:
    return git(worktree, "rev-parse", "HEAD")


def test_commit_and_amend(repo: Path) -> None:
    write(repo, "a", "a\n")
    commit(repo, "Add a")
    assert repository.head(repo) == Head("main", tip(repo))
    assert subjects(repo) == ["Add a", "Start"]
    before = repository.head(repo)
    git(repo, "commit", "-q", "--amend", "-m", "Add a, better")
    assert repository.head(repo) == Head("main", tip(repo)) != before
    assert subjects(repo) == ["Add a, better", "Start"]


def test_checkout_and_merge(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side/ways")
    git(repo, "commit", "-q", "--allow-empty", "-m", "On the side")
    assert repository.head(repo) == Head("side/ways", tip(repo))
    git(repo, "checkout", "-q", "main")
    assert subjects(repo) == ["Start"]
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge it", "side/ways")
    assert repository.head(repo) == Head("main", tip(repo))
    assert subjects(repo) == ["Merge it", "Start"]


def test_a_commit_in_one_worktree_is_none_in_another(project: SampleProject) -> None:
    before = repository.head(project.root)
    git(project.worktree, "commit", "-q", "--allow-empty", "-m", "In the worktree")
    assert repository.head(project.worktree) == Head("feature/feat-login", tip(project.worktree))
    assert repository.head(project.root) == before


def test_a_rebase_of_100_commits(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repo, "checkout", "-q", "-b", "work")
    for number in range(100):
        git(repo, "commit", "-q", "--allow-empty", "-m", f"Step {number}")
    git(repo, "checkout", "-q", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Meanwhile")
    git(repo, "checkout", "-q", "work")
    before = repository.head(repo)
    assert not repository.rebasing(repo)
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", "sed -i '51i break'")
    git(repo, "rebase", "-q", "-i", "main")
    assert repository.rebasing(repo)
    assert repository.head(repo) == Head(None, tip(repo))
    assert subjects(repo)[0] == "Step 49"
    git(repo, "rebase", "--continue")
    assert not repository.rebasing(repo)
    assert repository.head(repo) == Head("work", tip(repo)) != before
    found = repository.snapshot(repo, commits=200, depth=1, entries=10).commits
    assert [one.subject for one in found] == [*(f"Step {n}" for n in range(99, -1, -1)), "Meanwhile", "Start"]


@pytest.mark.parametrize("backend", ["--apply", "--merge"])
def test_a_rebase_that_stopped_in_a_linked_worktree(project: SampleProject, backend: str) -> None:
    for place, content in ((project.root, "ours\n"), (project.worktree, "theirs\n")):
        write(place, "README.md", content)
        git(place, "commit", "-q", "-a", "-m", content.strip())
    with pytest.raises(Exception, match="rebase"):
        git(project.worktree, "rebase", backend, "main")
    assert repository.rebasing(project.worktree)
    assert not repository.rebasing(project.root)
    git(project.worktree, "rebase", "--abort")
    assert not repository.rebasing(project.worktree)


def test_a_branch_that_is_renamed(project: SampleProject) -> None:
    git(project.root, "branch", "-m", "feature/feat-login", "wörk/in-progress")
    assert repository.head(project.worktree) == Head("wörk/in-progress", tip(project.worktree))
    git(project.root, "pack-refs", "--all")
    assert repository.head(project.worktree) == Head("wörk/in-progress", tip(project.worktree))


def test_a_loose_ref_is_newer_than_the_packed_one(repo: Path) -> None:
    git(repo, "branch", "main-too")
    git(repo, "pack-refs", "--all")
    git(repo, "commit", "-q", "--allow-empty", "-m", "After packing")
    assert repository.head(repo) == Head("main", tip(repo))


def test_a_branch_name_that_is_no_text(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "caf\udce9")
    git(repo, "pack-refs", "--all")
    assert repository.head(repo) == Head("caf\udce9", tip(repo))


def test_a_branch_that_stands_for_another(repo: Path) -> None:
    git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/alias")
    assert repository.head(repo) == Head(git(repo, "branch", "--show-current"), tip(repo)) == Head("main", tip(repo))


def test_a_head_that_is_a_link(repo: Path) -> None:
    """As git made it before 2005, and still does with core.preferSymlinkRefs."""
    git(repo, "config", "core.preferSymlinkRefs", "true")
    git(repo, "checkout", "-q", "-b", "linked")
    assert (repo / ".git" / "HEAD").is_symlink()
    assert repository.head(repo) == Head("linked", tip(repo))


def test_worktrees_that_come_move_and_go(repo: Path) -> None:
    """With the last one .git/worktrees itself vanishes."""
    first, second = repo / ".dagent-worktrees" / "first", repo / ".dagent-worktrees" / "second"
    git(repo, "worktree", "add", "-q", "-b", "one", str(first))
    assert repository.git_dir(first) == repo / ".git" / "worktrees" / "first"
    git(repo, "worktree", "move", str(first), str(second))
    assert repository.git_dir(first) is None
    assert repository.git_dir(second) == repo / ".git" / "worktrees" / "first"
    assert repository.head(second) == Head("one", tip(repo))
    assert repository.snapshot(second, commits=1, depth=1, entries=9).listing.folders_and_files == ("README.md",)
    git(repo, "worktree", "remove", "--force", str(second))
    assert not (repo / ".git" / "worktrees").exists()
    assert repository.git_dir(second) is None
    assert not repository.rebasing(second)
    with pytest.raises(NotFound, match="is not the worktree of a git repository"):
        repository.head(second)
    assert repository.git_dir(repo) == repo / ".git"
    assert repository.head(repo) == Head("main", tip(repo))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (repositories.bare, "bare.git"),
        (repositories.bare_behind_a_file, "folder/.bare"),
        (repositories.worktree_of_bare, "bare.git/worktrees/feat"),
        (repositories.submodule, "outer/.git/modules/lib/inner"),
        (repositories.odd_path, f"{repositories.ODD}/plain/.git/worktrees/feat"),
    ],
)
def test_where_the_git_folder_is(kind: Callable[[Path], Path], expected: str, tmp_path: Path) -> None:
    assert repository.git_dir(kind(tmp_path)) == tmp_path / expected


@pytest.mark.parametrize(
    "content", [b"nonsense\n", b"ref: \0\n", b"\0" * 41, b"ref: refs/heads/loop\n", b"f" * 39], ids=ascii
)
def test_a_head_that_is_damaged(repo: Path, content: bytes) -> None:
    (repo / ".git" / "refs" / "heads" / "loop").write_text("ref: refs/heads/loop\n")
    (repo / ".git" / "HEAD").write_bytes(content)
    with pytest.raises(CorruptFile, match="HEAD: names neither"):
        repository.head(repo)
    (note,) = repository.snapshot(repo, commits=1, depth=1, entries=1).notes
    assert note.endswith("repo/.git/HEAD: names neither a commit nor a branch. Try `git status` there.")


@pytest.mark.parametrize("first", [b"", b"0" * 40 + b"\n"], ids=["truncated", "by git worktree add"])
def test_a_head_that_is_being_written(repo: Path, first: bytes) -> None:
    expected = repository.head(repo)
    file = repo / ".git" / "HEAD"
    content = file.read_bytes()
    file.write_bytes(first)
    writer = threading.Timer(0.02, file.write_bytes, [content])
    writer.start()
    assert repository.head(repo) == expected
    writer.join()


def test_a_head_that_stays_empty(repo: Path) -> None:
    (repo / ".git" / "HEAD").write_bytes(b"")
    with pytest.raises(CorruptFile, match="HEAD: names no commit yet"):
        repository.head(repo)


def test_a_head_that_is_gone(repo: Path) -> None:
    (repo / ".git" / "HEAD").unlink()
    with pytest.raises(DagentdError):
        repository.head(repo)
    assert len(repository.snapshot(repo, commits=1, depth=1, entries=1).notes) == 1


def test_a_head_that_nobody_may_read(repo: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    (repo / ".git").chmod(0)
    try:
        with pytest.raises(DagentdError, match="HEAD"):
            repository.head(repo)
    finally:
        (repo / ".git").chmod(0o755)


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("before", [0, 1 << 20, (1 << 20) - 30, (1 << 20) - 60])
def test_a_packed_ref_wherever_it_stands_in_a_large_file(repo: Path, before: int, end: str) -> None:
    newest = tip(repo)
    (repo / ".git" / "refs" / "heads" / "main").unlink()
    others = "\n".join([f"{newest} refs/heads/other", "x refs/heads/main", f"{newest}a refs/heads/main"])
    padding = "#" * max(0, before - len(others) - 1)
    (repo / ".git" / "packed-refs").write_text(f"{padding}\n{others}\n{newest} refs/heads/main{end}")
    assert repository.head(repo) == Head("main", newest)


def test_a_search_in_packed_refs_lets_other_threads_run(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of 200 MB held them up for 15 seconds."""
    (repo / ".git" / "refs" / "heads" / "main").unlink()
    (repo / ".git" / "packed-refs").write_bytes(b"a" * (5 << 20))
    searched = list[int]()

    def search(wanted: bytes, held: bytes) -> None:
        searched.append(len(held))

    monkeypatch.setattr(heads, "_id_before", search)
    assert repository.head(repo) == Head("main", None)
    assert max(searched) < (1 << 20) + 1000


@pytest.mark.parametrize("link", ["main", ""])
def test_no_ref_leads_to_another_repository(repo: Path, tmp_path: Path, link: str) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "another")
    git(tmp_path / "another", "commit", "-q", "--allow-empty", "-m", "x")
    place = repo / ".git" / "refs" / "heads" / link
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "another" / ".git" / "refs" / "heads" / link)
    with pytest.raises(NotAllowed):
        repository.head(repo)
