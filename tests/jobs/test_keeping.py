"""How long sessions that are gone are kept: days on which the daemon ran are counted, and nothing else."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from dagentd.adapters import clock, git
from dagentd.adapters.files import marks
from dagentd.jobs import retention
from dagentd.jobs.retention import Days, Moment, counted, expired
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject
from tests.conftest import git as run_git

Day = Callable[[str], None]


def _moment(days: float) -> Moment:
    return ("this run", days * 86_400.0)


def _at(date: str) -> datetime:
    return datetime.fromisoformat(f"{date}+00:00" if "T" in date else f"{date}T00:00:00+00:00")


def _stamp(date: str) -> str:
    return f"{date}T00:00:00.000Z"


def test_days_are_counted_once_each() -> None:
    first = counted(Days(), ["a"], _at("2026-01-01"), _moment(0))
    assert (
        first
        == Days(_stamp("2026-01-01"), {"a": 0}, _moment(0))
        == counted(first, ["a"], _at("2026-01-01"), _moment(0.1))
    )
    second = counted(first, ["a", "b"], _at("2026-03-01"), _moment(59))  # the daemon did not run in between
    assert second == Days(_stamp("2026-03-01"), {"a": 1, "b": 0}, _moment(59))
    assert counted(second, ["b"], _at("2026-03-02"), _moment(60)) == Days(_stamp("2026-03-02"), {"b": 1}, _moment(60))


def test_a_clock_that_goes_back_counts_for_nothing() -> None:
    known = Days(_stamp("2099-01-01"), {"a": 3}, _moment(0))
    assert (
        counted(known, ["a"], _at("2026-01-01"), _moment(2))
        == known
        == counted(known, ["a"], _at("2099-01-01"), _moment(2))
    )


def test_a_clock_that_alternates_counts_each_day_once() -> None:
    """A board without a battery: each start begins in 1970, until the net tells the time."""
    days = counted(Days(), ["a"], _at("2026-01-01"), _moment(0))
    for start in range(6):
        for today in ("1970-01-01", "2026-01-01"):
            days = counted(days, ["a"], _at(today), (f"run {start}", 5.0))
    assert days.of == {"a": 0} and counted(days, ["a"], _at("2026-01-02"), ("another run", 1.0)).of == {"a": 1}


def test_a_clock_that_has_not_been_set_tells_no_day() -> None:
    """It was 1970 when they were found, and the second start ended that day after some seconds."""
    days = Days()
    for start in range(6):
        for today in ("1970-01-01", "2026-01-01"):
            days = counted(days, ["a"], _at(today), (f"run {start}", 5.0))
    assert days.of == {"a": 0}


def test_what_is_found_while_a_day_lasts_waits_for_the_next() -> None:
    """It was a day old when that ended, perhaps a minute later."""
    days = counted(Days(), ["a"], _at("2026-01-01"), _moment(0))
    days = counted(days, ["a", "b"], _at("2026-01-02"), _moment(0.999))
    for number, (a, b) in enumerate([(1, 0), (2, 1)], start=2):
        days = counted(days, ["a", "b"], _at(f"2026-01-0{number}"), _moment(number - 1))
        assert days.of == {"a": a, "b": b}


def test_no_day_is_shorter_than_a_day() -> None:
    days = counted(Days(), ["a"], _at("2026-01-01"), _moment(0))
    for number in range(2, 9):
        days = counted(days, ["a"], _at(f"2026-01-0{number}"), _moment(number / 10))
    assert days.of == {"a": 0} and counted(days, ["a"], _at("2026-01-09"), _moment(1)).of == {"a": 1}


def test_two_minutes_around_midnight_are_no_day() -> None:
    """Started anew in between: the machine's own clock began anew too."""
    days = counted(Days(), ["a"], _at("2026-01-01T23:59:00"), ("a run", 50.0))
    assert counted(days, ["a"], _at("2026-01-02T00:01:00"), ("another run", 5.0)) == days
    assert counted(days, ["a"], _at("2026-01-02T23:59:00"), ("another run", 80_000.0)).of == {"a": 1}


