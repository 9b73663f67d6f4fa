"""Where things are: both styles, both shapes, several worktrees; and what is written where."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import git
from dagentd.errors import Conflict, LimitReached, NotFound
from dagentd.store.journal.index import Index
from dagentd.store.layout import layout
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.conftest import SampleProject
from tests.store.app import App, said
from tests.store.place import Place
from tests.store.served import Served


@pytest.fixture
def root(repo: Path) -> Path:
    return repo


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    opened = Store(git.project_at(root), Index(None), settle=0.02)
    yield opened
    opened.close()


def tree(root: Path, worktree: str = "") -> Path:
    folder = (root / ".dagent-worktrees" / worktree if worktree else root) / ".dagent"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def feature(folder: Path, name: str, **more: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "feature.json").write_text(json.dumps({"id": name, "name": name} | more))
    return folder


def read(path: Path) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(path.read_bytes())
    return raw


def say(session: Session, *ids: str) -> None:
    session.add([{"id": one, "role": "user", "content": one} for one in ids])
    session.reconcile()


# --- styles and shapes ----------------------------------------------------------------------------------------


def test_a_new_session_of_a_flat_feature_is_prefixed(root: Path, store: Store) -> None:
    folder = feature(tree(root, "f1"), "f1")
    say(store.maker.get_or_create("feature", "pm", "f1"), "a")
    store.close()
    names = sorted(os.listdir(folder / "sessions"))
    kinds = ("agent-description", "chat", "checkpoint", "session")
    assert names == sorted([*(f"{kind}_pm-feature-f1.json" for kind in kinds), "history_pm-feature-f1.jsonl"])
    assert read(folder / "feature.json")["sessionId"] == "pm-feature-f1"


@pytest.mark.parametrize("below", ["features", "features/backlog", "features/archived"])
def test_a_new_session_of_a_nested_feature_has_a_folder(root: Path, store: Store, below: str) -> None:
    folder = feature(tree(root, "w") / below / "f1", "f1")
    session = store.maker.get_or_create("feature", "pm", "f1")
    say(session, "a")
    held = folder / "sessions" / "pm-feature-f1"
    assert [one.id for one in store.catalogue.folders()] == ["pm-feature-f1"]
    store.close()
    assert sorted(os.listdir(held)) == [
        "agent-description.json", "chat.json", "checkpoint.json", "history.jsonl", "session.json"
    ]  # fmt: skip
    assert read(held / "session.json")["files"]["agentDescription"] == "agent-description.json"


def test_both_shapes_in_one_tree(root: Path, store: Store) -> None:
    feature(tree(root, "w"), "flat")
    feature(tree(root, "w") / "features" / "nested", "nested")
    feature(tree(root) / "features" / "own", "own")
    assert {(one.id, one.shape) for one in store.catalogue.features()} == {
        ("flat", "flat"), ("nested", "nested"), ("own", "nested")
    }  # fmt: skip


def test_a_tree_of_sessions_without_feature_json_is_named_after_its_worktree(root: Path, store: Store) -> None:
    (tree(root, "f1") / "sessions").mkdir()
    say(store.maker.get_or_create("feature", "pm", "f1"), "a")
    assert not (tree(root, "f1") / "feature.json").exists()


@pytest.mark.parametrize(("shape", "style"), [("flat", "folder"), ("nested", "prefixed")])
def test_a_feature_keeps_the_style_of_its_sessions(root: Path, store: Store, shape: str, style: str) -> None:
    folder = feature(tree(root, "f1") if shape == "flat" else tree(root, "w") / "features" / "f1", "f1")
    held = folder / "sessions" / "dev-old" if style == "folder" else folder / "sessions"
    held.mkdir(parents=True)
    name = "session.json" if style == "folder" else "session_dev-old.json"
    (held / name).write_text(json.dumps({"id": "dev-old", "status": "active"}))
    session = store.maker.get_or_create("task", "qa", "f1", "t1", "in_qa")
    assert session.folder.style == style and session.id == "qa-task-f1-t1-in_qa"
    assert store.session("dev-old").folder.style == style


def test_sessions_of_the_app_in_both_styles_are_served(root: Path, store: Store) -> None:
    sessions = feature(tree(root, "f1"), "f1") / "sessions"
    (sessions / "0b1c").mkdir(parents=True)
    for place, suffix in ((sessions / "0b1c", ""), (sessions, "_other-id")):
        (place / f"session{suffix}.json").write_text(json.dumps({"createdAt": "2026-01-01T00:00:00.000Z"}))
        (place / f"chat{suffix}.json").write_text(json.dumps(App.chat_of([said("a")])))
    for name in ("0b1c", "other-id"):
        session = store.session(name)
        say(session, "b")
        assert [one["id"] for one in read(session.folder.document("chat"))["messages"]] == ["a", "b"]


# --- the files map ------------------------------------------------------------------------------------------


def _mapped(root: Path, **names: str) -> Path:
    sessions = feature(tree(root, "f1"), "f1") / "sessions"
    sessions.mkdir()
    (sessions / "session_s.json").write_text(json.dumps({"id": "s", "files": names}))
    return sessions


def test_a_name_of_the_files_map_counts_if_it_is_bare_and_exists(root: Path, store: Store) -> None:
    sessions = _mapped(root, chat="talk.json", checkpoint="missing.json", context="../../feature.json")
    (sessions / "talk.json").write_text(json.dumps(App.chat_of([said("a")])))
    session = store.session("s")
    say(session, "b")
    assert [one["id"] for one in read(sessions / "talk.json")["messages"]] == ["a", "b"]
    assert not (sessions / "chat_s.json").exists() and not (sessions / "missing.json").exists()
    assert session.folder.document("context") == sessions / "context_s.json"
    assert read(sessions / "session_s.json")["files"]["chat"] == "talk.json"


def test_where_both_files_exist_they_are_merged_and_it_is_reported(root: Path, store: Store) -> None:
    sessions = _mapped(root, chat="talk.json")
    (sessions / "talk.json").write_text(json.dumps(App.chat_of([said("a"), said("both")])))
    second = json.dumps(App.chat_of([said("both"), said("c")]))
    (sessions / "chat_s.json").write_text(second)
    session = store.session("s")
    session.reconcile()
    assert [one["id"] for one in session.chat()] == ["a", "both", "c"]
    assert (sessions / "chat_s.json").read_text() == second
    assert [problem.path for problem in session.problems] == [str(sessions / "chat_s.json")]


def test_a_twin_under_nodes_is_merged(root: Path, store: Store) -> None:
    folder = feature(tree(root, "f1"), "f1")
    session = store.maker.get_or_create("task", "dev", "f1", "t1", "in_dev")
    say(session, "a")
    twin = folder / "nodes" / "t1" / "sessions"
    twin.mkdir()
    (twin / f"session_{session.id}.json").write_text(json.dumps({"id": session.id}))
    (twin / f"chat_{session.id}.json").write_text(json.dumps(App.chat_of([said("in-twin")])))
    assert store.session(session.id) is session
    session.reconcile()
    session.reconcile()
    assert [one["id"] for one in session.chat()] == ["a", "in-twin"]
    assert [problem.path for problem in session.problems] == [str(twin / f"chat_{session.id}.json")]


def test_a_session_that_is_only_under_nodes_is_served_there(root: Path, store: Store) -> None:
    twin = feature(tree(root, "f1"), "f1") / "nodes" / "t1" / "sessions"
    twin.mkdir(parents=True)
    (twin / "session_s.json").write_text(json.dumps({"id": "s"}))
    session = store.session("s")
    say(session, "a")
    assert session.folder.task_id == "t1" and (twin / "chat_s.json").exists()


# --- several worktrees ------------------------------------------------------------------------------------------


def test_of_several_worktrees_the_one_named_like_the_feature_is_meant(root: Path, store: Store) -> None:
    for worktree in ("f1", "copy"):
        feature(tree(root, worktree) / "features" / "f1", "f1")
    say(store.maker.get_or_create("feature", "pm", "f1"), "a")
    say(store.maker.get_or_create("feature", "pm", "f1", worktree="copy"), "b")
    assert store.session("pm-feature-f1").folder.feature.tree.name == "f1"
    other = store.session("pm-feature-f1", worktree="copy")
    assert [one["id"] for one in other.chat()] == ["b"]
    assert store.session("pm-feature-f1", worktree=str(root / ".dagent-worktrees" / "copy")) is other


def test_where_none_is_named_like_it_the_caller_must_choose(root: Path, store: Store) -> None:
    for worktree in ("one", "two"):
        feature(tree(root, worktree) / "features" / "f1", "f1")
        store.maker.get_or_create("feature", "pm", "f1", worktree=worktree)
    asks: list[Callable[[], Session]] = [
        lambda: store.session("pm-feature-f1"),
        lambda: store.maker.get_or_create("feature", "pm", "f1"),
    ]
    for ask in asks:
        with pytest.raises(Conflict, match="one, two") as told:
            ask()
        assert told.value.code == -32002 and "worktree" in told.value.hint
    assert store.session("pm-feature-f1", worktree="two").folder.feature.tree.name == "two"
    with pytest.raises(NotFound, match="three"):
        store.session("pm-feature-f1", worktree="three")


def test_of_several_features_of_one_worktree_the_caller_names_one(root: Path, store: Store) -> None:
    """The app deletes the session of a backlog feature when that starts, and makes it anew under the same id. Restored
    into another feature beside it, neither of the two could be asked for."""
    backlog = root / ".dagent" / "features" / "backlog" / "login"
    feature(backlog, "login")
    say(store.maker.get_or_create("feature", "pm", "login"), "planned")
    store.close()
    shutil.rmtree(backlog)
    for name in ("login", "other"):
        feature(tree(root, "neon") / "features" / name, name)
    with Place(root).store() as again:
        say(again.maker.get_or_create("feature", "pm", "login"), "begun")
        restored = again.maker.restore("pm-feature-login", "other")
        assert [one["id"] for one in restored.chat()] == ["planned"]
        with pytest.raises(Conflict, match="neon/login, neon/other") as told:
            again.session("pm-feature-login")
        assert told.value.code == -32002 and "featureId" in told.value.hint
        with pytest.raises(Conflict, match="neon/login, neon/other"):
            again.session("pm-feature-login", "neon")
        for feature_id, said in (("login", "begun"), ("other", "planned")):
            asks = [(None, feature_id), ("neon", feature_id), (f"neon/{feature_id}", None)]
            for ask in asks:
                with again.sessions.using("pm-feature-login", *ask) as session:
                    assert [one["id"] for one in session.chat()] == [said]
        with pytest.raises(NotFound, match="feature third"):
            again.session("pm-feature-login", feature_id="third")


# --- links ------------------------------------------------------------------------------------------------------


def test_links_keep_what_others_wrote(root: Path, store: Store) -> None:
    folder = feature(tree(root, "f1"), "f1", theirs={"deep": [1]})
    task = folder / "nodes" / "t1"
    task.mkdir(parents=True)
    states = {"in_dev": {"sessionIds": ["old"], "note": "x"}, "planning": {"sessionIds": []}}
    (task / "task.json").write_text(json.dumps({"id": "t1", "title": "T", "states": states, "extra": 1}))
    store.maker.get_or_create("feature", "pm", "f1")
    session = store.maker.get_or_create("task", "dev", "f1", "t1", "in_dev")
    assert read(folder / "feature.json") == {
        "id": "f1", "name": "f1", "theirs": {"deep": [1]}, "sessionId": "pm-feature-f1"
    }  # fmt: skip
    linked = {"sessionIds": ["old", session.id], "note": "x"}
    assert read(task / "task.json") == {
        "id": "t1", "title": "T", "states": states | {"in_dev": linked}, "extra": 1, "currentState": "in_dev"
    }  # fmt: skip


def test_an_unknown_task_gets_its_task_json(root: Path, store: Store) -> None:
    folder = feature(tree(root, "f1"), "f1")
    session = store.maker.get_or_create("task", "dev", "f1", "t9", "in_dev")
    assert read(folder / "nodes" / "t9" / "task.json") == {
        "id": "t9", "states": {"in_dev": {"sessionIds": [session.id]}}, "currentState": "in_dev"
    }  # fmt: skip


def test_asking_again_writes_nothing(root: Path, store: Store) -> None:
    folder = feature(tree(root, "f1"), "f1")
    store.maker.get_or_create("feature", "pm", "f1")
    store.maker.get_or_create("task", "dev", "f1", "t1", "in_dev")
    store.reconciler.reconcile()
    before = _marks(folder)
    store.maker.get_or_create("feature", "pm", "f1")
    store.maker.get_or_create("task", "dev", "f1", "t1", "in_dev")
    store.reconciler.reconcile()
    assert _marks(folder) == before


# --- what is written (P5, P6, modes) ----------------------------------------------------------------------------


def _marks(folder: Path) -> dict[str, tuple[int, int]]:
    found = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("dagentd-tmp")]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def test_unknown_fields_of_every_document_survive(served: Served) -> None:
    served.add("a")
    for name in ("chat", "checkpoint", "session"):
        served.app.write(served.app.read(name) | {"theirs": {"of": [name]}}, name)
    checkpoint = served.app.read("checkpoint")
    checkpoint["summary"]["risks"] = ["theirs"]
    served.app.write(checkpoint, "checkpoint")
    session = served.app.read("session")
    session["stats"]["lastRequestTokens"] = 7
    session["files"]["scratch"] = "scratch.json"
    served.app.write(session, "session")
    served.app.push(said("b", mood="good", metadata={"media": ["x.png"], "own": 1}))
    served.flush()
    served.again()
    served.session.update_checkpoint({})
    served.session.set(status="paused")
    served.add("c")
    for name in ("chat", "checkpoint", "session"):
        assert served.app.read(name)["theirs"] == {"of": [name]}
    assert served.app.read("checkpoint")["summary"]["risks"] == ["theirs"]
    assert served.app.read("session")["stats"]["lastRequestTokens"] == 7
    assert served.app.read("session")["files"]["scratch"] == "scratch.json"
    message = served.app.read()["messages"][1]
    assert message["mood"] == "good" and message["metadata"] == {"media": ["x.png"], "own": 1}


def test_unknown_fields_of_a_checkpoint_made_elsewhere_survive(served: Served) -> None:
    """Without a position, and with nothing else in it that is new."""
    checkpoint = served.app.read("checkpoint")
    checkpoint.pop("dagentd")
    checkpoint["summary"]["risks"] = ["theirs"]
    served.app.write(checkpoint, "checkpoint")
    served.flush()
    assert served.app.read("checkpoint")["summary"]["risks"] == ["theirs"]


def test_what_would_not_change_is_not_written(served: Served) -> None:
    served.add("a")
    served.again()
    before = _marks(served.folder.path)
    served.again()
    served.flush()
    assert _marks(served.folder.path) == before


def test_the_same_document_in_another_hand_is_left_as_it_is(served: Served) -> None:
    """The app writes back what it read, in its own formatting."""
    served.add("a")
    for name in ("chat", "checkpoint", "session"):
        served.app.write(served.app.read(name), name)
    before = _marks(served.folder.path)
    served.flush()
    served.again()
    assert _marks(served.folder.path) == before


def test_replacing_a_document_by_the_same_writes_nothing(served: Served) -> None:
    path = served.folder.document("context")
    served.session.replace("context", {"projectRoot": "/x"})
    before = path.stat().st_ino
    served.session.replace("context", {"projectRoot": "/x"})
    assert path.stat().st_ino == before and served.session.read("context") == {"projectRoot": "/x"}


def test_new_files_are_private(root: Path, store: Store) -> None:
    old = os.umask(0)
    try:
        folder = feature(tree(root, "w") / "features" / "f1", "f1")
        session = store.maker.get_or_create("feature", "pm", "f1")
        store.maker.get_or_create("task", "dev", "f1", "t1", "in_dev")
        say(session, "a")
        store.close()
    finally:
        os.umask(old)
    made = [path for path in folder.rglob("*") if path.name != "feature.json"]
    own = git.project_at(root).own_dir
    modes = {path.is_dir(): set[str]() for path in made}
    for path in (*made, own, *own.rglob("*")):
        modes[path.is_dir()].add(oct(stat.S_IMODE(path.stat().st_mode)))
    assert modes == {True: {"0o700"}, False: {"0o600"}}


def test_an_existing_file_keeps_its_mode(served: Served) -> None:
    paths = (*served.app.paths.values(), served.journal, served.worktree / ".dagent" / "feature.json")
    for path in paths:
        path.chmod(0o664)
    before = served.app.paths["chat"].stat().st_ino
    served.add("a")
    served.session.update_checkpoint({})
    served.again()
    assert served.app.paths["chat"].stat().st_ino != before
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in paths} == {"0o664"}


@pytest.mark.parametrize("place", [".dagent-worktrees/loop", ".dagent/nodes", ".dagent/features", ".dagent/nodes/loop"])
def test_a_link_to_itself_stops_nobody(root: Path, place: str) -> None:
    """One that was put beside the others: the kernel refuses to look whether it is a folder."""
    (tree(root, "f1") / "feature.json").write_text('{"id": "f1"}')
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).symlink_to(root / place)
    opened = Store(git.project_at(root), Index(None), settle=0.02)
    opened.maker.get_or_create("feature", "pm", "f1").leave()
    assert [session.id for session in opened.reconciler.reconcile()] == ["pm-feature-f1"]
    opened.close()


def test_worktrees_that_lead_nowhere_are_told_of(root: Path, store: Store) -> None:
    (root / ".dagent-worktrees").symlink_to(root / ".dagent-worktrees")
    store.reconciler.look_around()
    (problem,) = store.problems
    assert (problem.id, problem.path) == ("folder", str(root / ".dagent-worktrees"))


def test_worktrees_that_cannot_be_listed_just_now_are_not_none(
    project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of descriptors, a project with sessions would otherwise look like one without."""

    def refuse(path: object) -> object:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(LimitReached):
        layout.trees(git.project_at(project.root))
