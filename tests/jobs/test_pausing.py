"""Which session is meant by a pause, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters import git
from dagentd.errors import InvalidInput, NotAllowed, NotFound
from dagentd.jobs import pausing, summaries
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store

PM, QA = "pm-feature-login", "qa-feature-login"


@pytest.fixture
def store(repo: Path) -> Iterator[Store]:
    """A session that is in two worktrees, and one that had another name."""
    for worktree, session in (("one", PM), ("two", PM), ("two", QA)):
        sessions = repo / ".dagent-worktrees" / worktree / ".dagent" / "sessions"
        sessions.mkdir(parents=True, exist_ok=True)
        aliases = ["old-name"] if session == QA else []
        (sessions / f"session_{session}.json").write_text(json.dumps({"id": session, "aliases": aliases}))
    index = Index(None)
    made = Store(git.project_at(repo), index)
    yield made
    made.close()
    index.close()


def test_all_of_its_id_are_meant_by_any_of_its_names(store: Store) -> None:
    for name, meant in ((PM, [PM, PM]), ("old-name", [QA])):
        assert pausing.pause(store, name, None)["paused"]["until"] is None
        paused = [each["id"] for each in summaries.sessions(store, Settings()) if "paused" in each]
        assert paused == meant
        assert pausing.resume(store, name) == {"ended": True, "paused": None}
    assert pausing.resume(store, PM) == {"ended": False, "paused": None}


def test_one_that_was_removed_can_be_resumed(store: Store) -> None:
    pausing.pause(store, PM, 60)
    for path in store.project.root.rglob(f"*_{PM}.json*"):
        path.unlink()
    assert pausing.resume(store, PM)["ended"]
    with pytest.raises(NotFound):
        pausing.resume(store, PM)


def test_what_cannot_be_is_refused(store: Store) -> None:
    for seconds in (0, -1, pausing.LONGEST + 1):
        with pytest.raises(InvalidInput):
            pausing.pause(store, None, seconds)
    with pytest.raises(NotFound):
        pausing.pause(store, "no-such", None)
    index = Index(None)
    reading = Store(store.project, index, read_only=True)
    with pytest.raises(NotAllowed):
        pausing.pause(reading, None, None)
    reading.close()
    index.close()
    assert store.pauses.of_project() is None
