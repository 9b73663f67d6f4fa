"""A session of one id in both styles: the app makes its own prefixed documents where we came first with a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dagentd.store.store import Store
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
    store.glance(next(each for each in store.features() if each.id == NESTED), SID)


def history(store: Store) -> list[str]:
    with store.using(SID) as session:
        return [raw["content"] for raw in session.history()[0]]


def test_what_the_app_says_beside_our_folder_is_taken_in(place: Place, backlog: Path) -> None:
    with place.store() as store:
        store.get_or_create("feature", "pm", NESTED).add([{"role": "user", "content": "ours"}])
        assert (backlog / "sessions" / SID / "history.jsonl").exists() and history(store) == ["ours"]
        store.reconcile()  # or our chat would not be on disk yet
        app = DesktopApp(backlog, NESTED, newest=True)
        app.add(app.session(), "theirs")
        glance(store)
        store.reconcile()
        assert sorted(history(store)) == ["ours", "theirs"]
        with store.using(SID) as session:
            session.add([{"role": "user", "content": "later"}])
        store.reconcile()
        assert sorted(each["content"] for each in app.chat(app.session())) == ["later", "ours", "theirs"]
    with place.store() as store:
        store.reconcile()
        assert sorted(history(store)) == ["later", "ours", "theirs"]
