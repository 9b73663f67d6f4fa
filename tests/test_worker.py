"""Jobs of one key never overlap and none is forgotten; what fails is left in peace, and given up in the end."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from dagentd import waiting
from dagentd import worker as module
from dagentd.errors import Conflict, DagentdError, LimitReached, NotAllowed, NotFound
from dagentd.waiting import NotYet
from dagentd.worker import Worker
from tests.patience import patience

Make = Callable[..., Worker]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """A job that tells when it runs, and runs until it is let go."""

    def __init__(self) -> None:
        self.entered, self.open = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        assert self.open.wait(patience())
        return "through"


class Failing:
    """A job that raises what it is given, turn by turn, and then succeeds."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.runs = list(errors), 0

    def __call__(self) -> str:
        self.runs += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@pytest.fixture
def bugs() -> Queue[BaseException]:
    return Queue()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(bugs: Queue[BaseException], clock: Clock) -> Iterator[Make]:
    made: list[Worker] = []

    def make(threads: int = 1, clock: Callable[[], float] = clock, for_askers: int = 0) -> Worker:
        stamps = itertools.count(1)  # no generator: two threads that ask one at once are an error
        made.append(Worker(threads, lambda: f"stamp {next(stamps)}", bugs.put, clock, for_askers))
        return made[-1]

    yield make
    assert all(worker.drain(patience()) for worker in made)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("worker-")]
    assert bugs.empty()


def look(worker: Worker) -> None:
    """Returns when the only thread has done all that was due: it takes what waited longest first."""
    worker.ask("another key", "look", lambda: None).result(patience())


def failing(worker: Worker) -> dict[str, Any]:
    look(worker)
    (found,) = worker.status()["failing"]
    return found


def test_who_asks_gets_the_result_or_the_error(make: Make) -> None:
    worker = make()
    assert worker.ask("a", "count", lambda: 42).result(patience()) == 42
    with pytest.raises(NotFound, match="no such thing"):
        worker.ask("a", "find", Failing(NotFound("no such thing"))).result(patience())
    assert worker.status() == {"queues": [], "running": [], "failing": []}


def test_one_key_is_served_in_order(make: Make) -> None:
    worker, gate, order = make(threads=3), Gate(), Queue[str]()
    worker.submit("a", "first", gate)
    assert gate.entered.wait(patience())
    worker.submit("a", "second", lambda: order.put("second"))
    last = worker.ask("a", "third", lambda: order.put("third"))
    worker.ask("b", "meanwhile", lambda: order.put("meanwhile")).result(patience())
    assert worker.status() == {
        "queues": [{"key": "a", "waiting": ["second", "third"]}],
        "running": [{"key": "a", "name": "first"}],
        "failing": [],
    }
    gate.open.set()
    last.result(patience())
    assert [order.get(), order.get(), order.get()] == ["meanwhile", "second", "third"]


def test_different_keys_run_beside_each_other(make: Make) -> None:
    worker, meeting = make(threads=2), threading.Barrier(2)
    answers = [worker.ask(key, "meet", lambda: meeting.wait(patience())) for key in ("a", "b")]
    assert {answer.result(patience()) for answer in answers} == {0, 1}


def test_who_asks_does_not_queue_behind_what_nobody_waits_for(make: Make) -> None:
    worker, long, asked, later = make(1, for_askers=1), Gate(), Gate(), threading.Event()
    worker.submit("a", "long", long)
    assert long.entered.wait(patience())
    answer = worker.ask("b", "asked", asked)
    assert asked.entered.wait(patience())
    worker.submit("b", "later", later.set)  # not by the thread for askers, and not beside what runs for the key
    long.open.set()
    look(worker)
    assert not later.is_set()
    asked.open.set()
    assert answer.result(patience()) == "through"
    assert later.wait(patience())


def test_who_asks_comes_before_all_that_nobody_waits_for_when_all_threads_are_busy(make: Make) -> None:
    """Also where another one who asked has the thread for askers: behind a hundred others he would wait for hours."""
    worker, long, first, order = make(1, for_askers=1), Gate(), Gate(), Queue[str]()
    worker.submit("a", "long", long)
    assert long.entered.wait(
        patience()
    )  # or the thread for all took the first one who asks, and none was left for this
    worker.ask("b", "first", first)
    assert first.entered.wait(patience())
    for number in range(3):
        worker.submit(f"other {number}", "by itself", partial(order.put, "by itself"))
    second = worker.ask("c", "second", partial(order.put, "second"))
    long.open.set()
    second.result(patience())
    assert order.get() == "second"
    first.open.set()


