"""What is done for features, in their turns: here what somebody waits for."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dagentd import worker
from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.adapters.git import project_at
from dagentd.jobs import context
from dagentd.model.project import FeatureFolder
from dagentd.serving import maintenance
from dagentd.serving.maintenance import Maintenance
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from dagentd.worker import Worker
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import until
from tests.patience import patience
from tests.store.app import said


def test_a_new_session_has_a_context_before_anybody_hears_of_it(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears later is in git's way, if the worktree is removed at once."""
    monkeypatch.setattr(maintenance, "_MOMENT", 60.0)  # however slow the machine is
    with kept_up(project) as (kept, store):
        session = store.maker.get_or_create("feature", "pm", FEATURE)
        kept.give_context(store, session.folder)
        assert session.folder.document("context").exists()


def test_contexts_that_vanished_hold_up_nobody_and_come_again(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was waited for in a worker: a commit was known after 10 seconds."""
    with kept_up(project) as (kept, store):
        (feature,) = store.catalogue.features()
        folders = [store.maker.get_or_create("task", "dev", FEATURE, f"t{n}", "in_dev").folder for n in range(5)]
        contexts = [folder.document("context") for folder in folders]
        kept.renew(store, feature)
        until(lambda: all(path.exists() for path in contexts), "contexts")
        slept, sleep = list[str](), time.sleep

        def noted(seconds: float) -> None:
            slept.append(threading.current_thread().name)
            sleep(min(seconds, 0.1))

        monkeypatch.setattr(time, "sleep", noted)
        for path in contexts:
            path.unlink()
        (project.worktree / "CLAUDE.md").write_text("Be brief.")
        kept.rebuild(store, folders[0])  # whoever asked may wait
        until(lambda: all(path.exists() and "Be brief." in path.read_text() for path in contexts), "contexts again")
        assert not [name for name in slept if name.startswith("worker")]


@pytest.mark.parametrize("what", ["context", "chat of the app", "older file"])
def test_what_there_was_no_room_for_is_done_by_itself_when_there_is(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It waited for the next change, or for minutes, and the status said that the disk is full for as long."""
    monkeypatch.setattr(worker, "FIRST_DELAY", 0.01)
    with kept_up(project) as (kept, store):
        folder = store.maker.get_or_create("feature", "pm", FEATURE).folder
        store.session(folder.id).reconcile()
        (feature,) = store.catalogue.features()
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
        until(lambda: store.noted.shortage(feature.path) is None, "its end")


def partial_look(kept: Maintenance, session_id: str) -> Callable[[Store, FeatureFolder], None]:
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
def kept_up(project: SampleProject) -> Iterator[tuple[Maintenance, Store]]:
    bugs: list[BaseException] = []
    jobs = Worker(2, clock.stamp, bugs.append)
    kept, store = Maintenance(jobs, lambda _: Settings()), Store(project_at(project.root), Index(None), settle=0.01)
    kept.take_up(store)
    try:
        yield kept, store
    finally:
        jobs.drain(60.0)
        store.close()
    assert not bugs


def test_what_waits_for_a_project_is_not_done_once_it_is_released(project: SampleProject) -> None:
    began, went = threading.Event(), threading.Event()

    def first() -> None:
        began.set()
        went.wait(patience(60.0))

    with kept_up(project) as (kept, store):
        (feature,) = store.catalogue.features()
        kept.submit(store, feature, "first", first)
        assert began.wait(patience(60.0))
        kept.submit(store, feature, "second", lambda: None)
        finished = kept.release(store)
        assert kept._worker.status()["queues"] == []
        went.set()
        assert finished(patience(60.0))


# --- a context that somebody is about to use ------------------------------------------------------------------


def _rules(project: SampleProject) -> tuple[str, object]:
    (project.worktree / "CLAUDE.md").write_text("Be brief.")
    return "claudeMd", "Be brief."


def _graph(project: SampleProject) -> tuple[str, object]:
    nodes = [{"id": "t1", "title": "One", "status": "done"}]
    (project.worktree / ".dagent" / "dag.json").write_text(json.dumps({"nodes": nodes, "connections": []}))
    return "dagSummary", "1 task: 1 complete, 0 in progress, 0 pending"


def _commit(project: SampleProject) -> tuple[str, object]:
    git(project.worktree, "commit", "-q", "--allow-empty", "-m", "Go on")
    return "gitCommit", git(project.worktree, "rev-parse", "HEAD")


def _goal(project: SampleProject) -> tuple[str, object]:
    path = project.worktree / ".dagent" / "feature.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "description": "Sign in"}))
    return "featureGoal", "Sign in"


def _spec(project: SampleProject) -> tuple[str, object]:
    (project.worktree / ".dagent" / "spec.md").write_text("Users sign in.")
    return "spec", "Users sign in."


@pytest.mark.parametrize("change", [_rules, _graph, _commit, _goal, _spec])
def test_whoever_uses_a_context_finds_what_was_changed_a_moment_ago(
    project: SampleProject, change: Callable[[SampleProject], tuple[str, object]]
) -> None:
    """Nobody watches here, as with `watch.enabled = false`."""
    with kept_up(project) as (kept, store):
        session = store.maker.get_or_create("feature", "pm", FEATURE)
        kept.freshen(store, session.folder)
        for _ in range(2):  # also what was changed before we knew of it
            name, wanted = change(project)
            kept.freshen(store, session.folder)
            assert (session.read("context") or {}).get(name) == wanted


def test_a_context_that_is_current_is_not_made_again(project: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept_up(project) as (kept, store):
        session = store.maker.get_or_create("feature", "pm", FEATURE)
        kept.freshen(store, session.folder)

        def settled() -> bool:
            """What was written in this very moment is looked at twice."""
            made.clear()
            kept.freshen(store, session.folder)
            return not made

        made, real = list[FeatureFolder](), context.rebuild

        def noted(store: Store, feature: FeatureFolder, settings: Settings, shared: context.Checkouts) -> object:
            made.append(feature)
            return real(store, feature, settings, shared)

        monkeypatch.setattr(context, "rebuild", noted)
        until(settled, "nothing to do")
        other = store.maker.get_or_create("feature", "harness", FEATURE)
        kept.freshen(store, other.folder)
        assert made and other.read("context"), "a session without one gets one"


def test_what_is_paused_stays_as_it_is(project: SampleProject) -> None:
    with kept_up(project) as (kept, store):
        session = store.maker.get_or_create("feature", "pm", FEATURE)
        kept.freshen(store, session.folder)
        store.pauses.begin(session.id, None)
        (project.worktree / "CLAUDE.md").write_text("Be brief.")
        kept.freshen(store, session.folder)
        assert (session.read("context") or {}).get("claudeMd") != "Be brief."
