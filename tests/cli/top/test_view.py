"""What `dagentd top` shows, at any size."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dagentd.cli.top.state import Away, Fetched, Happened, Shown, State, told, typed
from dagentd.cli.top.view import screen, snapshot
from tests.cli.top.test_state import ROOT, session

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
STATUS: dict[str, Any] = {
    "health": "ok", "uptime": 200, "projects": [{"root": ROOT}], "problems": [],
    "queues": {"waiting": [{"waiting": ["a", "b"]}], "running": [{}], "failing": []},
    "spend": {"calls": 2, "tokens": 12_300, "cost": 0.0123},
}  # fmt: skip


def state(*sessions: dict[str, Any], **status: Any) -> State:
    return told(State(), Fetched({**STATUS, **status}, sessions))


def texts(state: State, width: int = 80, height: int = 24, plain: bool = False) -> list[str]:
    return [line.text for line in screen(state, width, height, plain=plain, now=NOW)]


def test_it_says_how_the_daemon_is_and_what_it_spends() -> None:
    told = "dagentd ok  up 3 min  1 project  1 running, 2 waiting  2 calls of a model today, 12.3k tokens, $0.01"
    assert texts(state(), width=120)[0] == told


def test_a_session_has_a_bar_of_its_share() -> None:
    shown = texts(state(session("a", 0.5, updatedAt="2026-11-16T11:57:00Z"), session("b", 0.1, status="archived")))
    assert shown[2:5] == [
        f"{ROOT}  2 sessions",
        "> a   50 % ██████████··········  3 messages    3 min ago",
        "  b   10 % ██··················  3 messages                  archived",
    ]
    assert texts(state(session("a", 0.5)), plain=True)[3] == "> a   50 % ##########..........  3 messages"


def test_conversations_of_other_agents_have_titles_and_no_bar_and_the_last_active_is_first() -> None:
    day = {"type": "followed", "worktree": "/p", "project": "/p", "status": "idle", "messages": 4}
    older = {**day, "id": f"claude-{'1' * 36}", "title": "Parser", "lastActiveAt": "2026-11-01T10:00:00.000Z"}
    newer = {**day, "id": f"claude-{'2' * 36}", "title": "Login", "lastActiveAt": "2026-11-17T10:00:00.000Z"}
    lines = [line for line in texts(state(older, newer), width=100) if "claude-" in line]
    assert ["Login" in lines[0], "Parser" in lines[1]] == [True, True]
    assert not any("%" in line for line in lines)


def test_the_worst_problem_is_on_the_first_page() -> None:
    problems = [{"path": "/a", "message": "is broken"}, {"path": "", "message": "worse"}]
    assert texts(state(problems=problems))[1] == "! /a: is broken (and 1 more: dagentd status)"


def test_events_come_at_the_bottom_over_the_keys() -> None:
    event = {"type": "session:updated", "action": "message_added", "sessionId": "a", "at": "2026-11-16T11:00:00Z"}
    shown = texts(told(state(session("a")), Happened(event)))
    assert shown[-2].endswith("session:updated  message added  a") and shown[-1].startswith("j/k select  c compact")


def test_a_daemon_that_is_away_is_said_in_the_first_line() -> None:
    shown = texts(told(state(session("a")), Away("dagentd is not running. Try: dagentd start")))
    assert shown[0] == "dagentd is away; it is looked for  dagentd is not running. Try: dagentd start"
    assert shown[3].startswith("> a")


def test_what_is_asked_and_what_is_shown() -> None:
    asked, _ = typed(state(session("a")), "a")
    assert texts(asked)[-1] == "Archive a? y/n"
    shown = told(state(session("a")), Shown(tuple(f"line {n}" for n in range(100))))
    assert texts(shown)[-2] == "line 99", "it opens at its end"
    assert texts(replace(shown, scrolled=50))[-2] == "line 49"


def test_the_selected_session_is_always_on_the_screen() -> None:
    many = state(*(session(f"s{n:03}", 1 - n / 1000) for n in range(300)))
    for steps in (0, 1, 5, 150, 298, 299):
        at = many
        for _ in range(steps):
            at, _ = typed(at, "j")
        for height in (3, 10, 24):
            assert any(line.startswith(f"> s{steps:03}") for line in texts(at, height=height)), (steps, height)


def test_nothing_to_serve_is_said_with_the_next_command() -> None:
    assert "No projects: add one with `dagentd init PATH`." in texts(state(projects=[]))


def test_no_session_can_steer_the_terminal() -> None:
    hostile = "a\x1b[31m\x07\n\u202eb"
    event = {"type": "session:updated", "sessionId": hostile, "at": hostile, "error": hostile}
    shown = told(told(state(session(hostile, error=hostile)), Happened(event)), Shown((hostile,)))
    for each in (shown, replace(shown, shown=None), replace(shown, notice=hostile)):
        assert not any(char in line for line in texts(each) for char in "\x1b\x07\n\u202e")


@pytest.mark.parametrize("width", [1, 20, 40, 80, 200])
@pytest.mark.parametrize("height", [1, 2, 5, 10, 50])
@given(data=st.data())
def test_it_fits_any_screen(width: int, height: int, data: st.DataObject) -> None:
    names = data.draw(st.lists(st.text(min_size=1, max_size=60), max_size=12))
    shares = st.floats(0, 3)
    sessions = [session(name, data.draw(shares), updatedAt="2026-11-16T11:57:00Z") for name in names]
    at = state(*sessions, problems=[{"message": "日本" * 60}] * 2)
    for name in names:
        at = told(at, Happened({"type": "session:updated", "sessionId": name, "at": "2026-11-16T11:57:00Z"}))
    lines = screen(at, width, height, now=NOW)
    assert len(lines) == height
    assert all(cell_len(line.text) <= width for line in lines)


def test_a_snapshot_has_everything() -> None:
    many = state(*(session(f"s{n:03}") for n in range(300)))
    assert len(snapshot(many, now=NOW)) == 303