def test_what_was_kept_for_so_many_days_has_expired() -> None:
    assert expired(Days("", {"a": 179, "b": 180, "c": 181}), 180) == ["b", "c"]


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Day:
    """Each day at noon, by both clocks."""

    def set_clocks(date: str) -> None:
        noon = datetime.fromisoformat(f"{date}T12:00:00+00:00")
        monkeypatch.setattr(clock, "now", lambda: noon)
        monkeypatch.setattr(clock, "uptime", noon.timestamp)

    return set_clocks


@pytest.fixture
def store(project: SampleProject) -> Iterator[Store]:
    """Two sessions, one of which has lost its worktree."""
    index = Index(None)
    made = Store(git.project_at(project.root), index)
    (project.root / ".dagent").mkdir()
    (project.root / ".dagent" / "feature.json").write_text(json.dumps({"id": "stays"}))
    for feature in (project.feature, "stays"):
        made.maker.get_or_create("feature", "pm", feature).reconcile()
    run_git(project.root, "worktree", "remove", "--force", str(project.worktree))
    _last_written(made, "2025-12-31")
    yield made
    made.close()
    index.close()


GONE = "pm-feature-feat-login"


def kept(store: Store) -> list[str]:
    return sorted(os.listdir(store.project.kept_dir))


def _last_written(store: Store, date: str) -> None:
    (store.project.kept_dir / f"{GONE}.1.jsonl").touch()
    os.utime(store.project.kept_dir / f"{GONE}.1.jsonl", times=(0, _at(f"{date}T18:00:00").timestamp()))


