"""Keeping an opening for a busy moment: told instead of what comes too late, and never once it may be untrue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dagentd.adapters import git
from dagentd.adapters.clock import stamp
from dagentd.agents import neighbours
from dagentd.agents import opening as openings
from dagentd.agents.followed import Followed
from dagentd.agents.opening_parts import Asked, Look, Part
from dagentd.agents.table import AGENTS
from dagentd.model.project import Registered
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.agents.claude_lines import answer, user
from tests.conftest import SampleProject
from tests.conftest import git as git_at

OTHER = "66666666-2222-4333-8444-555555555555"
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


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_what_is_found_at_once_takes_nothing_from_what_took_longer_before(
    asked: Asked, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    worktree, project = asked.where.path, asked.store.project
    sibling = tmp_path / "sibling"
    git_at(project.root, "worktree", "add", "-q", "-b", "sibling", str(sibling))
    for place in (worktree, sibling):
        (place / "README.md").write_text(f"{place}")
        git_at(place, "commit", "-qam", "Say where")
    followed = Followed(tmp_path / "state", lambda: Settings().agents, lambda: [Registered("p1", project, "")])
    for uuid, cwd in ((asked.uuid, worktree), (OTHER, sibling)):
        path = home / ".claude/projects/-x" / f"{uuid}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(user("Add a page. Never use MD5.", cwd, timestamp=stamp()) + answer("Done.", cwd))
        followed.take_in(asked.agent, uuid, path)
    made = openings.Openings(followed)
    monkeypatch.setattr(openings, "_PATIENCE", 60.0)
    monkeypatch.setattr(openings, "_READY", 60.0)
    where = neighbours.checkout(worktree, project)
    assert where is not None
    asked = replace(asked, source=source, uuid=asked.uuid if source == "compact" else "", where=where)
    whole = made._text(asked, Settings())
    assert "README.md" in whole and "Add a page." in whole and (source == "clear" or "Never use MD5." in whole)

    find = Look._find
    monkeypatch.setattr(Look, "_find", lambda look, *given: find(look, *given) if look._is_quick else None)
    assert made._text(asked, Settings()) == whole
    followed.close()
