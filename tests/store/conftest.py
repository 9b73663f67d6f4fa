"""A store that serves one session of a sample project, and the app beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagentd.adapters import clock
from tests.conftest import SampleProject
from tests.store.served import Served


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
