"""Beside the app's newest version: it can use what we write, and what it writes is understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagentd.store.sessions.session import Session
from tests.store.place import FEATURE, PM, Place
from tests.torture.desktop_app import DesktopApp


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def app(place: Place) -> DesktopApp:
    return DesktopApp(place.flat, FEATURE, newest=True)


def memory(place: Place, sid: str = PM) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads((place.flat / "sessions" / f"memory_{sid}.json").read_bytes())
    return raw


def summary(session: Session) -> dict[str, list[str]]:
    return dict((session.checkpoint() or {})["summary"])


@pytest.mark.parametrize("sign", ["context-chat", "sessions/memory_x.json", "features/other/sessions/memory_x.json"])
def test_sessions_that_we_make_beside_it_have_a_memory(place: Place, app: DesktopApp, sign: str) -> None:
    """Without the name of one it throws in getMemory, addMessage, updateMemory and buildRequest."""
    path = place.flat / sign
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}") if sign.endswith("json") else path.mkdir()
    with place.session() as session:
        session.update_checkpoint({"summary": {"decisions": ["no cookies"], "inProgress": ["the form"]}})
        session.reconcile()
    assert json.loads(place.pm.session.read_bytes())["files"]["memory"] == f"memory_{PM}.json"
    assert memory(place)["summary"] == {"critical": [], "important": ["no cookies", "the form"], "minor": []}
    app.add(app.session(), "it works")
    assert app.compact(app.session(), critical=["never cookies"])


def test_elsewhere_there_is_none(place: Place) -> None:
    with place.session() as session:
        session.reconcile()
    assert "memory" not in json.loads(place.pm.session.read_bytes())["files"]
    assert not (place.flat / "sessions" / f"memory_{PM}.json").exists()


def test_its_compaction_is_one(place: Place, app: DesktopApp) -> None:
    """It was taken for a clear, and all counts began anew."""
    sid = app.session()
    app.add(sid, "first")
    with place.store() as store, store.sessions.using(PM) as session:
        session.reconcile()
        app.compact(sid, critical=["never cookies"], important=["tokens"], minor=["blue"])
        session.reconcile()
        assert session.chat() == [] and session.undoable == 1
        assert summary(session)["decisions"] == ["never cookies", "tokens"]
        assert session.document()["stats"]["totalCompactions"] == 1
        said = memory(place)
        assert said["version"] == (session.checkpoint() or {})["version"] and said["stats"]["totalMessages"] == 1


def test_critical_stays_critical_and_nothing_open_becomes_a_decision(place: Place, app: DesktopApp) -> None:
    sid = app.session()
    app.add(sid, "first")
    app.compact(sid, critical=["never cookies"], important=["tokens"])
    with place.store() as store, store.sessions.using(PM) as session:
        session.reconcile()
        session.update_checkpoint({"summary": {"inProgress": ["the form"], "blockers": ["no key"]}})
        session.reconcile()
        important = ["tokens", "the form", "no key"]
        assert memory(place)["summary"] == {"critical": ["never cookies"], "important": important, "minor": []}
        path = place.flat / "sessions" / f"memory_{PM}.json"
        raw = memory(place)
        raw["summary"]["minor"].append("blue")
        path.write_text(json.dumps(raw))
        session.reconcile()
        found = summary(session)
        assert found["decisions"] == ["never cookies", "tokens"] and found["pending"] == ["blue"]
        assert found["inProgress"] == ["the form"] and found["blockers"] == ["no key"]


@pytest.mark.parametrize("newest", [False, True])
def test_what_it_compacts_replaces_what_it_compacted_last(place: Place, newest: bool) -> None:
    """Of 25 rewordings of two decisions there were 50."""
    app = DesktopApp(place.flat, FEATURE, newest=newest)
    sid = app.session()
    with place.store() as store, store.sessions.using(PM) as session:
        session.reconcile()
        session.update_checkpoint({"summary": {"decisions": ["ours"]}})
        session.reconcile()
        for number in range(6):
            app.add(sid, f"said {number}")
            words = [f"one, in words {number}", f"two, in words {number}"]
            app.compact(sid, **({"critical": words[:1], "important": words[1:]} if newest else {"decisions": words}))
            session.reconcile()
            assert summary(session)["decisions"] == ["ours", *words]


def test_what_it_had_counted_is_kept(place: Place, app: DesktopApp) -> None:
    sid = app.session()
    for number in range(5):
        app.add(sid, f"said {number}")
    app.compact(sid, critical=["c"])
    app.add(sid, "since then")
    for _ in range(2):
        with place.store() as store, store.sessions.using(PM) as session:
            session.reconcile()
            stats = session.document()["stats"]
            assert (stats["totalMessages"], stats["totalCompactions"]) == (6, 1)
            assert stats["lastCompactionAt"]


@pytest.mark.parametrize("agent", ["feature", "project"])
def test_its_types_of_agents_are_known(place: Place, agent: str) -> None:
    with place.store() as store:
        session = store.maker.get_or_create("feature", agent, FEATURE)
        assert session.id == f"{agent}-feature-{FEATURE}"
        assert (session.read("agent-description") or {})["roleInstructions"]


@pytest.mark.parametrize(("agent", "name"), [("qa", "qa"), ("dev", "developer"), ("feature", "feature")])
def test_its_descriptions_of_roles_are_read(place: Place, agent: str, name: str) -> None:
    """With instructions as one text getOrCreate failed."""
    folder = place.root / ".dagent" / "agents"
    folder.mkdir(parents=True)
    theirs = {"role": name, "name": "N", "instructions": "Try to break it.", "allowedTools": ["Read"], "model": "m"}
    (folder / f"{name}.json").write_text(json.dumps(theirs))
    with place.store() as store:
        found = store.maker.get_or_create("feature", agent, FEATURE).read("agent-description") or {}
    assert found["roleInstructions"] == "Try to break it." and found["agentType"] == agent
    assert "Read" in found["toolInstructions"]
