"""A store that serves one session of a sample project, and the app beside it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagentd.adapters import clock
from tests.conftest import SampleProject
from tests.conftest import git as run_git
from tests.store.served import Served

SHM = Path("/dev/shm")


@pytest.fixture
def served(project: SampleProject, tmp_path: Path, wait: Callable[[float], None]) -> Iterator[Served]:
    """Closed while the clock still shows what `wait` set it to: put back, it would have us wait as long once more."""
    bench = Served(project.worktree, project.feature, tmp_path / "index.sqlite")
    yield bench
    bench.close()


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let time pass for dagentd: its clock goes on by so many seconds at once."""
    ahead, real = [0.0], clock.monotonic

    def pass_by(seconds: float) -> None:
        ahead[0] += seconds

    monkeypatch.setattr(clock, "monotonic", lambda: real() + ahead[0])
    return pass_by


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Served]:
    """In a repository whose git folder is on another file system than its files."""
    if not SHM.is_dir() or SHM.stat().st_dev == tmp_path.stat().st_dev or not os.access(SHM, os.W_OK):
        pytest.skip("no second file system that can be written to")
    far, root = SHM / f"dagentd-test-{os.getpid()}.git", tmp_path / "repo"
    try:
        run_git(tmp_path, "init", "-q", "--separate-git-dir", str(far), str(root))
        (root / ".dagent").mkdir()
        (root / ".dagent" / "feature.json").write_text('{"id": "f1"}')
        served = Served(root, "f1", tmp_path / "index.sqlite")
        assert served.project.root == root and served.project.common_dir == far
        yield served
        served.close()
    finally:
        shutil.rmtree(far, ignore_errors=True)
