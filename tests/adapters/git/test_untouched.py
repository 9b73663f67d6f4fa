"""Reading leaves no trace: no write, no lock, no look at what the environment says about another repository."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dagentd.adapters.git import repository
from tests.adapters.git import repositories
from tests.adapters.git.repositories import Kind, commit, write
from tests.adapters.git.test_kinds import by_git, by_libgit, names, whole
from tests.conftest import git

Stamp = tuple[int, int, int, int, bytes]


def everything(folder: Path) -> dict[Path, Stamp]:
    return {path: stamp(path) for path in (folder, *folder.rglob("*"))}


def stamp(path: Path) -> Stamp:
    status = path.lstat()
    content = path.read_bytes() if path.is_file() else b""
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_mode, content


def make_index_stale(worktree: Path) -> None:
    """Times that differ from those in the index: `git status` would now write it anew."""
    for path in worktree.rglob("*"):
        if path.is_file() and ".git" not in path.parts and not path.is_symlink():
            os.utime(path, (1, time.time() - 1000))


@pytest.mark.parametrize("kind", [*repositories.BOTH, *repositories.GIT_ALONE], ids=names)
def test_nothing_changes(kind: Kind, tmp_path: Path) -> None:
    worktree = kind(tmp_path)
    make_index_stale(worktree)
    before = everything(tmp_path)
    whole(worktree)
    by_git(worktree)
    repository.rebasing(worktree)
    assert everything(tmp_path) == before


def test_locks_of_others_do_not_matter(tmp_path: Path) -> None:
    root = repositories.plain(tmp_path)
    expected = whole(root)
    for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock"):
        (root / ".git" / name).touch()
    before = everything(tmp_path)
    assert by_git(root) == by_libgit(root) == expected
    assert everything(tmp_path) == before


@pytest.mark.parametrize("kind", [repositories.plain, repositories.linked, repositories.sha256], ids=names)
def test_the_environment_is_not_asked(kind: Kind, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a hook of a linked worktree, where git names its own repository to all it starts."""
    worktree = kind(tmp_path)
    write(repo, "other.txt", "other\n")
    commit(repo, "In the other repository")
    expected = whole(worktree)
    for name, value in {
        "GIT_DIR": repo / ".git",
        "GIT_WORK_TREE": repo,
        "GIT_INDEX_FILE": repo / ".git" / "index",
        "GIT_COMMON_DIR": repo / ".git",
        "GIT_OBJECT_DIRECTORY": repo / ".git" / "objects",
        "GIT_NAMESPACE": "other",
        "GIT_CEILING_DIRECTORIES": worktree,
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
        "GIT_TRACE": tmp_path / "trace",
    }.items():
        monkeypatch.setenv(name, str(value))
    assert whole(worktree) == expected
    assert by_git(worktree) == expected
    assert not (tmp_path / "trace").exists()


def test_no_program_of_the_repository_is_run(tmp_path: Path) -> None:
    """A repository may name programs for git to run: to watch files, to filter, to show differences."""
    root = repositories.plain(tmp_path)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    program.chmod(0o755)
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.external",
        "gpg.program",
    ):
        git(root, "config", setting, str(program))
    git(root, "config", "log.showSignature", "true")
    (root / ".gitattributes").write_text("* filter=x\n")
    whole(root)
    by_git(root)
    assert not (tmp_path / "ran").exists()
