"""How long a session was worked in: from one sign of use to the next, and not for as long as it was left open."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.agx import values
from tests.conftest import git
from tests.model.agx.seed import example
from tests.store.agx.agx import Store, home

FRIDAY = datetime(2026, 1, 2, 9, 0, tzinfo=UTC)
At = Callable[..., None]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    def go(**later: float) -> None:
        monkeypatch.setattr(clock, "now", lambda: FRIDAY + timedelta(**later))

    go()
    return go


def commit(store: Store) -> None:
    git(store.root, "commit", "-q", "--allow-empty", "-m", "More")
    store.agx.settle(store.root)


def counted(store: Store, name: str = "main") -> tuple[Any, ...]:
    held = store.session(name)["statistics"]
    return held["sessionCount"], held["totalDuration"], held["lastSessionDuration"]


def test_a_weekend_for_which_it_stays_open_counts_nothing(store: Store, at: At) -> None:
    store.agx.new(store.root)
    for hours in (1, 2.5, 4):
        at(hours=hours)
        commit(store)
    assert counted(store) == (1, "4h", "4h")
    at(days=3)
    commit(store)
    assert counted(store) == (2, "4h", "0s"), "Monday is another stretch"
    at(days=3, minutes=30)
    store.agx.new(store.root, "other")
    assert counted(store) == (2, "4h 30m", "30m")
    assert store.session("main")["statistics"]["averageSessionLength"] == "2h 15m"
    assert store.session("main")["statistics"]["mostActiveDay"] == "2026-01-02"


def test_what_is_left_on_monday_ended_on_friday(store: Store, at: At) -> None:
    store.agx.new(store.root)
    at(minutes=45)
    commit(store)
    at(days=3)
    store.agx.new(store.root, "other")
    assert counted(store) == (1, "45m", "45m")


def test_the_example_of_the_format_stays_as_its_own_program_counted_it(store: Store, at: At) -> None:
    """It became 663 days."""
    store.write("main", example("session"))
    (store.folder.sessions / ".current").write_text("main")
    store.agx.listed(store.root)  # its tmux session does not run any more
    assert store.session("main")["lifecycle"]["state"] == "paused"
    assert counted(store) == (12, "4h 23m", "45m")


def test_what_archives_by_itself_is_no_use(store: Store, at: At) -> None:
    store.agx.new(store.root, "side")
    (store.folder.sessions / ".current").unlink()
    at(days=31)
    store.agx.cleanup(store.root)
    assert store.session("side")["lifecycle"]["state"] == "archived" and counted(store, "side")[1] == "0s"


def test_the_average_is_never_more_than_the_total(store: Store, at: At) -> None:
    store.agx.new(store.root)
    at(seconds=90)
    store.agx.new(store.root, "other")
    held = store.session("main")["statistics"]
    average, total = (values.duration_seconds(held[key]) for key in ("averageSessionLength", "totalDuration"))
    assert average is not None and total is not None and average <= total == 90


def test_nothing_is_counted_where_it_is_not_wanted(store: Store, at: At) -> None:
    store.agx.new(store.root, "before")
    (home() / "config.json").write_text(json.dumps({"version": "1.0.0", "session": {"enableStatistics": False}}))
    store.agx.new(store.root)
    at(minutes=10)
    store.agx.switch(store.root, "before")
    assert counted(store) == (0, "0s", "0s")
