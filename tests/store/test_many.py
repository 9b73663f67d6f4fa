"""A project with more sessions than a process may have files open."""

from __future__ import annotations

import gc
import json
import os
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.git import project_at
from dagentd.jobs.due import reconcile
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _add_sessions(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        (folder / f"session_s{number}.json").write_text(json.dumps({"id": f"s{number}", "status": "active"}))
        (folder / f"chat_s{number}.json").write_text(json.dumps({"messages": [{"role": "user", "content": "Hi"}]}))


def test_reconciling_lets_each_session_go(project: SampleProject) -> None:
    _add_sessions(project.dagent / "sessions", 120)
    before = _open_files()
    store = Store(project_at(project.root), Index(None), settle=0.01)
    try:
        (feature,) = store.catalogue.features()
        assert {line.done for line in reconcile(store, feature)} == {"journal made"}
        assert [line.messages for line in reconcile(store, feature)] == [1] * 120
        while _open_files() > before + 60:  # the test's time limit ends this if they stay open
            time.sleep(0.01)
    finally:
        store.close()


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What is in no circle of references is freed without it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_what_is_let_go_is_freed_at_once(project: SampleProject) -> None:
    """The collector comes the more seldom the more there is, and a session holds its whole chat: those of 60 worktrees
    in turn took 8 KB a message."""
    _add_sessions(project.dagent / "sessions", 1)
    store = Store(project_at(project.root), Index(None), settle=0.01)
    try:
        with store.sessions.using("s0") as session:
            session.add([{"role": "user", "content": "again"}])
            session.clear()
            held = weakref.ref(session)
        session.retire()
        del session
        while store.sessions.document(store.catalogue.find("s0")) is not None:
            time.sleep(0.01)
        (feature,) = store.catalogue.features()
        reconcile(store, feature)  # the closed one is forgotten when another is opened in its place
        while held() is not None:  # the test's time limit ends this if something goes on holding it
            time.sleep(0.01)
    finally:
        store.close()


def test_a_session_that_was_let_go_can_be_used_again(project: SampleProject) -> None:
    _add_sessions(project.dagent / "sessions", 3)
    store = Store(project_at(project.root), Index(None), settle=0.01)
    try:
        store.reconciler.reconcile()
        for number in range(3):
            store.session(f"s{number}").add([{"role": "user", "content": "again"}])
        assert [store.session(f"s{number}").messages(0)[1] for number in range(3)] == [2, 2, 2]
    finally:
        store.close()