def test_equal_requests_that_wait_are_one_and_the_running_one_is_not_theirs(make: Make) -> None:
    worker, gate, runs = make(threads=2), Gate(), Queue[str]()
    worker.submit("a", "scan", gate)
    assert gate.entered.wait(patience())
    for each in ("one", "two", "three"):
        worker.submit("a", "scan", partial(runs.put, each))
    first, same = (worker.ask("a", "scan", object) for _ in range(2))
    assert same is first
    assert not first.cancel()  # the other one still waits for it
    gate.open.set()
    first.result(patience())
    assert worker.ask("a", "scan", object) is not first
    assert runs.get() == "one"
    assert runs.empty()


def test_a_failure_is_shown_and_tried_again_when_it_is_due(make: Make, clock: Clock) -> None:
    worker, job = make(), Failing(Conflict("is busy", hint="Wait."), Conflict("is still busy", path="/a/file"))
    worker.submit("/a", "scan", job)
    found = failing(worker)
    assert found == {
        "id": "job-scan",
        "message": "is busy",
        "path": "/a",
        "hint": "Wait.",
        "since": "stamp 1",
        "key": "/a",
        "name": "scan",
        "tries": 1,
        "retryIn": 1.0,
    }
    clock.now = 0.9
    look(worker)
    assert job.runs == 1
    clock.now = 1.0
    found = failing(worker)
    assert (found["message"], found["path"], found["since"]) == ("is still busy", "/a/file", "stamp 1")
    clock.now = 3.0
    look(worker)
    assert job.runs == 3
    assert worker.status()["failing"] == []


def test_a_request_that_came_during_a_failing_run_is_the_retry(make: Make, clock: Clock) -> None:
    worker, gate, older, newer = make(), Gate(), Failing(Conflict("is busy")), Failing()
    worker.submit("a", "scan", lambda: gate() and older())
    assert gate.entered.wait(patience())
    worker.submit("a", "scan", newer)
    gate.open.set()
    assert failing(worker)["retryIn"] == 1.0
    clock.now = 1.0
    look(worker)
    assert (older.runs, newer.runs) == (1, 1)


def test_what_the_system_refuses_is_a_failure_and_no_bug(make: Make) -> None:
    worker = make()
    worker.submit("/a", "scan", Failing(OSError(28, "No space left on device", "/a/file")))
    found = failing(worker)
    assert (found["message"], found["path"]) == ("the disk is full", "/a/file")
    assert found["hint"]


def test_nothing_is_retried_for_ever(make: Make, clock: Clock) -> None:
    worker, job = make(), Failing(*(Conflict("is busy") for _ in range(9)))
    worker.submit("a", "scan", job)
    delays = []
    while (delay := failing(worker)["retryIn"]) is not None:
        delays.append(delay)
        clock.now += delay
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    clock.now += 1_000_000
    look(worker)
    assert job.runs == failing(worker)["tries"] == 8  # parked
    worker.submit("a", "scan", job)
    assert (failing(worker)["retryIn"], job.runs) == (None, 9)  # one more try, parked again
    worker.submit("a", "scan", job)
    assert (failing(worker)["retryIn"], job.runs) == (60.0, 9)  # a storm of requests is no storm of tries
    clock.now += 60
    look(worker)
    assert worker.status()["failing"] == []


def test_a_key_that_fails_is_left_alone_but_for_what_somebody_waits_for(make: Make, clock: Clock) -> None:
    worker, job, other = make(), Failing(Conflict("is busy")), Failing()
    worker.submit("a", "scan", job)
    look(worker)
    worker.submit("a", "other", other)
    assert worker.ask("a", "third", lambda: "at once").result(patience()) == "at once"
    assert (failing(worker)["name"], other.runs) == ("scan", 0)
    clock.now = 1.0
    look(worker)
    assert (job.runs, other.runs) == (2, 1)


def test_the_success_of_another_job_does_not_hide_a_failure(make: Make, clock: Clock) -> None:
    worker = make()
    for name in ("scan", "context"):
        worker.submit("a", name, Failing(*(Conflict(name) for _ in range(3))))
    clock.now = 1.0
    look(worker)
    worker.ask("a", "scan", lambda: None).result(patience())
    assert failing(worker)["name"] == "context"


def test_a_bug_is_reported_and_not_retried(make: Make, bugs: Queue[BaseException], clock: Clock) -> None:
    worker, job = make(), Failing(ValueError("a bug"))
    worker.submit("a", "scan", job)
    reported = bugs.get(timeout=patience())
    assert (str(reported), reported.__notes__) == ("a bug", ["in the job scan of a"])
    with pytest.raises(SystemExit):
        worker.ask("a", "leave", Failing(SystemExit(1))).result(patience())
    assert isinstance(bugs.get(timeout=patience()), SystemExit)
    clock.now += 1_000
    look(worker)
    assert job.runs == 1
    assert worker.status()["failing"] == []


