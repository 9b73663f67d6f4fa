"""Cleanup: archive, then the trash, then gone; the first two can be taken back, and what is in use stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.agx.values import changed
from tests.store.agx.agx import Store, home

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    def to(count: float) -> None:
        monkeypatch.setattr(clock, "now", lambda: START + timedelta(days=count))

    to(0)
    return to


@pytest.fixture
def old(store: Store, day: Callable[[float], None]) -> Store:
    """`side` was last used on the first day; `main` is the current one."""
    store.agx.new(store.root, "side")
    store.agx.new(store.root, "main")
    return store


def steps(store: Store) -> list[tuple[str, str]]:
    return [(each.action, each.session_id) for each in store.agx.cleanup(store.root)]


def change(store: Store, name: str, *where: str, **fields: Any) -> None:
    store.write(name, changed(store.session(name), *where, **fields))


def test_archive_then_remove_then_delete(old: Store, day: Callable[[float], None]) -> None:
    day(29.9)
    assert steps(old) == []
    day(30)
    assert steps(old) == [("archive", "side")]
    held = old.session("side")["lifecycle"]
    assert held["stateHistory"][-1] == {
        "state": "archived",
        "timestamp": "2026-01-31T00:00:00Z",
        "reason": "inactive_30d",
    }
    assert held["autoCleanup"]["lastCleanupCheck"] == "2026-01-31T00:00:00Z"
    assert old.indexed() == {"main": "active", "side": "archived"}
    day(59.9)
    assert steps(old) == []
    day(60)
    assert steps(old) == [("remove", "side")]
    assert old.indexed() == {"main": "active"}
    assert old.index["statistics"]["lastCleanup"] == "2026-03-02T00:00:00Z"
    day(89.9)
    assert steps(old) == []
    day(90)
    assert steps(old) == [("delete", "side")]
    assert list((old.root / ".agx" / "trash").iterdir()) == []
    assert old.session("main")["lifecycle"]["state"] == "active", "the current one stays for ever"


def test_each_can_be_taken_back(old: Store, day: Callable[[float], None]) -> None:
    day(30)
    steps(old)
    old.agx.restore(old.root, "side")
    assert old.session("side")["lifecycle"]["state"] == "paused"
    assert steps(old) == [], "restoring is a use"
    day(60)
    assert steps(old) == [("archive", "side")]
    day(90)
    assert steps(old) == [("remove", "side")]
    day(91)
    old.agx.restore(old.root, "side")
    assert old.session("side")["lifecycle"]["stateHistory"][-1]["reason"] == "restored"


def test_the_daemon_does_it_by_itself_once_a_day(old: Store, day: Callable[[float], None]) -> None:
    day(30)
    old.agx.check(old.root)
    assert old.session("side")["lifecycle"]["state"] == "archived"
    day(60)
    old.agx.check(old.root)
    assert not (old.folder.sessions / "side.json").exists()


@pytest.mark.parametrize("where", ["session", "project", "global"])
def test_it_can_be_switched_off(old: Store, day: Callable[[float], None], where: str) -> None:
    if where == "session":
        change(old, "side", "lifecycle", "autoCleanup", enabled=False)
    elif where == "project":
        config = {"version": "1.0.0", "session": {"autoCleanup": False}}
        (old.root / ".agx" / "config.json").write_text(json.dumps(config))
    else:
        (home() / "config.json").write_text(json.dumps({"version": "1.0.0", "session": {"autoArchive": False}}))
    day(400)
    assert steps(old) == []


def test_each_session_has_its_own_threshold(old: Store, day: Callable[[float], None]) -> None:
    change(old, "side", "lifecycle", "autoCleanup", inactiveThreshold="36h")
    day(1.4)
    assert steps(old) == []
    day(1.5)
    assert steps(old) == [("archive", "side")]


def test_without_one_the_configuration_counts(old: Store, day: Callable[[float], None]) -> None:
    change(old, "side", "lifecycle", autoCleanup={})
    (home() / "config.json").write_text(json.dumps({"version": "1.0.0", "session": {"cleanupInactiveDays": 3}}))
    day(2.9)
    assert steps(old) == []
    day(3)
    assert steps(old) == [("archive", "side")]


def test_the_configuration_reaches_sessions_that_did_not_choose(old: Store, day: Callable[[float], None]) -> None:
    """Each had the threshold of the day it was made."""
    config = {"version": "1.0.0", "session": {"cleanupInactiveDays": 3}}
    (home() / "config.json").write_text(json.dumps(config))
    day(3)
    assert steps(old) == [("archive", "side")]
    change(old, "side", "lifecycle", "autoCleanup", inactiveThreshold="30d")  # as AGX writes it into every session
    old.agx.restore(old.root, "side")
    day(6)
    assert steps(old) == [("archive", "side")]


def test_every_check_says_when_it_was(old: Store, day: Callable[[float], None]) -> None:
    def checked() -> list[str | None]:
        return [old.session(name)["lifecycle"]["autoCleanup"]["lastCleanupCheck"] for name in ("main", "side")]

    change(old, "side", "lifecycle", "autoCleanup", enabled=False)
    day(1)
    old.agx.check(old.root)
    assert checked() == ["2026-01-02T00:00:00Z", None], "what is never cleaned up is not checked"
    day(1.5)
    old.agx.check(old.root)
    assert checked() == ["2026-01-02T00:00:00Z", None]
    day(2)
    old.agx.check(old.root)
    assert checked() == ["2026-01-03T00:00:00Z", None]


@pytest.mark.parametrize(
    ("where", "fields"),
    [((), {"lastAccessed": "2026-01-20T00:00:00Z"}), (("tmux",), {"lastAttached": "2026-01-20T00:00:00Z"}),
     (("claude",), {"lastInteraction": "2026-01-20T00:00:00Z"})],
)  # fmt: skip
def test_any_sign_of_use_counts(
    old: Store, day: Callable[[float], None], where: tuple[str, ...], fields: dict[str, Any]
) -> None:
    change(old, "side", *where, **fields)
    day(45)
    assert steps(old) == []
    day(49)
    assert steps(old) == [("archive", "side")]


def test_what_came_into_use_after_the_plan_stays(old: Store, day: Callable[[float], None]) -> None:
    from dagentd.agx import cleanup

    day(30)
    planned = old.agx.cleanup_plan(old.root)
    old.agx.switch(old.root, "side")
    assert cleanup.apply(old.agx.sessions(old.root), planned, clock.now()) == []
    assert old.session("side")["lifecycle"]["state"] == "active"


def test_the_trash_is_bounded_by_its_size_too(old: Store, day: Callable[[float], None]) -> None:
    (home() / "config.json").write_text(json.dumps({"version": "1.0.0", "storage": {"compactThreshold": "5KB"}}))
    for number in range(5):
        day(number / 10)
        old.agx.new(old.root, f"s{number}")
        old.agx.switch(old.root, "main")
        old.agx.cleanup(old.root, [f"s{number}"])
    assert [action for action, _ in steps(old)] == ["delete"] * 3
    kept = sorted(path.name.split(".")[0] for path in (old.root / ".agx" / "trash").iterdir())
    assert kept == ["s3", "s4"], "the newest"
