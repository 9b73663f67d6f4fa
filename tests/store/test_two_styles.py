"""A session of one id in both styles: the app makes its own prefixed documents where we came first with a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dagentd.store.store import Store
from tests.jobs.legacy_files import at, write
from tests.jobs.test_migrate import Work
from tests.store.place import Place
from tests.torture.desktop_app import DesktopApp

NESTED = "theme"
SID = f"pm-feature-{NESTED}"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


@pytest.fixture
def backlog(place: Place) -> Path:
    folder = place.root / ".dagent" / "features" / "backlog" / NESTED
    folder.mkdir(parents=True)
    (folder / "feature.json").write_text(json.dumps({"id": NESTED}))
    return folder


def glance(store: Store) -> None:
    store.glance(next(each for each in store.catalogue.features() if each.id == NESTED), SID)


def history(store: Store) -> list[str]:
    with store.sessions.using(SID) as session:
        return [raw["content"] for raw in session.history()[0]]


def test_what_the_app_says_beside_our_folder_is_taken_in(place: Place, backlog: Path) -> None:
    with place.store() as store:
        store.maker.get_or_create("feature", "pm", NESTED).add([{"role": "user", "content": "ours"}])
        assert (backlog / "sessions" / SID / "history.jsonl").exists() and history(store) == ["ours"]
        store.reconciler.reconcile()  # or our chat would not be on disk yet
        app = DesktopApp(backlog, NESTED, newest=True)
        app.add(app.session(), "theirs")
        glance(store)
        store.reconciler.reconcile()
        assert sorted(history(store)) == ["ours", "theirs"]
        with store.sessions.using(SID) as session:
            session.add([{"role": "user", "content": "later"}])
        store.reconciler.reconcile()
        assert sorted(each["content"] for each in app.chat(app.session())) == ["later", "ours", "theirs"]
    with place.store() as store:
        store.reconciler.reconcile()
        assert sorted(history(store)) == ["later", "ours", "theirs"]


def test_what_had_left_our_chat_is_history_of_theirs_too(place: Place, backlog: Path) -> None:
    with place.store() as store:
        ours = store.maker.get_or_create("feature", "pm", NESTED)
        ours.add([{"role": "user", "content": each} for each in ("first", "second")])
        ours.clear()
        ours.update_checkpoint({"summary": {"decisions": ["no cookies"]}})
        ours.add([{"role": "user", "content": "third"}])
        store.reconciler.reconcile()
        app = DesktopApp(backlog, NESTED, newest=True)
        app.add(app.session(), "theirs")
        for _ in range(2):
            glance(store)
            store.reconciler.reconcile()
            assert sorted(history(store)) == ["first", "second", "theirs", "third"]
            with store.sessions.using(SID) as session:
                assert session.folder.style == "prefixed"
                assert sorted(each["content"] for each in session.chat()) == ["theirs", "third"]
                assert "no cookies" in (session.checkpoint() or {})["summary"]["decisions"]
        with store.sessions.using(SID) as session:  # once is enough: what is resolved here stays so
            session.update_checkpoint({"summary": {"decisions": []}})
            session.reconcile()
            assert (session.checkpoint() or {})["summary"]["decisions"] == []
    with place.store() as store:
        store.reconciler.reconcile()
        assert sorted(history(store)) == ["first", "second", "theirs", "third"]


@pytest.mark.parametrize("cleared", [True, False])
def test_what_both_made_of_an_older_file_is_there_once(place: Place, backlog: Path, cleared: bool) -> None:
    said = [f"old {number}" for number in range(4)]
    write(backlog / "chat.json", {"entries": [{"role": "user", "content": each, "timestamp": at(1)} for each in said]})
    work = Work(place)
    try:
        work.look()
        with work.store.sessions.using(SID) as session:
            assert session.folder.style == "folder" and len(session.chat()) == 4
            if cleared:
                session.clear()
        work.store.reconciler.reconcile()
        app = DesktopApp(backlog, NESTED)
        assert len(list(app.migrate_chat())) == 4
        app.add(app.session(), "theirs")
        for _ in range(2):
            glance(work.store)
            work.look()
            work.store.reconciler.reconcile()
            assert sorted(history(work.store)) == [*said, "theirs"]
    finally:
        work.close()
