"""Every kind of repository is shown as git itself shows it, by whichever reader."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters.git import repository
from dagentd.adapters.git.objects import GitReader
from dagentd.adapters.git.repository import Head, Reading, Snapshot
from dagentd.model import oneline
from tests.adapters.git import repositories
from tests.adapters.git.repositories import Kind, raw
from tests.conftest import git

_WITHOUT_CHECKOUT = (repositories.bare, repositories.bare_behind_a_file)
_OURS = (b".dagent/", b".dagent-worktrees/", b".agx/")


def names(kind: Kind) -> str:
    return kind.__name__


def whole(worktree: Path) -> Snapshot:
    return repository.snapshot(worktree, commits=100, depth=20, entries=1000)


def by_git(worktree: Path) -> Snapshot:
    return Reading(GitReader(worktree), worktree, repository.head(worktree)).snapshot(100, 20, 1000)


def by_libgit(worktree: Path) -> Snapshot:
    from dagentd.adapters.git import libgit

    with libgit.opened(worktree) as objects:
        return Reading(objects, worktree, repository.head(worktree)).snapshot(100, 20, 1000)


@pytest.mark.parametrize("kind", repositories.BOTH, ids=names)
def test_both_readers_see_the_same(kind: Kind, tmp_path: Path) -> None:
    worktree = kind(tmp_path)
    assert by_libgit(worktree) == by_git(worktree) == whole(worktree)


@pytest.mark.parametrize("kind", repositories.GIT_ALONE, ids=names)
def test_where_libgit2_gives_up_git_reads(kind: Kind, tmp_path: Path) -> None:
    from dagentd.adapters.git import libgit

    worktree = kind(tmp_path)
    with pytest.raises(libgit.Unreadable), libgit.opened(worktree):
        pass
    found = whole(worktree)
    assert len(found.commits) == 4
    assert found.notes == ()


@pytest.mark.parametrize("kind", [*repositories.BOTH, *repositories.GIT_ALONE], ids=names)
def test_head_and_commits_are_those_of_git(kind: Kind, tmp_path: Path) -> None:
    worktree = kind(tmp_path)
    found = whole(worktree)
    assert found.head == _head(worktree)
    shown = [f"{commit.id} {commit.subject}" for commit in found.commits]
    log = ("--no-replace-objects", "log", "--first-parent", "--format=%H %s")
    assert shown == (git(worktree, *log).split("\n") if found.head.commit else [])


@pytest.mark.parametrize("kind", [*repositories.BOTH, *repositories.GIT_ALONE], ids=names)
def test_the_structure_is_that_of_git(kind: Kind, tmp_path: Path) -> None:
    worktree = kind(tmp_path)
    found = whole(worktree)
    tracked = _tracked(worktree) if found.head.commit else set()
    new = set() if kind in _WITHOUT_CHECKOUT else _new(worktree, tracked)
    expected = [oneline.visible(os.fsdecode(path)) for path in sorted(tracked | new)]
    assert list(found.listing.folders_and_files) == expected
    assert found.listing.left_out == 0


def _head(worktree: Path) -> Head:
    branch = git(worktree, "branch", "--show-current")
    found = raw(worktree, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}") if branch else b""
    commit = found.decode().strip() if branch else git(worktree, "rev-parse", "HEAD")
    return Head(branch or None, commit or None)


def _tracked(worktree: Path) -> set[bytes]:
    lines = raw(worktree, "ls-tree", "-r", "-t", "-z", "--full-tree", "HEAD").split(b"\0")[:-1]
    every = (line.partition(b"\t") for line in lines)
    return {name + (b"" if about.split()[1] == b"blob" else b"/") for about, _, name in every}


def _new(worktree: Path, tracked: set[bytes]) -> set[bytes]:
    """What git status shows as new or added, at the top: it knows folders only by the files in them."""
    lines = raw(worktree, "status", "-z", "--porcelain", "--no-renames").split(b"\0")[:-1]
    names = {line[3:] for line in lines if line[:2] in (b"??", b"A ")}
    return {name for name in names if b"/" not in name.rstrip(b"/") and name not in _OURS} - tracked
