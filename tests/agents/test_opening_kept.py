"""Keeping an opening for a busy moment: told instead of what comes too late, and never once it may be untrue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagentd.adapters import git
from dagentd.agents import neighbours
from dagentd.agents import opening as openings
from dagentd.agents.followed import Followed
from dagentd.agents.opening_parts import Asked, Look, Part
from dagentd.agents.table import AGENTS
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject

SAID = "The hash is Argon2."


@pytest.fixture
def asked(project: SampleProject, tmp_path: Path) -> Iterator[Asked]:
    index = Index(tmp_path / "index.sqlite3")
    store = Store(git.project_at(project.root), index)
    where = neighbours.checkout(project.worktree, store.project)
    assert where is not None
    yield Asked(AGENTS["claude-code"], "77777777-2222-4333-8444-555555555555", "startup", None, store, where)
    store.close()
    index.close()


def _withdrawn(asked: Asked, kept: Path) -> None:
    (entry,) = asked.store.memory.entries()
    asked.store.memory.withdraw(entry.id, "user")


def _forgotten(asked: Asked, kept: Path) -> None:
    (kept / "one").unlink()


def _gone_on(asked: Asked, kept: Path) -> None:
    (kept / "one").write_text("more")


@pytest.mark.parametrize(("change", "told"), [(_gone_on, True), (_withdrawn, False), (_forgotten, False)])
def test_kept_words_stand_in_for_late_ones_until_something_may_be_forgotten(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Asked, Path], None], told: bool
) -> None:
    followed = Followed(tmp_path / "state", lambda: Settings().agents, list)
    kept = followed.following.keep(asked.agent).folder
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "one").write_text("a conversation")
    asked.store.memory.add(SAID, "user")
    made = openings.Openings(followed)
    monkeypatch.setattr(openings, "_PATIENCE", 60.0)
    assert SAID in made._text(asked, Settings())
    change(asked, kept)
    late, real = threading.Event(), Look.run

    def run(look: Look, found: Callable[[Part], object]) -> None:
        late.wait(60.0)
        real(look, found)

    monkeypatch.setattr(Look, "run", run)
    monkeypatch.setattr(openings, "_PATIENCE", 0.0)
    monkeypatch.setattr(openings, "_READY", 0.0)
    assert (SAID in made._text(asked, Settings())) == told
    late.set()
    followed.close()
