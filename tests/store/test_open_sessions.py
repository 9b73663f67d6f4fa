"""Sessions are opened beside each other, each once: who uses one does not wait for another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dagentd.errors import NotFound
from dagentd.jobs import migration
from dagentd.settings import Settings
from dagentd.store.journal import journal as journals
from dagentd.store.journal import opening
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.jobs.legacy_files import chat, write
from tests.patience import patience
from tests.store.place import FEATURE, NESTED, PM, PM_NESTED, Place, said


class Held:
    """Whoever calls a function for one journal waits there until it is let go."""

    def __init__(self, real: Callable[..., Any], session_id: str) -> None:
        self._real, self._id = real, session_id
        self.reached, self._go, self.times = threading.Event(), threading.Event(), 0

    def __call__(self, *given: Any) -> Any:
        if self._id in map(str, (getattr(given[0], "id", None), given[1])):
            self.times += 1
            self.reached.set()
            assert self._go.wait(patience())
        return self._real(*given)

    def let_go(self) -> None:
        self._go.set()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    place = Place(tmp_path / "p").make()
    with place.store() as filled:
        for feature in (FEATURE, NESTED):
            filled.maker.get_or_create("feature", "pm", feature).leave()
    made = Store(place.project, Index(None), settle=0.002)
    yield made
    made.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


def added(store: Store, session_id: str, *ids: str) -> int:
    with store.sessions.using(session_id) as session:
        session.add(said(*ids))
        return session.messages()[1]


def held(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, session_id: str) -> Held:
    made = Held(getattr(module, name), session_id)
    monkeypatch.setattr(module, name, made)
    return made


def test_nobody_waits_for_another_session_to_open(
    store: Store, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = held(monkeypatch, opening, "open_journal", PM)
    first = pool.submit(added, store, PM, "a")
    assert slow.reached.wait(patience())
    assert pool.submit(added, store, PM_NESTED, "b").result(patience()) == 1
    assert pool.submit(store.maker.get_or_create, "feature", "pm", NESTED).result(patience()).id == PM_NESTED
    assert not first.done()
    slow.let_go()
    assert first.result(patience()) == 1


def test_nobody_who_asks_for_one_waits_for_another_that_somebody_asked_for(
    store: Store, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = held(monkeypatch, opening, "open_journal", PM)
    first = pool.submit(store.maker.get_or_create, "feature", "pm", FEATURE)
    assert slow.reached.wait(patience())
    assert pool.submit(store.maker.get_or_create, "feature", "pm", NESTED).result(patience()).id == PM_NESTED
    slow.let_go()
    assert first.result(patience()).id == PM


def test_nobody_waits_for_a_migration_into_another_session(
    tmp_path: Path, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "p").make()
    write(place.flat / "chat.json", chat("a", "b"))
    with place.store() as store:
        store.maker.get_or_create("feature", "pm", NESTED).leave()
        slow = held(monkeypatch, journals, "create", PM)
        migrating = pool.submit(migration.run, store, store.catalogue.feature(FEATURE), Settings())
        assert slow.reached.wait(patience())
        assert pool.submit(added, store, PM_NESTED, "b").result(patience()) == 1
        made = pool.submit(store.maker.get_or_create, "feature", "dev", NESTED)
        assert made.result(patience()).id == f"dev-feature-{NESTED}", "making one waits neither"
        assert not migrating.done()
        slow.let_go()
        assert [file.action for file in migrating.result(patience())] == ["create"]


def test_one_that_several_ask_for_is_opened_once(
    store: Store, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = held(monkeypatch, opening, "open_journal", PM)
    asked: list[Future[int]] = [pool.submit(added, store, PM, name) for name in "abc"]
    assert slow.reached.wait(patience())
    slow.let_go()
    assert sorted(each.result(patience()) for each in asked)[-1] == 3
    assert slow.times == 1


def test_closing_waits_for_what_is_being_opened(
    store: Store, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a session would write while another process has the project's lock."""
    slow = held(monkeypatch, opening, "open_journal", PM)
    first = pool.submit(store.session, PM)
    assert slow.reached.wait(patience())
    closing = pool.submit(store.close)
    with pytest.raises(NotFound):
        while True:  # until it has begun to close
            store.session(PM_NESTED)
    assert not closing.done()
    slow.let_go()
    closing.result(patience())
    assert first.result(patience()).closed
