"""What `dagentd top` knows after what happened and what was typed."""

from __future__ import annotations

from typing import Any

import pytest

from dagentd.cli.top.state import QUIT, Act, Away, Failed, Fetched, Happened, Noticed, Shown, State, told, typed

ROOT = "/home/you/shop"


def session(name: str, share: float = 0.1, **more: Any) -> dict[str, Any]:
    place = {"id": name, "project": ROOT, "worktree": f"{ROOT}/.dagent-worktrees/login"}
    budget = {"limit": 1000, "share": share}
    return {**place, "status": "active", "messages": 3, "total": 8, "budget": budget, **more}


def listed(*sessions: dict[str, Any]) -> State:
    return told(State(), Fetched({"health": "ok", "projects": [{"root": ROOT}]}, sessions))


def type_all(state: State, *keys: str) -> tuple[State, object]:
    act: object = None
    for key in keys:
        state, act = typed(state, key)
    return state, act


def test_the_fullest_comes_first_and_what_is_archived_last() -> None:
    state = listed(session("a", 0.1), session("b", 0.9), session("c", 1.0, status="archived"))
    assert [row.id for row in state.rows] == ["b", "a", "c"]
    assert state.row is not None and state.row.id == "b"


def test_what_is_selected_stays_so_when_the_order_changes() -> None:
    state, _ = typed(listed(session("a", 0.2), session("b", 0.1)), "j")
    assert state.row is not None and state.row.id == "b"
    state = told(state, Fetched({}, [session("a", 0.2), session("b", 0.9)]))
    assert state.row is not None and state.row.id == "b" and state.rows[0].id == "b"
    state = told(state, Fetched({}, [session("a", 0.2)]))
    assert state.row is not None and state.row.id == "a"
    assert told(state, Fetched({}, [])).row is None


def test_a_look_at_the_daemon_alone_keeps_the_sessions() -> None:
    assert told(listed(session("a")), Fetched({"health": "degraded"})).rows == listed(session("a")).rows


def test_sessions_that_cannot_be_read_and_those_of_another_version() -> None:
    broken = {"id": "a", "worktree": f"{ROOT}/.dagent-worktrees/login", "error": "is not valid JSON", "hint": ""}
    state = listed(broken, {"id": "b", "messages": "3", "budget": None})
    assert [(row.id, row.project, row.status) for row in state.rows] == [("b", "", "active"), ("a", ROOT, "unreadable")]


def test_moving_stays_within_the_list() -> None:
    state = listed(session("a", 0.3), session("b", 0.2), session("c", 0.1))
    for keys, where in ((["k"], "a"), (["down", "j", "j"], "c"), (["G"], "c"), (["G", "up"], "b"), (["G", "g"], "a")):
        assert type_all(state, *keys)[0].row.id == where  # type: ignore[union-attr]
    assert typed(State(), "j") == (State(), None)


def test_something_is_done_once_the_user_says_yes() -> None:
    state = listed(session("a"))
    asked, act = typed(state, "c")
    assert act is None and asked.question == ("compact", state.rows[0])
    assert typed(asked, "y")[1] == Act("compact", state.rows[0])
    for no in ("n", "q", "escape", "c"):
        answered, act = typed(asked, no)
        assert (answered.question, act) == (None, None)
    assert type_all(state, "u", "y")[1] == Act("undo", state.rows[0])
    assert type_all(state, "a", "y")[1] == Act("archive", state.rows[0])
    assert type_all(State(), "a", "y")[1] is None


def test_a_session_is_shown_scrolled_and_left() -> None:
    state = listed(session("a"))
    assert typed(state, "enter")[1] == Act("show", state.rows[0])
    state = told(state, Shown(("one", "two", "three")))
    assert type_all(state, "k", "k", "k", "k")[0].scrolled == 2
    assert type_all(state, "k", "j", "j")[0].scrolled == 0
    left, act = typed(state, "q")
    assert (left.shown, act) == (None, None)
    assert typed(left, "q")[1] == QUIT


def test_compactions_are_seen_while_they_last() -> None:
    state = listed(session("a"))
    state = told(state, Happened({"type": "session:compaction-start", "sessionId": "a"}))
    assert state.compacting == {"a"} and len(state.events) == 1
    assert told(state, Happened({"type": "session:compaction-error", "sessionId": "a"})).compacting == set()
    assert told(state, Away("it ended")).compacting == set()


def test_events_are_forgotten_in_time() -> None:
    state = State()
    for number in range(500):
        state = told(state, Happened({"type": "git:changed", "seq": number}))
    assert len(state.events) == 200 and state.events[-1]["seq"] == 499


def test_a_daemon_that_is_away_and_comes_back() -> None:
    state = told(listed(session("a")), Away("it does not run"))
    assert state.away and state.rows
    assert told(state, Fetched({"health": "ok"})).away == ""


def test_a_bug_of_who_hears_for_us_is_one_of_ours() -> None:
    with pytest.raises(KeyError):
        told(State(), Failed(KeyError("sessions")))


def test_a_notice_stays_until_the_next_key() -> None:
    state = told(listed(session("a")), Noticed("done"))
    assert state.notice == "done" and typed(state, "j")[0].notice == ""


def test_a_compaction_that_began_before_is_seen_too() -> None:
    """And that of a model, for which another one stepped in meanwhile."""
    state = told(listed(session("a")), Fetched({"compacting": [{"sessionId": "a", "since": "2026-01-01T00:00:00Z"}]}))
    assert state.compacting == {"a"}
    assert told(state, Fetched({"compacting": []})).compacting == told(state, Fetched({})).compacting == set()
