"""What is done for features, in their turns: here what somebody waits for."""

from __future__ import annotations

import pytest

from dagentd import upkeep
from dagentd.adapters import clock
from dagentd.adapters.git import project_at
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.store import Store
from dagentd.upkeep import Upkeep
from dagentd.worker import Worker
from tests.conftest import FEATURE, SampleProject


def test_a_new_session_has_a_context_before_anybody_hears_of_it(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears later is in git's way, if the worktree is removed at once."""
    monkeypatch.setattr(upkeep, "_MOMENT", 60.0)  # however slow the machine is
    bugs: list[BaseException] = []
    worker = Worker(2, clock.stamp, bugs.append)
    kept, store = Upkeep(worker, lambda _: Settings()), Store(project_at(project.root), Index(None), settle=0.01)
    kept.take_up(store)
    try:
        session = store.get_or_create("feature", "pm", FEATURE)
        kept.give_context(store, session.folder)
        assert session.folder.document("context").exists()
    finally:
        worker.drain(60.0)
        store.close()
    assert not bugs
