"""Forgetting: afterwards the bytes of a secret are in no file, whatever became of the session meanwhile."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from dagentd.errors import NotAllowed, NotFound
from dagentd.jobs import full_text_search
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject
from tests.conftest import git as run_git
from tests.store.served import Served

SECRET = "hunter2swordfish"


def holding(*roots: Path) -> list[Path]:
    """The files that hold the secret."""
    every = [Path(folder, name) for root in roots for folder, _, names in os.walk(root) for name in names]
    return [path for path in every if SECRET.encode() in content(path)]


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # a temp file of feature.json
        return b""


@pytest.fixture
def told(served: Served) -> Served:
    """A session into which the secret leaked, by every way there is."""
    session = served.session
    session.add([{"id": f"m-{SECRET}", "role": "user", "content": f"the key is {SECRET}"}])
    session.set(note=SECRET)
    session.update_checkpoint({"summary": {"decisions": [f"use {SECRET}"]}})
    session.replace("context", {"projectMd": SECRET})
    session.replace("agent-description", {"agentType": "pm", "roleInstructions": SECRET})
    session.reconcile()
    assert full_text_search.by_index([served.store], SECRET, None, 5)
    chat, journal = served.folder.document("chat"), served.journal
    for path in (chat.with_name(f"{chat.name}.corrupt.1"), chat.with_name(f"{chat.name}.backup"),
                 chat.with_name(f"{chat.name}.backup.12"), journal.with_name(f"{journal.name}.torn.3"),
                 chat.with_name(f"memory_{session.id}.json.corrupt.2"), chat.with_name(f".{chat.name}.1-1.dagentd-tmp"),
                 served.kept[0].with_name(f"{session.id}.9.jsonl"),
                 served.kept[0].with_name(f".{session.id}.77.dagentd-tmp")):  # fmt: skip
        path.write_text(SECRET)
    return served


def places(served: Served) -> tuple[Path, Path]:
    assert served.index_file is not None
    return served.project.root, served.index_file.parent


def test_nothing_holds_the_secret_any_more(told: Served) -> None:
    assert len(holding(*places(told))) > 10
    other = told.store.maker.get_or_create("task", "dev", told.feature, "task-1", "in_dev")
    other.add([{"id": "stays", "role": "user", "content": "walrus"}])
    other.reconcile()
    removed = told.store.forget(told.session.id)
    assert told.journal in removed and holding(*places(told)) == []
    open_files = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if os.path.lexists(entry)]
    assert not [name for name in open_files if told.session.id in name]
    assert "sessionId" not in json.loads((told.worktree / ".dagent" / "feature.json").read_bytes())
    with pytest.raises(NotFound):
        told.store.session(told.session.id)
    with pytest.raises(NotFound):
        told.session.add([{"role": "user", "content": "x"}])
    assert [hit["messageId"] for hit in full_text_search.by_index([told.store], "walrus", None, 5)] == ["stays"]
    told.store.reconciler.reconcile()
    told.close()
    assert holding(*places(told)) == [] and other.folder.journal.exists()


def test_one_that_is_gone_is_forgotten_too(told: Served) -> None:
    run_git(told.project.root, "worktree", "remove", "--force", str(told.worktree))
    assert holding(*places(told))
    told.store.forget(told.session.id)
    assert holding(*places(told)) == [] and told.store.catalogue.gone() == []


def test_in_every_worktree_and_under_nodes(told: Served, project: SampleProject) -> None:
    task = told.store.maker.get_or_create("task", "dev", told.feature, "task-1", "in_dev")
    task.add([{"id": "m", "role": "user", "content": SECRET}])
    task.reconcile()
    twin = told.worktree / ".dagent" / "nodes" / "task-1" / "sessions"
    twin.mkdir()
    (twin / f"chat_{task.id}.json").write_text(SECRET)
    nested = project.root / ".dagent" / "features" / "f" / "sessions" / task.id
    nested.mkdir(parents=True)
    (nested / "chat.json").write_text(SECRET)
    (nested / "chat.json.corrupt.1").write_text(SECRET)
    told.store.forget(told.session.id)
    told.store.forget(task.id)
    assert holding(*places(told)) == [] and not nested.exists()
    linked = json.loads((told.worktree / ".dagent" / "nodes" / "task-1" / "task.json").read_bytes())
    assert linked["states"]["in_dev"]["sessionIds"] == []


def test_what_it_was_migrated_from_goes_with_it(told: Served) -> None:
    old = told.worktree / ".dagent" / "chat.json"
    outside = told.project.root / "outside.json"
    for path in (old, old.with_name("chat.json.backup"), outside):
        path.write_text("old words")
    told.session.set(migratedFrom=[{"path": "chat.json"}, {"path": "../../../outside.json"}, {"path": 1}, None])
    told.store.forget(told.session.id)
    assert not old.exists() and not old.with_name("chat.json.backup").exists() and outside.exists()


def test_files_of_others_stay(told: Served) -> None:
    sessions = told.folder.path
    others = [f"chat_{told.session.id}-2.json", f"x{told.session.id}.json", f"chat_{told.session.id}.json.mine", "n"]
    for name in others:
        (sessions / name).write_text("{}")
    told.store.forget(told.session.id)
    assert sorted(os.listdir(sessions)) == sorted(others)


def test_what_the_projector_was_about_to_write_is_not_written(told: Served) -> None:
    for number in range(50):
        told.session.add([{"id": f"late-{number}", "role": "user", "content": SECRET}])
    told.store.forget(told.session.id)
    told.close()
    assert holding(*places(told)) == []


def test_there_is_nothing_to_forget(served: Served) -> None:
    with pytest.raises(NotFound, match="nothing of a session"):
        served.store.forget("pm-feature-nobody")
    with closing(Index(None)) as index:
        reader = Store(served.project, index, read_only=True)
        with pytest.raises(NotAllowed):
            reader.forget(served.session.id)
        reader.close()
    assert served.journal.exists()


def test_one_that_was_interrupted_can_be_finished(told: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks again must find something to forget, or the link and the indexes would keep what they have."""
    feature = told.folder.feature.path / "feature.json"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Index, "erase", interrupted)
        told.store.forget(told.session.id)
    told.store.forget(told.session.id)
    assert holding(*places(told)) == [] and "sessionId" not in json.loads(feature.read_bytes())


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt
