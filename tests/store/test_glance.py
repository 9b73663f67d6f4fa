"""What another program adds to a chat is taken in at once: it may clear the chat in the next moment."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from dagentd.adapters import clock
from dagentd.store.store import Store
from tests.store.place import FEATURE, PM, Place
from tests.torture import reader
from tests.torture.desktop_app import DesktopApp

Wait = Callable[[float], None]

SLOW = 0.5  # seconds until something counts as settled


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "p").make()


def glance(store: Store) -> None:
    feature = next(each for each in store.catalogue.features() if each.id == FEATURE)
    store.glance(feature, PM)


def told(place: Place) -> list[str]:
    return [each["message"]["content"] for each in records(place) if each["t"] == "message"]


def records(place: Place) -> list[dict[str, Any]]:
    return [record for record, _, _ in reader.records(place.pm.journal.read_bytes())[0]]


def test_what_was_added_is_there_when_it_is_cleared_at_once(place: Place) -> None:
    app = DesktopApp(place.flat, FEATURE)
    with place.store(SLOW) as store:
        for number in range(3):
            app.add(app.session(), f"said {number}")
            glance(store)
            app.clear(app.session())
            glance(store)
        assert told(place) == ["said 0", "said 1", "said 2"]
        with store.sessions.using(PM) as session:
            assert [raw["content"] for raw in session.history()[0]] == ["said 0", "said 1", "said 2"]


def test_what_it_lacks_is_not_judged_yet(place: Place) -> None:
    app = DesktopApp(place.flat, FEATURE)
    app.add(app.session(), "first")
    with place.store(SLOW) as store:
        glance(store)
        app.clear(app.session())
        app.add(app.session(), "second")
        glance(store)
        with store.sessions.using(PM) as session:
            assert [raw["content"] for raw in session.chat()] == ["first", "second"]
            assert not [each for each in records(place) if each["t"] == "left"]


def test_a_clear_counts_although_what_was_said_after_it_was_taken_in_first(place: Place, wait: Wait) -> None:
    """That the chat holds what it brought itself does not show that its writer had read ours."""
    app = DesktopApp(place.flat, FEATURE)
    app.add(app.session(), "first")
    with place.store(0.01) as store, store.sessions.using(PM) as session:
        session.reconcile()
        wait(2.0)
        app.clear(app.session())
        for said in ("second", "third"):
            app.add(app.session(), said)
            glance(store)
        session.reconcile()
        assert [raw["content"] for raw in session.chat()] == ["second", "third"]
        assert [raw["content"] for raw in session.history()[0]] == ["first", "second", "third"]
    assert [(each["ids"], each["why"]) for each in records(place) if each["t"] == "left"] == [([ANY], "cleared")]


def test_a_clear_takes_what_was_there_for_over_a_second_and_never_came_to_rest(place: Place, wait: Wait) -> None:
    app = DesktopApp(place.flat, FEATURE)
    app.session()
    with place.store(60.0) as store, store.sessions.using(PM) as session:
        for said in ("first", "second"):
            app.add(app.session(), said)
            glance(store)
            wait(0.6)
        app.clear(app.session())
        session.reconcile()
        assert [raw["content"] for raw in session.chat()] == ["second"]
        assert [raw["content"] for raw in session.history()[0]] == ["first", "second"]
        wait(60.0)  # or closing would


def test_a_clear_takes_what_was_there_for_over_a_second_before_our_chat_was(place: Place, wait: Wait) -> None:
    """Once the chat that brought it was judged, only how long ours had been there counted: of what was cleared, some
    stayed."""
    app = DesktopApp(place.flat, FEATURE)
    app.session()
    with place.store(0.4) as store, store.sessions.using(PM) as session:
        app.add(app.session(), "glanced at")
        glance(store)
        wait(0.4)
        app.add(app.session(), "judged at once")
        session.look()
        wait(0.3)
        session.reconcile()
        wait(0.75)
        app.clear(app.session())
        app.add(app.session(), "anew")
        glance(store)
        session.reconcile()
        assert [raw["content"] for raw in session.chat()] == ["anew"]


def test_a_compaction_counts_although_what_was_said_after_it_was_taken_in_first(place: Place) -> None:
    app = DesktopApp(place.flat, FEATURE)
    app.add(app.session(), "first")
    with place.store(0.01) as store, store.sessions.using(PM) as session:
        session.reconcile()
        app.compact(app.session(), completed=["what was first"])
        app.add(app.session(), "second")
        glance(store)
        session.reconcile()
        assert [raw["content"] for raw in session.chat()] == ["second"]
    assert [(each["ids"], each["why"]) for each in records(place) if each["t"] == "left"] == [([ANY], "compacted")]


def test_half_a_chat_is_left_for_the_next_time(place: Place) -> None:
    app = DesktopApp(place.flat, FEATURE)
    app.add(app.session(), "first")
    with place.store(SLOW) as store:
        glance(store)
        whole = place.pm.chat.read_bytes()
        place.pm.chat.write_bytes(whole[:-5])
        glance(store)
        place.pm.chat.write_bytes(whole)
    assert told(place) == ["first"]
    assert not place.pm.beside(place.pm.chat, "corrupt")


def test_a_session_that_is_being_copied_here_waits_for_its_journal(place: Place) -> None:
    with place.session() as session:
        session.add([{"role": "user", "content": "first"}])
    journal = place.pm.journal.read_bytes()
    place.pm.journal.unlink()
    place.pm.chat.write_bytes(place.pm.chat.read_bytes() + b" ")
    with place.store() as store:
        glance(store)
        assert not place.pm.journal.exists()
        place.pm.journal.write_bytes(journal)
        glance(store)
    assert told(place) == ["first"]


def test_what_it_held_a_moment_ago_is_taken_in_although_it_is_gone(place: Place) -> None:
    app, held = DesktopApp(place.flat, FEATURE), list[bytes]()
    with place.store(SLOW) as store:
        for number in range(3):
            app.add(app.session(), f"said {number}")
            held.append(place.pm.chat.read_bytes())
            app.clear(app.session())
        feature = next(each for each in store.catalogue.features() if each.id == FEATURE)
        store.glance(feature, PM, [*held, held[0][:-9]])
        store.glance(feature, PM, held)
        assert told(place) == ["said 0", "said 1", "said 2"]


@pytest.mark.parametrize("compacted", [False, True], ids=["cleared", "compacted"])
def test_a_clear_counts_although_who_glanced_at_it_died(
    place: Place, wait: Wait, compacted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said after it was in the journal: the next process took the chat for a stale copy, and brought back what
    had been cleared."""
    app, image = DesktopApp(place.flat, FEATURE), Place(tmp_path / "image")
    app.add(app.session(), "first")
    with place.store(60.0) as store, store.sessions.using(PM) as session:
        session.reconcile()
        wait(2.0)
        if compacted:
            app.compact(app.session(), completed=["what was first"])
        else:
            app.clear(app.session())
        for said in ("second", "third"):
            app.add(app.session(), said)
            glance(store)
        subprocess.run(["cp", "-a", place.root, image.root], check=True)  # as a killed process leaves it
        monkeypatch.setattr(clock, "monotonic", partial(next, count(1e9, 60.0)))  # or closing would wait
    monkeypatch.undo()
    with image.store(0.01) as store, store.sessions.using(PM) as session:
        session.reconcile()
        assert [raw["content"] for raw in session.chat()] == ["second", "third"]
        assert [raw["content"] for raw in session.history()[0]] == ["first", "second", "third"]
    why = "compacted" if compacted else "cleared"
    assert [(each["ids"], each["why"]) for each in records(image) if each["t"] == "left"] == [([ANY], why)]


def test_an_old_copy_of_what_was_glanced_at_and_judged_long_ago_clears_nothing(place: Place, wait: Wait) -> None:
    app = DesktopApp(place.flat, FEATURE)
    app.session()
    with place.store(0.01) as store, store.sessions.using(PM) as session:
        app.add(app.session(), "first")
        old = place.pm.chat.read_bytes()
        glance(store)
        session.reconcile()
        session.add([{"role": "user", "content": "second"}])
        session.reconcile()
        wait(2.0)
    place.pm.chat.write_bytes(old)
    with place.store(0.01) as store, store.sessions.using(PM) as session:
        session.reconcile()
        assert [raw["content"] for raw in session.chat()] == ["first", "second"]
