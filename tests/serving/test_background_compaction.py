"""Compaction beside all other work: no call too many, whatever cannot be compacted and whoever writes meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.jobs.compaction import asking
from dagentd.serving.background_compaction import BackgroundCompaction
from dagentd.serving.maintenance import Maintenance
from dagentd.settings import Settings
from dagentd.store.ledger import Ledger
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from dagentd.worker import Worker
from tests import messages_api as api_of
from tests.e2e.daemon import until
from tests.jobs.compaction.conversing import add, answering, directly, with_budget, with_compaction
from tests.messages_api import MessagesApi, Reply, slow
from tests.patience import patience
from tests.store.place import FEATURE, Place

WORDS = "We talked about the weather and the colour of the sky for a good while. " * 4


class Kept:
    """A project that is kept up, and a model that answers at once."""

    def __init__(self, store: Store, api: MessagesApi, bugs: list[BaseException]) -> None:
        self.store, self.api = store, api
        self.session: Session = store.maker.get_or_create("feature", "pm", FEATURE)
        self.settings = with_budget(with_compaction(Settings(), keep_recent_tokens=0), limit=4000, prompt_buffer=100)
        self._worker = Worker(1, clock.stamp, bugs.append)
        maintenance = Maintenance(self._worker, lambda _: self.settings)
        maintenance.take_up(store)
        self.compacting = BackgroundCompaction(maintenance, lambda _: self.settings, Ledger(None), bugs.append)
        self.weighing = self.compacting.budget

    def close(self) -> None:
        self.compacting._calls.drain(10)
        self._worker.drain(10)

    def fill(self, count: int = 40) -> list[str]:
        said = [{"role": "user", "content": f"{number}: {WORDS}"} for number in range(count)]
        return [str(one["id"]) for one in self.session.add(said)]

    def weigh(self) -> None:
        """And wait until all that comes of it is done."""
        self.weighing.weigh(self.store, self.session.folder)
        self.settle()

    def settle(self) -> None:
        workers = (self._worker, self.compacting._calls)
        until(lambda: not any(any(worker.status()[kind] for kind in ("queues", "running")) for worker in workers))

    @property
    def history(self) -> list[dict[str, Any]]:
        """What the ledger has of it."""
        return self.compacting.compactor.ledger.of_session(str(self.session.project.root), self.session.id)

    @property
    def problems(self) -> list[str]:
        return [problem.message for problem in self.compacting.problems()]


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def kept(tmp_path: Path, api: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setattr(asking, "chosen", lambda _: directly(api))
    bugs: list[BaseException] = []
    with Place(tmp_path / "place").make().store() as store:
        made = Kept(store, api, bugs)
        yield made
        made.close()
    assert bugs == []


def test_a_checkpoint_that_is_too_large_by_itself_is_compacted_as_far_as_it_goes(kept: Kept, api: MessagesApi) -> None:
    wanted = [f"Write the documentation of part {number}" for number in range(60)]
    kept.session.update_checkpoint({"summary": {"pending": wanted}})
    kept.settings = with_compaction(kept.settings, checkpoint_tokens=300)
    api.always(answering())
    kept.fill()
    kept.weigh()
    assert (kept.problems, kept.session.chat(), len(api.calls())) == ([], [], 1)
    assert 0 < len((kept.session.checkpoint() or {})["summary"]["pending"]) < 60


def test_chat_that_is_pinned_is_told_and_costs_nothing(kept: Kept, api: MessagesApi) -> None:
    for one in kept.fill():
        kept.session.pin(message=one)
    kept.weigh()
    assert [told for told in kept.problems if "pinned" in told]
    assert (len(kept.session.chat()), api.calls()) == (40, [])


@pytest.mark.parametrize("mended", ["unpinned", "settings", "more room", "cleared"])
def test_what_the_user_mended_is_tried_at_once_and_told_no_more(kept: Kept, api: MessagesApi, mended: str) -> None:
    ids = kept.fill()
    for one in ids:
        kept.session.pin(message=one)
    kept.weigh()
    assert kept.problems
    api.always(answering())
    if mended == "unpinned":
        for one in ids:
            kept.compacting.pin(kept.store, kept.session, message=one, pinned=False)
        kept.settle()
        assert len(kept.session.chat()) < 40
    elif mended == "settings":
        for one in ids[1:]:
            kept.session.pin(message=one, pinned=False)
        kept.settings = with_compaction(kept.settings, keep_recent_tokens=10)
        kept.weigh()
        assert len(kept.session.chat()) == 1
    elif mended == "more room":
        kept.settings = with_budget(kept.settings, limit=1_000_000)
        kept.weighing.weigh_some(kept.store, [kept.session.folder])
    else:
        kept.session.clear()
        kept.weighing.changed(kept.store, kept.session)
        kept.settle()
    assert kept.problems == []


def test_an_undo_takes_back_what_was_told_of_the_compaction(kept: Kept, api: MessagesApi) -> None:
    """There is nothing left that `compact --again` could do again."""
    api.always(api_of.BROKEN)
    kept.fill()
    kept.weigh()
    assert [told for told in kept.problems if told.startswith("anthropic: ")]
    kept.compacting.undo(kept.session)
    assert (kept.problems, len(kept.session.chat())) == ([], 40)


def test_parts_that_were_shortened_are_told_of_no_more(kept: Kept) -> None:
    kept.session.replace("context", {"claudeMd": "Rule: be brief. " * 2000})
    kept.fill(1)
    kept.weigh()
    assert [problem.message for problem in kept.weighing.problems()]
    kept.session.replace("context", {"claudeMd": "Be brief."})
    kept.weighing.weigh_some(kept.store, [kept.session.folder])
    kept.settle()
    assert kept.weighing.problems() == []


def test_whoever_rewrites_the_session_all_the_time_costs_two_calls_and_not_thirty(kept: Kept, api: MessagesApi) -> None:
    numbers = iter(range(100))

    def answer(_: Any) -> Reply:
        kept.session.update_checkpoint({"summary": {"decisions": [f"number {next(numbers)}"]}})
        return answering()

    api.always(answer)
    kept.fill()
    kept.weigh()
    assert len(api.calls()) == 2
    assert (kept.session.checkpoint() or {})["backend"] == "local"
    assert (kept.session.chat(), kept.problems) == ([], [])


# --- a request that waits -----------------------------------------------------------------------------------------


def test_below_the_limit_a_request_does_not_wait_for_a_model(kept: Kept, api: MessagesApi) -> None:
    """It gets what there is; the compaction goes on beside it, and is seen while it lasts."""
    api.always(slow(60, answering(add("The weather", "m1", to="completed"))))
    kept.settings = with_budget(kept.settings, limit=4000, threshold=0.5, prompt_buffer=100)
    kept.fill(20)
    full = kept.weighing.fullness(kept.store, kept.session)
    assert full.due and full.load < full.limit
    kept.compacting.make_room(kept.store, kept.session)
    assert len(kept.session.chat()) == 20
    api.await_calls(1)
    (under_way,) = kept.compacting.under_way()
    assert (under_way["sessionId"], under_way["project"]) == (kept.session.id, str(kept.store.project.root))
    kept.compacting.make_room(kept.store, kept.session)
    api.release()
    kept.settle()
    assert (kept.session.checkpoint() or {})["backend"] == "anthropic"
    assert (len(api.calls()), kept.compacting.under_way()) == (1, [])


def test_at_the_limit_it_waits_a_little_and_the_late_answer_takes_the_place(
    kept: Kept, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one step back, and nothing that came meanwhile is lost."""
    monkeypatch.setattr("dagentd.serving.background_compaction._SOON", 0.2)
    api.always(slow(60, answering(add("The weather", "m1", to="completed"))))
    before = kept.fill()
    kept.compacting.make_room(kept.store, kept.session)
    assert (kept.session.checkpoint() or {})["backend"] == "local"
    assert len(kept.compacting.under_way()) == 1, "the model is still asked"
    later = kept.fill(1)
    api.release()
    kept.settle()
    checkpoint = kept.session.checkpoint() or {}
    assert (checkpoint["backend"], checkpoint["summary"]["completed"]) == ("anthropic", ["The weather"])
    assert [one["id"] for one in kept.session.chat()] == later
    assert [each["outcome"] for each in kept.history] == ["done", "done"]
    kept.compacting.undo(kept.session)
    assert [one["id"] for one in kept.session.chat()] == [*before, *later]


