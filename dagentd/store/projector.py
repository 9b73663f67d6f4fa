"""One thread that writes documents behind the journals, when they are due."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from dagentd.adapters import clock

_MOMENT = 0.02  # seconds


class Tended(Protocol):
    def tend(self, now: float) -> float | None:
        """Do what is due now; the time at which there is more to do, None if there is nothing."""

    @property
    def failing(self) -> bool:
        """What it had to do could not be done and waits for better times: nobody who stops waits for those."""

    @property
    def idle(self) -> bool:
        """What it has to do later can be done at any time: nobody who stops waits for it either."""


class Projector:
    def __init__(self, on_bug: Callable[[BaseException], None]) -> None:
        self._on_bug = on_bug
        self._due: dict[Tended, float] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="projector", daemon=True)
        self._thread.start()

    def soon(self, tended: Tended) -> None:
        """There is work. Cheap when it is already known. What failed may go well now, whatever it waits for. A moment
        later: who is told that a message is stored, and what is said next, come first."""
        if tended in self._due and not _can_wait(tended):
            return
        with self._changed:
            self._due[tended] = 0.0 if tended.failing else clock.monotonic() + _MOMENT
            self._changed.notify()

    def stop(self) -> None:
        """Finish what is due at any time and can be done, then end. What failed is tried once more, now."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while self._turn():
            pass

    def _turn(self) -> bool:
        """One after the other; in a function of its own, so that what is done is not held until the next is due."""
        if (found := self._next()) is None:
            return False
        tended, early = found
        try:
            due = tended.tend(clock.monotonic() + early)
        except Exception as bug:  # the others must still be served
            self._on_bug(bug)
            due = clock.monotonic() + 60 if not self._stopping else None
        with self._changed:
            if due is not None and not (early and _can_wait(tended)):
                self._due[tended] = min(due, self._due.get(tended, due))
        return True

    def _next(self) -> tuple[Tended, float] | None:
        """What is due, and by how many seconds it is early: what failed is tried a last time when we stop."""
        with self._changed:
            while True:
                now = clock.monotonic()
                tended = min(self._due, key=lambda each: self._due[each], default=None)
                if tended is not None and (self._due[tended] <= now or (self._stopping and _can_wait(tended))):
                    return tended, max(0.0, self._due.pop(tended) - now)
                if tended is None and self._stopping:
                    return None
                self._changed.wait(self._due[tended] - now if tended is not None else None)


def _can_wait(tended: Tended) -> bool:
    return tended.failing or tended.idle
