"""A session that was there before dagentd: what its documents said of it stays true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd.store.sessions.session import Session
from tests.store.place import FEATURE, PM, Place

STATS = {
    "totalMessages": 42, "totalTokens": 15000, "totalCompactions": 2, "lastCompactionAt": "2026-01-17T12:00:00.000Z",
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


def put(place: Place, name: str, raw: dict[str, Any]) -> None:
    (place.flat / "sessions").mkdir(exist_ok=True)
    (place.flat / "sessions" / f"{name}_{PM}.json").write_text(json.dumps(raw, indent=2))


def documents(place: Place, stats: dict[str, Any] | None = None, compactions: int = 2) -> None:
    """As the app left them: two messages of 42 are in chat, forty were compacted in two rounds."""
    put(
        place, "session", {
            "id": PM, "type": "feature", "agentType": "pm", "featureId": FEATURE,
            "createdAt": "2026-01-17T10:00:00.000Z", "updatedAt": "2026-01-17T12:30:00.000Z", "status": "active",
            **({} if stats is None else {"stats": stats}),
        },
    )  # fmt: skip
    said = [
        {"id": "m-1", "role": "user", "content": "Plan it", "timestamp": "2026-01-17T12:25:00.000Z"},
        {
            "id": "m-2", "role": "assistant", "content": "Done", "timestamp": "2026-01-17T12:25:05.000Z",
            "metadata": {"agentType": "pm", "tokens": {"input": 500, "output": 200}},
        },
    ]  # fmt: skip
    put(place, "chat", {"messages": said, "totalMessages": 42})
    lists: dict[str, list[str]] = {
        "completed": ["Read it"], "inProgress": [], "pending": [], "blockers": [], "decisions": ["JWT"]
    }  # fmt: skip
    info = {
        "messagesCompacted": 40, "oldestMessageTimestamp": "2026-01-17T10:00:00.000Z",
        "newestMessageTimestamp": "2026-01-17T11:55:00.000Z", "compactedAt": "2026-01-17T12:00:00.000Z",
    }  # fmt: skip
    counts = {"totalCompactions": compactions, "totalMessages": 40, "totalTokens": 12000}
    put(place, "checkpoint", {"version": 3, "summary": lists, "compactionInfo": info, "stats": counts})


def compact(session: Session, *ids: str) -> None:
    """One round, as a backend proposes it: with what it knows of the round before."""
    before = session.checkpoint() or {}
    stats = before.get("stats", {})
    info = {
        "messagesCompacted": len(ids), "oldestMessageTimestamp": "2026-01-17T12:25:00.000Z",
        "newestMessageTimestamp": "2026-01-17T12:25:05.000Z", "compactedAt": "2026-01-17T13:00:00.000Z",
    }  # fmt: skip
    counted = {**stats, "totalCompactions": stats.get("totalCompactions", 0) + 1}
    session.compact(session.snapshot(), ids, {**before, "compactionInfo": info, "stats": counted})


def stats_of(session: Session) -> dict[str, Any]:
    found: dict[str, Any] = session.document()["stats"]
    return found


def test_statistics_go_on_from_what_the_documents_said(place: Place) -> None:
    documents(place, STATS)
    with place.session() as session:
        assert stats_of(session) == STATS
        session.add([{"role": "assistant", "content": "more", "metadata": {"tokens": {"input": 10, "output": 5}}}])
        assert stats_of(session) == {**STATS, "totalMessages": 43, "totalTokens": 15015}
        session.reconcile()
        chat = json.loads((place.flat / "sessions" / f"chat_{PM}.json").read_text())
        assert chat["totalMessages"] == 43
    with place.session() as session:
        assert stats_of(session)["totalMessages"] == 43, "read from the journal again"


@pytest.mark.parametrize(("stats", "compactions"), [(STATS, 2), (STATS, 0), (None, 2), ({"totalCompactions": 1}, 2)])
def test_session_and_checkpoint_agree(place: Place, stats: dict[str, Any] | None, compactions: int) -> None:
    documents(place, stats, compactions)
    with place.session() as session:
        compact(session, "m-1", "m-2")
        checkpoint = session.checkpoint() or {}
        assert stats_of(session)["totalCompactions"] == checkpoint["stats"]["totalCompactions"] == 3
        assert stats_of(session)["lastCompactionAt"] == checkpoint["compactionInfo"]["compactedAt"]
        session.undo_compaction()
        assert stats_of(session)["totalCompactions"] == 2
        assert stats_of(session)["lastCompactionAt"] == "2026-01-17T12:00:00.000Z"


def test_what_is_in_chat_is_known_without_statistics(place: Place) -> None:
    documents(place, None, 0)
    for name in ("checkpoint", "chat"):
        path = place.flat / "sessions" / f"{name}_{PM}.json"
        raw = json.loads(path.read_text())
        path.write_text(json.dumps({key: raw[key] for key in ("messages", "summary", "version") if key in raw}))
    with place.session() as session:
        assert stats_of(session) == {"totalMessages": 2, "totalTokens": 700, "totalCompactions": 0}


@pytest.mark.parametrize("nonsense", ["many", [1], {"totalMessages": -3, "totalTokens": True, "totalCompactions": "2"}])
def test_statistics_that_make_no_sense_are_none(place: Place, nonsense: Any) -> None:
    documents(place, nonsense, 0)
    put(place, "chat", {"messages": []})
    with place.session() as session:
        found = stats_of(session)
    assert (found["totalMessages"], found["totalTokens"], found["totalCompactions"]) == (40, 0, 0)


def test_a_clear_starts_again(place: Place) -> None:
    documents(place, STATS)
    with place.session() as session:
        session.clear()
        assert (stats_of(session)["totalMessages"], stats_of(session)["totalTokens"]) == (0, 0)


def test_it_gets_the_documents_that_it_names(place: Place) -> None:
    """Its `files` name a checkpoint and an agent description, and a program that follows them must find them."""
    documents(place, STATS)
    sessions = place.flat / "sessions"
    (sessions / f"checkpoint_{PM}.json").unlink()
    with place.store() as store:
        store.reconciler.reconcile()
    named = json.loads((sessions / f"session_{PM}.json").read_text())["files"]
    assert json.loads((sessions / named["checkpoint"]).read_text())["summary"]["decisions"] == []
    assert json.loads((sessions / named["agentDescription"]).read_text())["agentType"] == "pm"


def test_it_keeps_the_agent_description_that_it_has(place: Place) -> None:
    documents(place, STATS)
    put(place, "agent-description", {"agentType": "pm", "roleInstructions": "Plan.", "mine": 1})
    with place.store() as store:
        store.reconciler.reconcile()
    held = json.loads((place.flat / "sessions" / f"agent-description_{PM}.json").read_text())
    assert held == {"agentType": "pm", "roleInstructions": "Plan.", "mine": 1}


# --- over several rounds --------------------------------------------------------------------------------------


def test_what_a_checkpoint_covers_is_told_of_all_rounds(place: Place) -> None:
    documents(place, STATS)
    with place.session() as session:
        compact(session, "m-1", "m-2")
        info = (session.checkpoint() or {})["compactionInfo"]
    assert info == {
        "messagesCompacted": 42, "oldestMessageTimestamp": "2026-01-17T10:00:00.000Z",
        "newestMessageTimestamp": "2026-01-17T12:25:05.000Z", "compactedAt": "2026-01-17T13:00:00.000Z",
    }  # fmt: skip


def test_the_first_round_covers_what_it_compacted(place: Place) -> None:
    documents(place, None, 0)
    (place.flat / "sessions" / f"checkpoint_{PM}.json").unlink()
    with place.session() as session:
        compact(session, "m-1", "m-2")
        info = (session.checkpoint() or {})["compactionInfo"]
    assert (info["messagesCompacted"], info["oldestMessageTimestamp"]) == (2, "2026-01-17T12:25:00.000Z")


def test_the_number_of_messages_is_that_of_those_that_are_shown(place: Place) -> None:
    with place.session() as session:
        quiet = {"role": "assistant", "content": "internal", "metadata": {"internal": True}}
        session.add([{"role": "user", "content": 'say "internal"'}, quiet, quiet, {"role": "user", "content": "Hi"}])
        assert session.messages(1)[1] == 2 and session.messages(1, include_internal=True)[1] == session.in_chat == 4
        session.reconcile()
        chat = session.folder.document("chat")
        raw = json.loads(chat.read_text())
        del raw["messages"][1]["metadata"]
        chat.write_text(json.dumps(raw))
        session.reconcile()
        assert session.messages(1)[1] == 3, "one was edited and is shown now"
        session.clear()
        assert session.messages(1)[1] == 0
        session.add([quiet])
        assert session.messages(1)[1] == 0 and session.messages(1, include_internal=True)[1] == 1
