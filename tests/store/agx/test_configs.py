"""Both configuration files: changed key by key, migrated beside a backup, refused where newer or damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.errors import Conflict, CorruptFile, InvalidInput
from dagentd.store.agx import configs
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
    if kind == "global":
        configs.set_user(key, value, 5, clock.now())
    else:
        configs.set_project(store.folder, key, value, 5, clock.now())


def look(store: Store) -> None:
    store.agx.settle(store.root)
    store.agx.check_all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_is_written_back_equal_but_for_what_changed(ready: Store, kind: str) -> None:
    before = example(f"{kind}-config")
    path = put(ready, kind, {**before, "theirs": [1]})
    set_key(ready, kind, "session.more", {"x": 1})
    expected = {**before, "session": {**before["session"], "more": {"x": 1}}, "theirs": [1]}
    assert json.dumps(read(path)) == json.dumps(expected)
    assert [read(each) for each in (path.parent / "backups").iterdir()] == [{**before, "theirs": [1]}]
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
def test_a_newer_one_is_refused_and_left(ready: Store, kind: str) -> None:
    newer = {**example(f"{kind}-config"), "version": "3.0.0"}
    path = put(ready, kind, newer)
    for act in (lambda: look(ready), lambda: set_key(ready, kind, "session.x", 1), lambda: ready.agx.get(ready.root)):
        with pytest.raises(Conflict, match=r"its format is 3\.0\.0, this dagentd knows 1\.0\.0") as refused:
            act()
        assert refused.value.path == str(path) and "Update dagentd" in refused.value.hint
    assert path.read_text() == json.dumps(newer)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": "1.0.0", "session": []}'])
def test_a_damaged_one_is_told_of_and_left(ready: Store, kind: str, data: bytes) -> None:
    path = file_of(ready, kind)
    path.write_bytes(data)
    os.utime(path, (0, 0))
    with pytest.raises(CorruptFile) as refused:
        look(ready)
    assert refused.value.path == str(path)
    with pytest.raises(CorruptFile):
        set_key(ready, kind, "session.x", 1)
    assert path.read_bytes() == data


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_kind_is_refused(ready: Store, kind: str) -> None:
    path = put(ready, kind, example(f"{kind}-config"))
    key, value = ("session.backupCount", "five") if kind == "global" else ("session.branchSessions", "yes")
    with pytest.raises(InvalidInput, match=key):
        set_key(ready, kind, key, value)
    assert read(path) == example(f"{kind}-config")


def test_the_first_key_makes_the_file(ready: Store) -> None:
    set_key(ready, "global", "ui.confirmDestructive", False)
    assert read(home() / "config.json") == {
        **example("global-config"), "ui": {**example("global-config")["ui"], "confirmDestructive": False},
    }  # fmt: skip
    set_key(ready, "project", "project.name", "shop")
    assert ready.agx.new(ready.root, "x")["tmux"]["sessionName"] == "agx-shop-x"
