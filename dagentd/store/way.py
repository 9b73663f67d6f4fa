"""Who has the way: whoever adds messages is waited for by somebody, whoever writes documents is not."""

from __future__ import annotations

import threading

_LONGEST = 0.02  # seconds that a piece of a document waits at the most: they are written in the end, whoever adds


class Way:
    """Of one process: both need the interpreter, which one thread has at a time, and a thread that wants it back after
    each of its system calls waits for as long as the other one may keep it."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._adding = 0

    def __enter__(self) -> None:
        """Somebody adds."""
        with self._changed:
            self._adding += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._adding -= 1
            if not self._adding:
                self._changed.notify_all()

    def give(self) -> None:
        """Let those pass who add just now."""
        if self._adding:
            with self._changed:
                self._changed.wait_for(lambda: not self._adding, _LONGEST)


way = Way()
