"""Hooks while the disk fails: what was not done is said, and can be done again."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dagentd.adapters import git
from dagentd.adapters.files import disk, fileio
from dagentd.errors import DagentdError
from dagentd.jobs import hooks


def test_a_hook_that_cannot_be_read_is_not_taken_for_one_without_our_part(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`dagentd remove` said that all is undone, and our part was still there."""
    project = git.project_at(repo)
    hooks.install(project)
    hook, real = repo / ".git" / "hooks" / "post-commit", fileio.descriptor
    held = hook.read_bytes()

    def refused(path: Path, root: Path | None = None) -> int:
        if path == hook:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(fileio, "descriptor", refused)
        with pytest.raises(DagentdError, match="too many files") as caught:
            hooks.uninstall(project)
    assert caught.value.path == str(hook) and hook.read_bytes() == held
    hooks.uninstall(project)
    assert not hook.exists()


def test_a_temp_file_that_could_not_be_removed_is_in_nobodys_way(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same process could not install hooks any more: "File exists"."""
    project = git.project_at(repo)

    def step(what: str, path: str | Path) -> None:
        if what in ("write", "unlink"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(disk, "step", step)
        assert hooks.install(project).failed
    assert not hooks.install(project).failed
