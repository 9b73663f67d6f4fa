"""Runs jobs in threads: one after the other for a key, beside each other for different keys. It knows no job."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, TypeVar

from dagentd.errors import DagentdError, LimitReached, NotAllowed, NotFound, expected
from dagentd.model.problem import Problem
from dagentd.waiting import NotYet, by_worker

MAX_WAITING = 10_000
MAX_TRIES = 8  # in a row, over two minutes; then parked, and each new request gets one
FIRST_DELAY = 1.0  # seconds, doubled with each failure in a row
LONGEST_DELAY = 60.0

T = TypeVar("T")


@dataclass(eq=False)
class _Request:
    key: str
    name: str
    job: Callable[[], object]
    answer: Future[Any] | None  # None: nobody waits, so a failure is ours to record and to try again
    due: float = -inf
    forgotten: bool = False

    @property
    def place(self) -> tuple[str, str, bool]:
        """Equal for equal requests."""
        return self.key, self.name, self.answer is not None

    def tell(self, value: object, error: BaseException | None) -> None:
        if self.answer is not None:
            self.answer.set_result(value) if error is None else self.answer.set_exception(error)


@dataclass(frozen=True)
class _Failure:
    problem: Problem
    tries: int


@dataclass
class _Trouble:
    """The failures for one key. All of it is left alone until `due`, but for what somebody waits for."""

    failures: dict[str, _Failure] = field(default_factory=dict)
    due: float = -inf

    def add(self, request: _Request, error: DagentdError, now: float, stamp: str) -> bool:
        """Whether to try again."""
        known = self.failures.get(request.name)
        tries, since = (min(known.tries + 1, MAX_TRIES), known.problem.since) if known else (1, stamp)
        problem = Problem(f"job-{request.name}", error.message, error.path or request.key, error.hint, since)
        self.failures[request.name] = _Failure(problem, tries)
        self.due = now + min(FIRST_DELAY * 2 ** (tries - 1), LONGEST_DELAY)
        return tries < MAX_TRIES


class Worker:
    def __init__(
        self,
        threads: int,
        stamp: Callable[[], str],
        on_bug: Callable[[BaseException], object],
        clock: Callable[[], float] = time.monotonic,
        for_askers: int = 0,
        may_wait: bool = False,
    ) -> None:
        """`for_askers` more threads do only what somebody waits for. Where there are such, all others do that first
        too, so that it never queues behind all the rest. A job that must wait for another program ends and is run again
        later, from its beginning; those that `may_wait` are too dear for that."""
        self._stamp, self._on_bug, self._clock, self._may_wait = stamp, on_bug, clock, may_wait
        self._changed = threading.Condition()
        self._waiting: dict[tuple[str, str, bool], _Request] = {}  # in the order of their turns
        self._running: dict[str, _Request] = {}
        self._trouble: dict[str, _Trouble] = {}
        self.done = 0  # jobs, since the start
        self._stopping = False
        self._askers_first = for_askers > 0
        kinds = [False] * threads + [True] * for_askers
        self._threads = [
            threading.Thread(target=self._run, args=(asked,), name=f"worker-{n}", daemon=True)
            for n, asked in enumerate(kinds)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, key: str, name: str, job: Callable[[], object], after: float = 0.0) -> None:
        """Run it in its turn and, if it fails, some more times. An equal one that still waits does for both. `after` so
        many seconds: a job that would have to wait for something ends, and is submitted again."""
        with self._changed:
            if not self._stopping:
                self._add(_Request(key, name, job, None, self._clock() + after if after else -inf))

    def ask(self, key: str, name: str, job: Callable[[], T]) -> Future[T]:
        """Run it in its turn and once, however the key fares: who asked is told of the failure and decides."""
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()  # none of those who share it can cancel it for the others
        with self._changed:
            if self._stopping:
                raise _stopped()
            return self._add(_Request(key, name, job, answer)).answer or answer

    def forget(self, key: str) -> None:
        """The feature is gone, and with it what waits for it and what was wrong with it."""
        with self._changed:
            dropped = [self._waiting.pop(place) for place in list(self._waiting) if place[0] == key]
            self._trouble.pop(key, None)
            if key in self._running:
                self._running[key].forgotten = True
        _refuse(dropped, _removed(key))

    def finished(self, keys: Collection[str], timeout: float) -> bool:
        """Wait until nothing runs for these keys; False if that takes too long."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(key in self._running for key in keys), timeout)

    def status(self) -> dict[str, list[dict[str, Any]]]:
        with self._changed:
            queues: dict[str, list[str]] = {}
            for request in self._waiting.values():
                queues.setdefault(request.key, []).append(request.name)
            return {
                "queues": [{"key": key, "waiting": names} for key, names in queues.items()],
                "running": [{"key": request.key, "name": request.name} for request in self._running.values()],
                "failing": self._failing(self._clock()),
            }

    def drain(self, timeout: float) -> bool:
        """Finish what runs, drop what waits: the next start finds it again. False: something runs for longer."""
        with self._changed:
            self._stopping = True
            dropped, self._waiting = list(self._waiting.values()), {}
            self._changed.notify_all()
        _refuse(dropped, _stopped())
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _add(self, request: _Request) -> _Request:
        known = self._waiting.get(request.place)
        if known is not None:
            if request.due < known.due:
                known.due = request.due
                self._changed.notify_all()
            return known
        if len(self._waiting) >= MAX_WAITING:
            raise LimitReached(f"{MAX_WAITING} jobs are waiting", hint="Look at `dagentd status`, and try again later.")
        self._waiting[request.place] = request
        self._changed.notify_all()  # not each thread may take it
        return request

    def _run(self, asked: bool) -> None:
        while (request := self._next(asked)) is not None:
            self._perform(request)
            del request  # an idle thread keeps nothing alive

    def _next(self, asked: bool) -> _Request | None:
        """With `asked` only of what somebody waits for."""
        with self._changed:
            while not self._stopping:
                now, soonest = self._clock(), inf
                waiting = [each for each in self._waiting.values() if each.answer is not None or not asked]
                if self._askers_first:
                    waiting.sort(key=lambda request: request.answer is None)
                for request in waiting:
                    if request.key in self._running:
                        continue
                    trouble = self._trouble.get(request.key) if request.answer is None else None
                    ready = request.due if trouble is None else max(request.due, trouble.due)
                    if ready <= now:
                        self._running[request.key] = self._waiting.pop(request.place)
                        return request
                    soonest = min(soonest, ready)
                self._changed.wait(None if soonest == inf else soonest - now)
        return None

    def _perform(self, request: _Request) -> None:
        value, error = None, None
        try:
            value = request.job() if self._may_wait else by_worker(request.job)
        except NotYet as later:
            self._put_off(request, later.seconds)
            return
        except BaseException as raised:  # even SystemExit: the thread has other keys to serve
            error = raised
        known = None if error is None else expected(error)
        with self._changed:
            del self._running[request.key]
            self.done += 1
            self._changed.notify_all()  # somebody may wait for its end, or to take what waits for this key
            if error is None and request.key in self._trouble:
                self._recover(request)
            elif known is not None and request.answer is None and not request.forgotten:
                self._back_off(request, known)
        if request.answer is not None:
            request.tell(value, error)
        if error is not None and known is None:
            error.add_note(f"in the job {request.name} of {request.key}")
            with contextlib.suppress(Exception):
                self._on_bug(error)

    def _put_off(self, request: _Request, seconds: float) -> None:
        """To be run again then, or with an equal one that came meanwhile."""
        refused: DagentdError | None = None
        with self._changed:
            del self._running[request.key]
            if request.forgotten or self._stopping:
                refused = _removed(request.key) if request.forgotten else _stopped()
            else:
                request.due = self._clock() + seconds
                other = self._waiting.setdefault(request.place, request)
                if other is not request and other.answer is not None:
                    other.answer.add_done_callback(partial(_hand_on, request))
            self._changed.notify_all()
        if refused is not None:
            request.tell(None, refused)

    def _recover(self, request: _Request) -> None:
        failures = self._trouble[request.key].failures
        failures.pop(request.name, None)
        if not failures:
            del self._trouble[request.key]

    def _back_off(self, request: _Request, error: DagentdError) -> None:
        trouble = self._trouble.setdefault(request.key, _Trouble())
        again = trouble.add(request, error, self._clock(), self._stamp())
        if again and not self._stopping:
            self._waiting.setdefault(request.place, request)
            self._changed.notify_all()  # whoever is still free then must know when to wake

    def _failing(self, now: float) -> list[dict[str, Any]]:
        """`retryIn` is None for what is parked until it is submitted again."""
        return [
            {
                **failure.problem.raw(),
                "key": key,
                "name": name,
                "tries": failure.tries,
                "retryIn": max(0.0, trouble.due - now) if (key, name, False) in self._waiting else None,
            }
            for key, trouble in self._trouble.items()
            for name, failure in trouble.failures.items()
        ]


def _stopped() -> DagentdError:
    return NotAllowed("dagentd is stopping", hint="Ask again when it runs: `dagentd start`.")


def _removed(key: str) -> DagentdError:
    return NotFound("it was removed while a request waited", path=key, hint="dagentd sessions --gone")


def _hand_on(request: _Request, answer: Future[Any]) -> None:
    error = answer.exception()
    request.tell(None if error else answer.result(), error)


def _refuse(requests: Iterable[_Request], error: DagentdError) -> None:
    for request in requests:
        request.tell(None, error)
