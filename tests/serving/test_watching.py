"""The thread that hears: whatever goes wrong in it, it goes on hearing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dagentd import worker
from dagentd.adapters import git
from dagentd.adapters.watch.batches import Batch
from dagentd.errors import LimitReached
from dagentd.model.project import FeatureFolder, Tree
from dagentd.serving import watching
from dagentd.serving.maintenance import Maintenance
from dagentd.serving.watched_project import WatchedProject
from dagentd.serving.watching import Watching
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.layout import layout
from dagentd.store.store import Store
from dagentd.worker import Worker
from tests.conftest import SampleProject
from tests.e2e.daemon import until
from tests.patience import patience

REGISTRY = Path("/state/projects.json")
AGENTS: Any = SimpleNamespace(folders=frozenset(), hear=list, look_at_all=lambda: None)


class Ears:
    """Gives what it was told to, or raises it; then nothing more."""

    ceiling = 1.0

    def __init__(self, *heard: Batch | Exception) -> None:
        self._heard: Iterator[Batch | Exception] = iter(heard)
        self._closed = threading.Event()

    def follow(self, folders: list[Path]) -> None:
        """Nothing is to be heard of them."""

    def batch(self, timeout: float | None) -> Batch | None:
        match next(self._heard, None):
            case Batch() as batch:
                return batch
            case Exception() as error:
                raise error
        self._closed.wait()
        return None

    def close(self) -> None:
        self._closed.set()


def test_one_who_fails_to_listen_listens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of descriptors the thread ended without a word, and nothing was heard until the next start."""
    monkeypatch.setattr(watching, "_AFTER_BUG", 0.01)
    told, bugs = threading.Event(), list[BaseException]()
    agx: Any = SimpleNamespace(folders=list, files=set())
    maintenance: Any = None
    listening = Watching(maintenance, agx, AGENTS, lambda *_, **__: None, [REGISTRY], told.set, bugs.append)
    ears: Any = Ears(OSError(24, "Too many open files"), Batch(frozenset({REGISTRY}), frozenset(), False))
    listening.start(ears)
    assert told.wait(patience()), "what came after the failure was not heard"
    listening.close()
    assert [type(bug) for bug in bugs] == [OSError]


def test_a_look_that_fails_is_had_again(project: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worktree that came while all descriptors were in use was not watched, and what was written there not heard."""
    monkeypatch.setattr(worker, "FIRST_DELAY", 0.01)
    bugs, refused, real = list[BaseException](), list[str](), layout.features
    turns = Worker(1, lambda: "now", bugs.append)
    maintenance, store = Maintenance(turns, lambda _: Settings()), Store(git.project_at(project.root), Index(None))
    agx: Any = SimpleNamespace(folders=list, files=set(), look=lambda _: None)
    listening = Watching(maintenance, agx, AGENTS, lambda *_, **__: None, [REGISTRY], lambda: None, bugs.append)
    maintenance.take_up(store)
    listening.take_up(store, watched=True)
    until(lambda: listening.worktrees(store) == ["feat-login"], "the first look")

    def features(tree: Tree) -> list[FeatureFolder]:
        if tree.name == "other" and len(refused) < 3:
            refused.append(tree.name)
            raise LimitReached("too many files are open")
        return real(tree)

    monkeypatch.setattr(layout, "features", features)
    (project.root / ".dagent-worktrees" / "other" / ".dagent" / "sessions").mkdir(parents=True)
    listening.look_at(store)
    until(lambda: any(path.parent.name == ".dagent" and "other" in path.parts for path in listening._places), "another")
    assert len(refused) == 3
    assert turns.drain(30) and not bugs
    store.close()


def test_a_rebase_that_has_stopped_before_the_start_is_no_change(project: SampleProject) -> None:
    """Nobody moved HEAD since: it was told of after the start, and its next commit was not waited for."""
    (project.root / ".git" / "worktrees" / "feat-login" / "rebase-merge").mkdir()
    bugs, store = list[BaseException](), Store(git.project_at(project.root), Index(None))
    turns = Worker(1, lambda: "now", bugs.append)
    maintenance, agx = Maintenance(turns, lambda _: Settings()), SimpleNamespace(look=lambda _: None)
    listening = Watching(maintenance, agx, AGENTS, lambda *_, **__: None, [], lambda: None, bugs.append)  # type: ignore[arg-type]
    maintenance.take_up(store)
    listening.take_up(store, watched=False)
    until(lambda: listening.worktrees(store) == ["feat-login"], "the first look")
    assert turns.drain(30) and not bugs
    (known,) = listening._projects.values()
    assert all(each.head is not None for each in known.checkouts.values()) and not known.rebasing
    store.close()


def test_a_checkout_that_git_cannot_read_costs_nothing_else_that_was_heard(project: SampleProject) -> None:
    """It was taken for a bug, and what other checkouts had in the same moment was lost."""
    bugs, moved = list[BaseException](), list[Any]()
    store = Store(git.project_at(project.root), Index(None))
    maintenance: Any = SimpleNamespace(renew_contexts=lambda *_: None)
    agx: Any = SimpleNamespace(folders=list, look=lambda _: None)
    listening = Watching(maintenance, agx, AGENTS, lambda *_, **said: moved.append(said), [], lambda: None, bugs.append)
    known = WatchedProject(store, watched=False)
    known.survey()
    (project.worktree / ".git").write_text(f"gitdir: /{'x' * 300}\n")
    for tree in sorted(known.checkouts, key=lambda each: each.worktree == project.root):
        listening._head(known, tree)
    assert [each["worktree"] for each in moved] == [str(project.root)]
    store.close()
