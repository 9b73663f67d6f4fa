"""A pipe where git looks for a file: nobody writes to it, and nobody waits for that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters.git import repository
from tests.conftest import SampleProject


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "place",
    [".gitignore", "G/info/exclude", "G/config", "G/packed-refs", "G/shallow", "C/commondir", "C/gitdir", "C/HEAD"],
)
@pytest.mark.parametrize("linked", [False, True], ids=["a pipe", "a link to one"])
def test_nobody_waits_for_a_pipe(project: SampleProject, tmp_path: Path, place: str, linked: bool) -> None:
    common = project.root / ".git"
    roots = {"G": common, "C": common / "worktrees" / project.feature}
    start, _, rest = place.partition("/")
    path = roots[start] / rest if rest else project.worktree / place
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "pipe" if linked else path)
    if linked:
        path.symlink_to(tmp_path / "pipe")
    found = repository.snapshot(project.worktree, commits=5, depth=2, entries=10)
    assert found.notes and found.commits == ()


@pytest.mark.parametrize("place", [".gitignore", ".git/info/exclude"])
def test_dev_null_is_as_good_as_an_empty_file(repo: Path, place: str) -> None:
    (repo / place).unlink(missing_ok=True)
    (repo / place).symlink_to(os.devnull)
    found = repository.snapshot(repo, commits=5, depth=2, entries=10)
    assert found.notes == () and len(found.commits) == 1
