"""Time that passes when the test says so: nothing waits, and what is done is done in the same order each time."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

from dagentd.adapters import clock
from dagentd.store.sessions import resources
from dagentd.store.store import Store

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


class Time:
    """`wall` may jump; what waits goes by `since`, which only grows."""

    def __init__(self, since: float = 1000.0, wall: datetime = BEGIN) -> None:
        self.since, self.wall = since, wall

    def pass_by(self, seconds: float) -> None:
        self.since += seconds
        self.wall += timedelta(seconds=seconds)

    def now(self) -> datetime:
        self.wall += timedelta(milliseconds=1)  # nothing takes no time
        return self.wall

    def begin(self) -> None:
        """From now on all of dagentd in this process goes by it, and what a thread would write is written by
        whoever lets it."""
        clock.now = self.now
        clock.monotonic = clock.uptime = lambda: self.since
        time.sleep = lambda seconds: self.pass_by(float(seconds))
        vars(resources)["threading"] = SimpleNamespace(Condition=partial(_Waiting, self), Thread=_Later)

    def let_write(self, store: Store, until: float = 0.0) -> None:
        """Documents that are due by then are written, each in its moment."""
        end = self.since + until
        held = store._projector
        while held._due and min(held._due.values()) <= end:
            self.pass_by(max(0.0, min(held._due.values()) - self.since))
            held._turn()
        self.pass_by(max(0.0, end - self.since))


class _Later:
    """A thread that begins when somebody waits for its end."""

    def __init__(self, target: Callable[[], None], **_: Any) -> None:
        self._target = target

    def start(self) -> None:
        pass

    def join(self) -> None:
        self._target()


class _Waiting:
    def __init__(self, time: Time) -> None:
        self._time = time

    def __enter__(self) -> _Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def notify(self) -> None:
        pass

    def wait(self, seconds: float | None) -> None:
        assert seconds is not None, "nobody is there who could wake it"
        self._time.pass_by(seconds)
