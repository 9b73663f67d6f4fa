"""States with history and reasons, and the statistics that come of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dagentd.model.agx import changed, config, lifecycle, session, units
from dagentd.model.agx.session import Claude, Git, Tmux
from tests.model.agx.seed import example

START = datetime(2025, 1, 24, 10, 0, tzinfo=UTC)


def fresh() -> dict[str, Any]:
    return session.new("main", Path("/p"), config.Config(), "main", Git("main"), START)


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


def test_work_that_ends_is_counted() -> None:
    raw = lifecycle.moved(fresh(), "active", "a", at(minutes=0))
    raw = lifecycle.moved(raw, "paused", "b", at(minutes=45))
    raw = lifecycle.moved(raw, "active", "c", at(days=1))
    raw = lifecycle.moved(raw, "archived", "d", at(days=1, minutes=15))
    held = raw["statistics"]
    assert held["sessionCount"] == 2
    assert (held["totalDuration"], held["averageSessionLength"], held["lastSessionDuration"]) == ("1h", "30m", "15m")
    assert held["mostActiveDay"] == "2025-01-24"
    assert held["activeByDay"] == {"2025-01-24": "45m", "2025-01-25": "15m"}
    assert held["commandsExecuted"] == 0


def test_what_another_program_counted_goes_on() -> None:
    """12 sessions of 4h 23m: the example of the format, whose history tells of one only."""
    raw = lifecycle.moved(example("session"), "paused", "x", datetime(2025, 1, 24, 11, 20, tzinfo=UTC))
    held = raw["statistics"]
    assert (held["sessionCount"], held["totalDuration"], held["averageSessionLength"]) == (13, "5h 8m", "24m")
    assert held["lastSessionDuration"] == "45m" and held["commandsExecuted"] == 156
    assert held["mostActiveDay"] == "2025-01-24", "45 minutes are more than the average of the other day"
    short = lifecycle.moved(example("session"), "paused", "x", datetime(2025, 1, 24, 10, 40, tzinfo=UTC))
    assert short["statistics"]["mostActiveDay"] == "2025-01-20"


def test_nothing_is_counted_where_it_is_not_wanted() -> None:
    raw = lifecycle.moved(fresh(), "active", "a", START)
    assert lifecycle.moved(raw, "paused", "b", at(hours=1), count=False)["statistics"] == raw["statistics"]


def test_a_night_belongs_to_two_days() -> None:
    raw = lifecycle.moved(fresh(), "active", "a", at(hours=13))  # 23:00
    raw = lifecycle.moved(raw, "paused", "b", at(hours=17))
    assert raw["statistics"]["activeByDay"] == {"2025-01-24": "1h", "2025-01-25": "3h"}


def test_a_clock_that_was_put_back_counts_nothing() -> None:
    raw = lifecycle.moved(fresh(), "active", "a", at(hours=1))
    raw = lifecycle.moved(raw, "paused", "b", at(hours=-5))
    assert raw["statistics"]["totalDuration"] == "0s"


@given(st.lists(st.tuples(st.sampled_from(lifecycle.STATES), st.integers(0, 400_000)), max_size=30))
def test_the_total_is_the_time_spent_active(moves: list[tuple[str, int]]) -> None:
    raw, now, spent, begun = fresh(), START, 0, None
    for state, later in moves:
        now += timedelta(seconds=later)
        if begun is not None and state != "active":
            spent += int((now - begun).total_seconds())
            begun = None
        elif state == "active" and begun is None and lifecycle.state_of(raw) != "active":
            begun = now
        raw = lifecycle.moved(raw, state, "x", now)
    assert units.seconds(raw["statistics"]["totalDuration"]) == spent


def test_the_history_is_bounded_and_keeps_its_beginning() -> None:
    raw = fresh()
    for number in range(300):
        raw = lifecycle.moved(raw, "active" if number % 2 == 0 else "paused", str(number), at(minutes=number))
    history = raw["lifecycle"]["stateHistory"]
    assert len(history) == 200 and history[0]["reason"] == "initial_creation" and history[-1]["reason"] == "299"
    assert raw["statistics"]["sessionCount"] == 150


def test_tmux_that_runs_makes_it_active_and_one_that_ended_pauses() -> None:
    live = Tmux("agx-p-main", 3, 1, at(minutes=9), "/p")
    raw = session.with_tmux(fresh(), live, at(minutes=10))
    assert raw["tmux"] | {"config": None} == {
        "sessionName": "agx-p-main", "windowCount": 3, "isActive": True, "lastAttached": "2025-01-24T10:09:00Z",
        "config": None,
    }  # fmt: skip
    assert raw["lifecycle"]["stateHistory"][-1]["reason"] == "first_attachment"
    assert session.with_tmux(raw, live, at(minutes=11)) == raw
    raw = session.with_tmux(raw, None, at(minutes=30))
    assert raw["tmux"]["isActive"] is False and lifecycle.state_of(raw) == "paused"
    assert raw["statistics"]["lastSessionDuration"] == "20m"
    assert session.with_tmux(raw, None, at(minutes=31)) is raw


def test_a_branch_that_is_left_stays_active_while_its_tmux_runs() -> None:
    raw = session.with_tmux(fresh(), Tmux("x", 1, 1, None, "/p"), START)
    assert session.left(raw, "branch_left", at(hours=1)) is raw
    assert lifecycle.state_of(session.left(session.with_tmux(raw, None, START), "branch_left", at(hours=1))) == "paused"


def test_what_claude_says_leaves_what_it_does_not_say() -> None:
    before = example("session")
    raw = session.with_claude(before, Claude("new-id", last="2025-02-01T00:00:00Z"))
    assert raw["claude"]["sessionId"] == "new-id" and raw["claude"]["conversationId"] == "conv_xyz789"
    assert raw["claude"]["resumeInfo"] == {
        "canResume": True, "resumeCommand": "claude --resume new-id", "lastResumeAttempt": None, "resumeErrors": [],
    }  # fmt: skip
    refused = session.with_claude(before, Claude("new-id", can_resume=False, problem="gone"))
    assert refused["claude"]["resumeInfo"]["resumeErrors"] == ["gone"]
    assert refused["claude"]["hasActiveContext"] is False


def test_the_last_use_is_the_latest_of_all_signs() -> None:
    raw = changed(fresh(), "claude", lastInteraction="2025-03-01T00:00:00Z")
    assert lifecycle.last_used(raw) == datetime(2025, 3, 1, tzinfo=UTC)
    assert lifecycle.last_used({"created": "rubbish"}) is None