def test_it_is_removed_after_so_many_days_of_running(store: Store, day: Day, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for number, date in enumerate(("2026-01-01", "2026-01-02", "2026-06-30")):
        day(date)
        assert retention.remove_expired(store, 3) == [] == retention.remove_expired(store, 3)
        assert retention.days_of(store.project).of == {f"{GONE}.1.jsonl": number}
    day("2026-07-01")
    assert retention.remove_expired(store, 3) == [GONE]
    assert kept(store) == ["pm-feature-stays.1.jsonl"]
    assert [record.getMessage() for record in caplog.records if GONE in record.getMessage()] == [
        f"{store.project.kept_dir}/{GONE}.1.jsonl: removed: its worktree has been gone for 3 days"
    ]
    assert retention.remove_expired(store, 3) == [] and retention.days_of(store.project).of == {}


def test_a_board_without_a_battery_removes_nothing_early(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each start began a day, and after the third of these it was gone: 22 seconds."""
    for start in range(8):
        for date in ("1970-01-01", "2026-01-01"):
            noon = datetime.fromisoformat(f"{date}T12:00:00+00:00")
            monkeypatch.setattr(clock, "now", lambda noon=noon: noon)
            monkeypatch.setattr(clock, "uptime", lambda seconds=5.0 * start: seconds, raising=False)
            assert retention.remove_expired(store, 3) == []
    assert f"{GONE}.1.jsonl" in kept(store)


def test_a_day_without_news_writes_nothing(store: Store, day: Day) -> None:
    day("2026-01-01")
    retention.remove_expired(store, 3)
    before = (store.project.own_dir / "gone.json").stat().st_ino  # a file that is written is another one
    retention.remove_expired(store, 3)
    assert (store.project.own_dir / "gone.json").stat().st_ino == before


def test_a_project_without_any_gets_no_file(repo: Path) -> None:
    index = Index(None)
    store = Store(git.project_at(repo), index)
    assert retention.remove_expired(store, 3) == [] and not (store.project.own_dir / "gone.json").exists()
    store.close()
    index.close()


def test_a_damaged_count_begins_anew(store: Store, day: Day) -> None:
    day("2026-01-01")
    for text in ("{", "[]", '{"lastDay": 7, "days": {"x": "y"}}'):
        (store.project.own_dir / "gone.json").write_text(text)
        assert retention.remove_expired(store, 1) == []
    days = retention.days_of(store.project)
    assert (days.last, days.of) == ("2026-01-01T12:00:00.000Z", {f"{GONE}.1.jsonl": 0})


def test_by_default_nothing_is_removed(store: Store, day: Day) -> None:
    for date in ("2026-01-01", "2026-01-02", "2099-01-01"):
        day(date)
        assert retention.remove_expired(store, Settings().archive.keep_days) == []
    (listed,) = retention.gone_sessions(store, Settings())
    assert listed["daysLeft"] is None and f"{GONE}.1.jsonl" in kept(store)


def test_one_that_was_restored_is_not_removed(store: Store, day: Day) -> None:
    day("2026-01-01")
    retention.remove_expired(store, 1)
    store.maker.restore(GONE, "stays")
    day("2026-01-02")
    assert retention.remove_expired(store, 1) == []
    assert [name for name in kept(store) if name.endswith(".jsonl")] == [f"{GONE}.1.jsonl", "pm-feature-stays.1.jsonl"]


def test_one_that_was_restored_and_removed_again_is_kept_as_long_once_more(store: Store, day: Day) -> None:
    for date in ("2026-01-01", "2026-01-02", "2026-01-03"):
        day(date)
        assert retention.remove_expired(store, 3) == []
    session = store.maker.restore(GONE, "stays")
    session.close()
    for path in session.folder.path.glob(f"*{GONE}*"):
        path.unlink()
    _last_written(store, "2026-01-03")
    for number, date in enumerate(("2026-01-04", "2026-01-05", "2026-01-06")):
        day(date)
        assert (
            retention.remove_expired(store, 3) == []
            and retention.days_of(store.project).of[f"{GONE}.1.jsonl"] == number
        )
    day("2026-01-07")
    assert retention.remove_expired(store, 3) == [GONE]


def test_another_session_of_the_name_of_one_that_was_removed_is_kept_as_long(store: Store, day: Day) -> None:
    """Made, and gone, before anybody had looked again."""
    for date in ("2026-01-01", "2026-01-02"):
        day(date)
        removed = retention.remove_expired(store, 1)
    assert removed == [GONE] and f"{GONE}.1.jsonl" not in kept(store)
    _last_written(store, "2026-01-02")
    assert retention.remove_expired(store, 1) == []
    day("2026-01-03")
    assert retention.remove_expired(store, 1) == []
    day("2026-01-04")
    assert retention.remove_expired(store, 1) == [GONE]


def test_a_time_that_no_calendar_has_keeps_it_and_stops_nothing(
    store: Store, day: Day, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As some file systems take it from whoever sets one."""
    monkeypatch.setattr(marks, "of", lambda _: (1, 1, 1, 10**21))
    for date in ("2026-01-01", "2026-01-02", "2026-01-03"):
        day(date)
        assert retention.remove_expired(store, 1) == []


# --- when the project is removed ----------------------------------------------------------------------------------


def test_only_what_is_gone_stays_when_the_project_is_removed(store: Store) -> None:
    retention.remove_expired(store, 3)
    store.close()
    assert retention.clear_away(store.project, purge=False) == [GONE]
    assert kept(store) == [f"{GONE}.1.jsonl"] and sorted(os.listdir(store.project.own_dir)) == ["gone.json", "kept"]
    assert (store.project.root / ".dagent" / "sessions" / "history_pm-feature-stays.jsonl").exists()


def test_nothing_stays_with_purge(store: Store) -> None:
    retention.remove_expired(store, 3)
    store.close()
    assert retention.clear_away(store.project, purge=True) == []
    assert not store.project.own_dir.exists()


def test_nor_without_it_when_nothing_is_gone(repo: Path) -> None:
    project = git.project_at(repo)
    assert retention.clear_away(project, purge=False) == [] and not project.own_dir.exists()


def test_what_is_paused_is_not_removed(store: Store, day: Day) -> None:
    store.pauses.begin(GONE, None)
    for date in ("2026-01-01", "2026-01-02", "2026-01-03"):
        day(date)
        assert retention.remove_expired(store, 1) == []
    store.pauses.end(GONE)
    assert retention.remove_expired(store, 1) == [GONE]
