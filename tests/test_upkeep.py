"""What is done for features, in their turns: here what somebody waits for."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dagentd import upkeep, worker
from dagentd.adapters import clock, disk
from dagentd.adapters.git import project_at
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.store import Store
from dagentd.upkeep import Upkeep
from dagentd.worker import Worker
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import until
from tests.store.app import said


def test_a_new_session_has_a_context_before_anybody_hears_of_it(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears later is in git's way, if the worktree is removed at once."""
    monkeypatch.setattr(upkeep, "_MOMENT", 60.0)  # however slow the machine is
    with kept_up(project) as (kept, store):
        session = store.get_or_create("feature", "pm", FEATURE)
        kept.give_context(store, session.folder)
        assert session.folder.document("context").exists()


@pytest.mark.parametrize("what", ["context", "chat of the app", "older file"])
def test_what_there_was_no_room_for_is_done_by_itself_when_there_is(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It waited for the next change, or for minutes, and the status said that the disk is full for as long."""
    monkeypatch.setattr(worker, "FIRST_DELAY", 0.01)
    with kept_up(project) as (kept, store):
        folder = store.get_or_create("feature", "pm", FEATURE).folder
        store.session(folder.id).reconcile()
        (feature,) = store.features()
        kept.renew(store, feature)
        until(folder.document("context").exists, "the context")
        if what == "context":
            (project.worktree / "CLAUDE.md").write_text("Be brief.")
        elif what == "chat of the app":
            folder.document("chat").write_text(json.dumps({"messages": [said("news", "Be brief.")]}))
        else:
            old = {"entries": [{"type": "user", "text": "Be brief.", "timestamp": "2026-01-01T10:00:00Z"}]}
            (feature.path / "chat.json").write_text(json.dumps(old))
        full, failed = no_room(monkeypatch)
        {"context": kept.renew, "older file": kept.migrate}.get(what, partial_look(kept, folder.id))(store, feature)
        until(failed.is_set, "the failure")
        full.clear()
        target = folder.document("context") if what == "context" else folder.journal
        until(lambda: "Be brief." in target.read_text(), "what there was no room for")
        until(lambda: store.shortage(feature) is None, "its end")


def partial_look(kept: Upkeep, session_id: str) -> Callable[[Store, FeatureFolder], None]:
    return lambda store, feature: kept.look(store, feature, session_id)


def no_room(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """While the first is set, nothing is written, and the second says that somebody tried."""
    full, failed = threading.Event(), threading.Event()
    full.set()

    def step(what: str, path: str | Path) -> None:
        if full.is_set() and what in ("create", "write"):
            failed.set()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(disk, "step", step)
    return full, failed


@contextmanager
def kept_up(project: SampleProject) -> Iterator[tuple[Upkeep, Store]]:
    bugs: list[BaseException] = []
    jobs = Worker(2, clock.stamp, bugs.append)
    kept, store = Upkeep(jobs, lambda _: Settings()), Store(project_at(project.root), Index(None), settle=0.01)
    kept.take_up(store)
    try:
        yield kept, store
    finally:
        jobs.drain(60.0)
        store.close()
    assert not bugs