def test_a_long_prompt_counts(kept: Kept, api: MessagesApi) -> None:
    api.always(answering())
    kept.settings = with_budget(kept.settings, limit=4000, threshold=0.5, prompt_buffer=100)
    kept.fill(20)
    kept.compacting.make_room(kept.store, kept.session, WORDS * 20)
    assert kept.session.chat() == []


def test_a_late_answer_to_what_was_undone_is_discarded_and_the_ledger_says_so(
    kept: Kept, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dagentd.serving.background_compaction._SOON", 0.2)
    api.always(slow(60, answering(add("The weather", "m1", to="completed"))))
    kept.fill()
    kept.compacting.make_room(kept.store, kept.session)
    kept.settings = with_budget(kept.settings, limit=100_000)
    kept.compacting.undo(kept.session)
    api.release()
    kept.settle()
    assert len(kept.session.chat()) == 40
    assert [each["outcome"] for each in kept.history] == ["done", "undone", "discarded"]


def test_an_undo_is_in_the_log(kept: Kept, api: MessagesApi, caplog: pytest.LogCaptureFixture) -> None:
    api.always(answering())
    kept.fill()
    kept.weigh()
    with caplog.at_level("INFO"):
        kept.compacting.undo(kept.session)
    assert "compaction undone, 40 messages are back" in caplog.text


def test_a_request_that_waited_too_long_does_not_compact_what_came_later(
    kept: Kept, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was done without a model meanwhile; when its turn comes at last, nothing is due any more."""
    free = threading.Event()
    monkeypatch.setattr("dagentd.serving.background_compaction._SOON", 0.05)
    for number in range(3):  # all threads are busy with others
        kept.compacting._calls.ask(f"other {number}", "wait", lambda: free.wait(patience()))
    kept.fill()
    kept.compacting.make_room(kept.store, kept.session)
    assert (kept.session.checkpoint() or {})["backend"] == "local"
    later = kept.fill(1)
    free.set()
    kept.weigh()
    assert [one["id"] for one in kept.session.chat()] == later
    assert api.calls() == []


def test_who_asks_waits_for_as_long_as_the_settings_let_a_model_take(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dagentd.serving.background_compaction._MORE", 0.0)
    waits: list[float] = []

    def result(_: Future[Any], timeout: float) -> dict[str, Any]:
        waits.append(timeout)
        return {}

    monkeypatch.setattr(Future, "result", result)
    for timeout in (300, 3600):
        kept.settings = with_compaction(kept.settings, timeout=timeout)
        kept.compacting.compact(kept.store, kept.session.folder)
    assert waits == [600, 7200]


def test_a_session_that_is_removed_during_the_call_takes_its_problem_with_it(kept: Kept, api: MessagesApi) -> None:
    kept.session.update_checkpoint({"summary": {"pending": [f"Write part {number}" for number in range(60)]}})
    kept.settings = with_compaction(kept.settings, checkpoint_tokens=300)

    def answer(_: Any) -> Reply:
        for path in kept.session.folder.path.iterdir():
            path.unlink()
        return answering(add("The weather", "m1"))

    api.always(answer)
    kept.fill()
    kept.weigh()
    assert (kept.problems, list(kept.session.folder.path.iterdir())) == ([], [])
