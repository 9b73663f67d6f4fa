"""Waiting for another program: whoever may wait sleeps, a worker comes again later. It has others to serve, and five
files that were being written made a commit known ten seconds late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeVar

T = TypeVar("T")


class NotYet(Exception):
    """What is to be read or done is not ready: look again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not yet, look again in {seconds:.3f} s")
        self.seconds = seconds


class _Here(threading.local):
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
