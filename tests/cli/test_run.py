"""`dagentd run` in the foreground."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner

from dagentd.cli.run import run
from dagentd.daemon import Daemon


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_what_is_loaded_is_no_garbage_to_look_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(_: Daemon, ready: Callable[[], None]) -> int:
        ready()
        return 0

    monkeypatch.setattr(Daemon, "run", serve)
    monkeypatch.setattr(Daemon, "stores", lambda _: [])
    gc.unfreeze()
    done = CliRunner().invoke(run, [])
    assert "Listening at" in done.output
    assert gc.get_freeze_count() > 10_000
