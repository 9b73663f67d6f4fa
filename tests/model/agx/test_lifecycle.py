"""States with history and reasons, and the statistics that come of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dagentd.adapters.tmux import TmuxSession
from dagentd.agx import configuration, lifecycle, session_document, values
from dagentd.agx.session_document import Claude, Git
from dagentd.agx.values import changed
from tests.model.agx.seed import example

START = datetime(2025, 1, 24, 10, 0, tzinfo=UTC)


def fresh() -> dict[str, Any]:
    return session_document.new("main", Path("/p"), configuration.Config(), "main", Git("main"), START)


def at(**later: float) -> datetime:
    return START + timedelta(**later)


def test_each_state_has_its_time_and_its_reason() -> None:
    raw = lifecycle.moved(fresh(), "active", "first_attachment", at(minutes=5))
    raw = lifecycle.moved(raw, "paused", "tmux_ended", at(minutes=50))
    assert raw["lifecycle"]["state"] == "paused"
    assert raw["lifecycle"]["stateHistory"] == [
        {"state": "created", "timestamp": "2025-01-24T10:00:00Z", "reason": "initial_creation"},
        {"state": "active", "timestamp": "2025-01-24T10:05:00Z", "reason": "first_attachment"},
        {"state": "paused", "timestamp": "2025-01-24T10:50:00Z", "reason": "tmux_ended"},
    ]
    assert lifecycle.moved(raw, "paused", "again", at(hours=2)) is raw


def used(raw: dict[str, Any], now: datetime, state: str = "active") -> dict[str, Any]:
    """As the store does it."""
    after = session_document.accessed(lifecycle.moved(raw, state, "x", now), now)
    return lifecycle.count_activity(raw, after)


def test_work_is_counted_from_one_sign_of_use_to_the_next() -> None:
    raw = used(used(fresh(), at(minutes=0)), at(minutes=45), "paused")
    raw = used(used(raw, at(days=1)), at(days=1, minutes=15), "archived")
    held = raw["statistics"]
    assert held["sessionCount"] == 2
    assert (held["totalDuration"], held["averageSessionLength"], held["lastSessionDuration"]) == ("1h", "30m", "15m")
    assert held["mostActiveDay"] == "2025-01-24"
    assert held["activeByDay"] == {"2025-01-24": "45m", "2025-01-25": "15m"}


def test_what_another_program_counted_goes_on() -> None:
    """12 sessions of 4h 23m, the last of 45m: the example of the format."""
    raw = used(example("session"), datetime(2025, 1, 24, 15, 45, tzinfo=UTC))
    held = raw["statistics"]
    assert (held["sessionCount"], held["totalDuration"], held["averageSessionLength"]) == (12, "5h 23m", "27m")
    assert held["lastSessionDuration"] == "1h 45m" and held["commandsExecuted"] == 156
    assert held["mostActiveDay"] == "2025-01-24", "an hour is more than the average of the other day"
    short = used(example("session"), datetime(2025, 1, 24, 15, 0, tzinfo=UTC))
    assert short["statistics"]["mostActiveDay"] == "2025-01-20"


def test_midnight_parts_two_days() -> None:
    raw = used(used(fresh(), at(hours=13)), at(hours=14, minutes=30), "paused")  # from 23:00
    assert raw["statistics"]["activeByDay"] == {"2025-01-24": "1h", "2025-01-25": "30m"}


def test_a_clock_that_was_put_back_counts_nothing() -> None:
    raw = used(used(fresh(), at(hours=1)), at(hours=-5), "paused")
    assert raw["statistics"]["totalDuration"] == "0s"


@given(st.lists(st.tuples(st.sampled_from(lifecycle.STATES), st.integers(0, 20_000)), max_size=30))
def test_the_total_is_the_time_of_use(moves: list[tuple[str, int]]) -> None:
    raw, now, spent = fresh(), START, 0
    for state, later in moves:
        now += timedelta(seconds=later)
        spent += later if lifecycle.state_of(raw) == "active" and later <= 7200 else 0
        raw = used(raw, now, state)
    held = raw["statistics"]
    assert (
        values.duration_seconds(held["totalDuration"])
        == spent
        == sum(map(_seconds, held.get("activeByDay", {}).values()))
    )
    assert _seconds(held["averageSessionLength"]) <= spent and _seconds(held["lastSessionDuration"]) <= spent


def _seconds(text: str) -> int:
    found = values.duration_seconds(text)
    assert found is not None
    return found


def test_the_history_is_bounded_and_keeps_its_beginning() -> None:
    raw = fresh()
    for number in range(300):
        raw = lifecycle.moved(raw, "active" if number % 2 == 0 else "paused", str(number), at(minutes=number))
    history = raw["lifecycle"]["stateHistory"]
    assert len(history) == 200 and history[0]["reason"] == "initial_creation" and history[-1]["reason"] == "299"


def test_tmux_that_runs_makes_it_active_and_one_that_ended_pauses() -> None:
    live = TmuxSession("agx-p-main", 3, 1, at(minutes=9), "/p")
    raw = session_document.with_tmux(fresh(), live, at(minutes=10))
    typed = replace(live, activity=at(minutes=12))
    assert session_document.with_tmux(raw, typed, at(minutes=13))["lastAccessed"] == "2025-01-24T10:12:00Z"
    assert raw["tmux"] | {"config": None} == {
        "sessionName": "agx-p-main", "windowCount": 3, "isActive": True, "lastAttached": "2025-01-24T10:09:00Z",
        "config": None,
    }  # fmt: skip
    assert raw["lifecycle"]["stateHistory"][-1]["reason"] == "first_attachment"
    assert session_document.with_tmux(raw, live, at(minutes=11)) == raw
    raw = session_document.with_tmux(raw, None, at(minutes=30))
    assert raw["tmux"]["isActive"] is False and lifecycle.state_of(raw) == "paused"
    assert session_document.with_tmux(raw, None, at(minutes=31)) is raw


def test_what_claude_says_leaves_what_it_does_not_say() -> None:
    before = example("session")
    known = {**before, "claude": {**before["claude"], "theirs": 1}}
    raw = session_document.with_claude(known, Claude("new-id", last="2025-02-01T00:00:00Z"), configuration.Config())
    assert raw["claude"]["sessionId"] == "new-id" and raw["claude"]["theirs"] == 1
    assert raw["claude"]["resumeInfo"] == {
        "canResume": True, "resumeCommand": "claude --resume new-id", "lastResumeAttempt": None, "resumeErrors": [],
    }  # fmt: skip
    refused = session_document.with_claude(
        before, Claude("new-id", can_resume=False, problem="gone"), configuration.Config()
    )
    assert refused["claude"]["resumeInfo"]["resumeErrors"] == ["gone"]
    assert refused["claude"]["hasActiveContext"] is False


def test_the_last_use_is_the_latest_of_all_signs() -> None:
    raw = changed(fresh(), "claude", lastInteraction="2025-03-01T00:00:00Z")
    assert lifecycle.last_used(raw) == datetime(2025, 3, 1, tzinfo=UTC)
    assert lifecycle.last_used({"created": "rubbish"}) is None