def test_a_thread_outlives_a_report_that_fails() -> None:
    worker = Worker(1, lambda: "", _cannot_report)
    worker.submit("a", "scan", Failing(ValueError("a bug")))
    look(worker)
    assert worker.drain(patience())


def _cannot_report(_: BaseException) -> None:
    raise OSError("the log is on a full disk")


def test_the_queue_has_an_end(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    worker, gate = make(), Gate()
    worker.submit("a", "scan", gate)
    assert gate.entered.wait(patience())
    for key in ("a", "b", "a", "b"):  # equal ones need no room
        worker.submit(key, "scan", Failing())
    for add in (worker.submit, worker.ask):
        with pytest.raises(LimitReached, match="2 jobs are waiting"):
            add("c", "scan", Failing())
    gate.open.set()


def test_stopping_finishes_what_runs_and_drops_what_waits(make: Make) -> None:
    worker, gate, dropped = make(threads=2), Gate(), Failing()
    running = worker.ask("a", "scan", gate)
    assert gate.entered.wait(patience())
    worker.submit("a", "scan", dropped)
    waiting = worker.ask("a", "look", dropped)
    assert not worker.drain(0.0)
    with pytest.raises(NotAllowed, match="stopping"):
        waiting.result(patience())
    with pytest.raises(NotAllowed, match="stopping"):
        worker.ask("b", "scan", dropped)
    worker.submit("b", "scan", dropped)
    gate.open.set()
    assert running.result(patience()) == "through"
    assert worker.drain(patience())
    assert dropped.runs == 0


def test_stopping_waits_for_no_retry(make: Make) -> None:
    worker, gate = make(), Gate()
    worker.submit("a", "scan", lambda: Failing(Conflict(gate()))())
    assert gate.entered.wait(patience())
    assert not worker.drain(0.0)
    gate.open.set()
    assert worker.drain(patience())
    assert worker.status()["queues"] == []


def test_a_feature_that_is_gone_is_forgotten(make: Make, clock: Clock) -> None:
    worker, gate, job = make(threads=2), Gate(), Failing(Conflict("is busy"))
    worker.submit("a", "fail", job)
    worker.submit("a", "look", Failing())
    running = Failing(Conflict("is gone"))
    worker.ask("a", "sync", object).result(patience())
    worker.submit("c", "scan", lambda: gate() and running())
    assert gate.entered.wait(patience())
    waiting = worker.ask("c", "look", object)
    for key in ("a", "c", "unknown"):
        worker.forget(key)
    with pytest.raises(NotFound, match="removed") as caught:
        waiting.result(patience())
    assert caught.value.hint
    gate.open.set()
    worker.ask("c", "sync", object).result(patience())
    clock.now += 1_000
    worker.ask("a", "sync", object).result(patience())
    assert worker.status() == {"queues": [], "running": [], "failing": []}
    assert (job.runs, running.runs) == (1, 1)


def test_threads_sleep_until_something_is_due(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = Queue[tuple[str, float | None]]()

    class Recording(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            waits.put((threading.current_thread().name, timeout))
            return super().wait()  # time stands still here

    last: dict[str, float | None] = dict.fromkeys(("worker-0", "worker-1"), -1.0)

    def all_sleep(timeout: float | None) -> None:
        """Each may be woken more than once, and finds nothing for it."""
        while set(last.values()) != {timeout}:
            name, until = waits.get(timeout=patience())
            last[name] = until

    monkeypatch.setattr(module, "threading", SimpleNamespace(Condition=Recording, Thread=threading.Thread))
    worker = make(threads=2)
    all_sleep(None)
    worker.submit("a", "scan", Failing())
    worker.ask("a", "sync", object).result(patience())  # it has run, or the next one would do for both
    worker.submit("a", "scan", Failing(Conflict("is busy")))
    all_sleep(1.0)
    worker.forget("a")
    look(worker)
    all_sleep(None)


def test_a_retry_comes_by_itself_while_another_key_keeps_a_thread_busy(make: Make) -> None:
    readings = itertools.count(step=0.999)  # it is later whenever somebody looks, so nobody waits for long
    worker, gate, retried = make(threads=2, clock=lambda: next(readings)), Gate(), threading.Event()

    def fail_once() -> None:
        if gate.entered.is_set():
            retried.set()
            return
        worker.submit("b", "long", gate)
        assert gate.entered.wait(patience())
        raise Conflict("is busy")

    worker.submit("a", "scan", fail_once)
    assert retried.wait(patience())
    gate.open.set()


class Schedule:
    """Random requests from several threads, each with a job of its own that notes when it ran."""

    def __init__(self, worker: Worker, seed: int) -> None:
        self.worker, self.seed = worker, seed
        self.tick = itertools.count()
        self.asked: dict[int, tuple[str, str, int]] = {}  # by number: key, name, when
        self.ran: list[tuple[int, int]] = []  # number, when
        self.busy: Counter[str] = Counter()
        self.overlaps: list[str] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self._ask, args=(random.Random(self.seed * 10 + n),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for key in "abcde":
            self.worker.ask(key, "the last", lambda: None).result(patience())

    def _ask(self, chance: random.Random) -> None:
        for _ in range(60):
            number, key, name = next(self.tick), chance.choice("abcde"), chance.choice("xyz")
            bug, pause = chance.random() < 0.1, chance.choice((0.0, 0.0, 0.0002))
            self.asked[number] = key, name, next(self.tick)
            self.worker.submit(key, name, partial(self._job, number, key, bug, pause))
            time.sleep(chance.choice((0.0, 0.0001)))

    def _job(self, number: int, key: str, bug: bool, pause: float) -> None:
        self.ran.append((number, next(self.tick)))
        self.busy[key] += 1
        if self.busy[key] > 1:
            self.overlaps.append(key)
        time.sleep(pause)
        self.busy[key] -= 1
        if bug:
            raise ValueError("a bug")


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_schedule_each_request_is_followed_by_a_run(
    seed: int, make: Make, bugs: Queue[BaseException]
) -> None:
    schedule = Schedule(make(threads=3), seed)
    schedule.run()
    assert schedule.overlaps == []
    runs = Counter(number for number, _ in schedule.ran)
    assert set(runs.values()) == {1}
    for number, (key, name, when) in schedule.asked.items():
        if number not in runs:  # merged: with an equal one that had not begun
            assert any(begun > when and schedule.asked[each][:2] == (key, name) for each, begun in schedule.ran)
    assert 0 < len(runs) <= len(schedule.asked)
    assert schedule.worker.drain(patience())
    while not bugs.empty():
        assert isinstance(bugs.get(), ValueError)


def test_many_wait_for_one_answer(make: Make) -> None:
    worker, gate = make(), Gate()
    worker.submit("a", "scan", gate)
    assert gate.entered.wait(patience())
    answers: list[Future[object]] = [worker.ask("a", "fail", Failing(DagentdError("no"))) for _ in range(100)]
    gate.open.set()
    assert {str(answer.exception(patience())) for answer in answers} == {"no"}


# --- what must wait ---------------------------------------------------------------------------------------------


def test_a_job_that_must_wait_leaves_its_thread_and_is_run_again(make: Make) -> None:
    worker, done = make(), threading.Event()
    slow = Failing(NotYet(0.001), NotYet(0.001))
    asked = worker.ask("a", "look", slow)
    worker.submit("b", "other", done.set)
    assert done.wait(patience()), "the only thread is free meanwhile"
    clock_goes_on(worker)
    assert asked.result(patience()) == "done" and slow.runs == 3
    assert worker.status()["failing"] == [], "to wait is no failure"


def test_one_of_several_that_must_wait_does_not_hold_up_the_others(make: Make) -> None:
    worker, seen = make(), list[str]()
    first = Failing(NotYet(0.001))

    def job() -> list[str]:
        with waiting.apart():
            seen.append(first())
        with waiting.apart():
            seen.append("second")
        return seen

    clock_goes_on(worker)
    assert worker.ask("a", "look", job).result(patience()) == ["second", "done", "second"]


def test_who_asked_for_what_must_wait_is_told_with_the_next_who_asks(make: Make) -> None:
    worker, entered, go = make(), threading.Event(), threading.Event()

    def job() -> str:
        entered.set()
        assert go.wait(patience())
        raise NotYet(1000)

    first = worker.ask("a", "look", job)
    assert entered.wait(patience())
    second = worker.ask("a", "look", lambda: "found")
    go.set()
    assert first.result(patience()) == second.result(patience()) == "found"


def test_what_waits_for_what_is_removed_is_refused(make: Make) -> None:
    worker, entered, go = make(), threading.Event(), threading.Event()

    def job() -> None:
        entered.set()
        assert go.wait(patience())
        raise NotYet(1000)

    asked = worker.ask("a", "look", job)
    assert entered.wait(patience())
    worker.forget("a")
    go.set()
    with pytest.raises(NotFound):
        asked.result(patience())


def test_whoever_may_wait_sleeps(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(waiting, "time", SimpleNamespace(sleep=slept.append))
    waiting.pause(3)
    found = Failing(NotYet(4))
    assert waiting.patiently(found) == "done" and slept == [3, 4]


def clock_goes_on(worker: Worker) -> None:
    worker._clock = time.monotonic
