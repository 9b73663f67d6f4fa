"""Waiting for another program: who may wait sleeps, a worker comes again later. It has others to serve, and five files
that were being written made a commit known ten seconds late. And waiting for each other: who has the right of way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

_LONGEST = 0.02  # seconds that a piece of work waits at the most: it is done in the end, whoever asks
_STREAM = 0.005  # seconds within which one request follows another
_WORK, _REST, _LOOK = 0.0005, 0.004, 0.001  # seconds of work, of rest after it while they do, and until it looks again


class NotYet(Exception):
    """A job has to wait for something that is not ready: look again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not yet, look again in {seconds:.3f} s")
        self.seconds = seconds


class _Here(threading.local):
    rested = -inf  # when it last left the interpreter to those who might ask
    again: float | None = None  # in a worker: the seconds after which its job is to be done again, inf if it is not


_here = _Here()


def pause(seconds: float) -> None:
    """Before one more look. In a worker `NotYet` instead: its job ends, and is done again then from its beginning."""
    if _here.again is not None:
        raise NotYet(seconds)
    time.sleep(seconds)


@contextmanager
def apart() -> Iterator[None]:
    """Around one of several: if it must wait, a worker goes on with the others, and does all of them again then."""
    try:
        yield
    except NotYet as later:
        if _here.again is None:
            raise
        _here.again = min(_here.again, later.seconds)


def patiently(job: Callable[[], T]) -> T:
    """For what must not sleep where it stands, because others wait for it there."""
    while True:
        try:
            return job()
        except NotYet as later:
            pause(later.seconds)


def by_worker(job: Callable[[], T]) -> T:
    """Do it without waiting for anything; `NotYet` if it, or one of its parts, is to be done again."""
    _here.again = inf
    try:
        value = job()
        if _here.again < inf:
            raise NotYet(_here.again)
        return value
    finally:
        _here.again = None


@dataclass(eq=False)
class RightOfWay:
    """Who asks over the socket is waited for by somebody, who works behind it is not. Both need the interpreter, which
    one thread has at a time, and a thread that wants it back after each of its system calls waits for as long as the
    other one may keep it."""

    _asking: set[int] = field(default_factory=set)  # threads
    _left: float = -inf  # when the last of them was done

    def __enter__(self) -> None:
        """Somebody asks for what takes no time."""
        self._asking.add(threading.get_ident())

    def leave(self, *_: object) -> None:
        """It is done, or takes time after all. Nobody is woken: two threads that wake after each answer made the next
        request wait for as long as its write to the disk took."""
        self._asking.discard(threading.get_ident())
        self._left = monotonic()

    __exit__ = leave

    def give(self) -> None:
        """Let those pass who ask just now; whoever does so needs not wait for itself. Who has just been answered may
        ask again, and is not heard before its thread has the interpreter."""
        if threading.get_ident() in self._asking:
            return
        now = monotonic()
        if self._asking or (now - self._left < _STREAM and now - _here.rested > _WORK):
            end = now + _LONGEST
            time.sleep(_REST)
            while self._asking and monotonic() < end:
                time.sleep(_LOOK)
            _here.rested = monotonic()

    def behind(self, pieces: Iterable[T]) -> Iterator[T]:
        """Work that is done piece by piece, each behind those who ask."""
        for piece in pieces:
            self.give()
            yield piece


right_of_way = RightOfWay()
