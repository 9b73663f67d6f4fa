"""Both configuration files: changed key by key, migrated beside a backup, and no hindrance where newer or damaged."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.agx import config_files
from dagentd.errors import Conflict, CorruptFile, InvalidInput
from tests.model.agx.seed import example
from tests.store.agx.agx import Store, home, read

KINDS = ("global", "project")


@pytest.fixture
def ready(store: Store) -> Store:
    store.agx.new(store.root)
    return store


def file_of(store: Store, kind: str) -> Path:
    return home() / "config.json" if kind == "global" else store.root / ".agx" / "config.json"


def put(store: Store, kind: str, raw: dict[str, Any]) -> Path:
    path = file_of(store, kind)
    path.write_text(json.dumps(raw))
    return path


def set_key(store: Store, kind: str, key: str, value: Any) -> None:
    file = config_files.user() if kind == "global" else config_files.of_project(store.folder)
    config_files.put(file, key, value, 5, clock.now())


def look(store: Store) -> None:
    store.agx.settle(store.root)
    store.agx.check_all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_is_written_back_equal_but_for_what_changed(ready: Store, kind: str) -> None:
    before = {**example(f"{kind}-config"), "theirs": [1]}
    before["session"]["more"] = {"x": 1}
    path = put(ready, kind, before)
    key, value = ("backupCount", 9) if kind == "global" else ("branchSessions", False)
    set_key(ready, kind, f"session.{key}", value)
    assert json.dumps(read(path)) == json.dumps({**before, "session": {**before["session"], key: value}})
    assert [read(each) for each in (path.parent / "backups").iterdir()] == [before]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_one_is_migrated_beside_a_backup(ready: Store, kind: str) -> None:
    old = {"theirs": 1, "session": {"enableStatistics": True}}
    path = put(ready, kind, old)
    look(ready)
    assert read(path) == {"version": "1.0.0", **old}
    assert [read(each) for each in (path.parent / "backups").iterdir()] == [old]
    again = path.read_bytes()
    look(ready)
    assert path.read_bytes() == again and len(list((path.parent / "backups").iterdir())) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": "3.0.0"}', b'{"version": "1.0.0", "session": []}'])
def test_one_that_makes_no_sense_is_told_of_and_left_and_the_defaults_count(
    ready: Store, kind: str, data: bytes
) -> None:
    """It stopped every command, and all that the daemon does for AGX."""
    path = file_of(ready, kind)
    path.write_bytes(data)
    os.utime(path, (0, 0))
    look(ready)
    assert ready.agx.new(ready.root, "x")["tmux"]["sessionName"] == "agx-repo-x"
    assert ready.agx.cleanup(ready.root) == []
    assert [error.path for error in ready.agx.problems()] == [str(path)]
    if b"[]}" not in data:
        with pytest.raises((CorruptFile, Conflict)):
            set_key(ready, kind, "session.backupCount" if kind == "global" else "session.branchSessions", None)
    assert path.read_bytes() == data


def test_nothing_is_cleaned_up_by_a_configuration_that_cannot_be_read(
    ready: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready.agx.new(ready.root, "current")
    far = datetime(2999, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: far)
    put(ready, "project", {"version": "1.0.0", "session": {"autoCleanup": "no"}})
    assert ready.agx.cleanup_plan(ready.root) == []
    put(ready, "project", {"version": "1.0.0"})
    assert [each.session_id for each in ready.agx.cleanup_plan(ready.root)] == ["main"]


def test_a_value_that_makes_no_sense_leaves_the_others(ready: Store) -> None:
    path = put(ready, "global", {"version": "1.0.0", "session": {"backupCount": -1, "cleanupInactiveDays": 3}})
    found = ready.agx.config(ready.root)
    assert (found.backup_count, found.cleanup_days) == (5, 3)
    [error] = ready.agx.problems()
    assert error.path == str(path) and "session.backupCount is -1; it must be a whole number from 1" in error.message


@pytest.mark.parametrize(
    ("kind", "key", "value", "told"),
    [("global", "session.backupCount", "five", "it must be a whole number"),
     ("global", "session.backupCount", 0, "from 1 to 1000"),
     ("global", "storage.indexSyncInterval", "soon", "it must be a time"),
     ("global", "storage.compactThreshold", "much", "it must be a size"),
     ("global", "tmux.windowNames", ["a", 1], "it must be a list of texts"),
     ("global", "session.backupCounts", 5, r"there is no key .*; did you mean session\.backupCount\?"),
     ("global", "ui.colourOutput", True, r"did you mean ui\.colorOutput\?"),
     ("global", "storage.backupCount", 5, r"did you mean session\.backupCount\?"),
     ("global", "nothing", 5, "there is no key 'nothing'$"),
     ("global", "project.name", "x", "add --local"),
     ("project", "session.branchSessions", "yes", "it must be true or false"),
     ("project", "tmux.windows", [{"name": 5}], "it must be a list of"),
     ("project", "session.backupCount", 5, "a key of the global file")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_the_nearest(
    ready: Store, kind: str, key: str, value: Any, told: str
) -> None:
    path = put(ready, kind, example(f"{kind}-config"))
    with pytest.raises(InvalidInput, match=told):
        set_key(ready, kind, key, value)
    assert read(path) == example(f"{kind}-config")


def test_the_first_key_makes_the_file_and_says_nothing_else(ready: Store) -> None:
    set_key(ready, "global", "ui.confirmDestructive", False)
    assert read(home() / "config.json") == {"version": "1.0.0", "ui": {"confirmDestructive": False}}
    assert not ready.agx.config(None).confirm_destructive
    set_key(ready, "project", "project.name", "shop")
    assert ready.agx.new(ready.root, "x")["tmux"]["sessionName"] == "agx-shop-x"
