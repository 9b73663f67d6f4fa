"""Signals that steer a daemon, handled between two steps of its main thread and never in the middle of one."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import threading
from collections.abc import Callable

_STOP = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """SIGTERM and SIGINT set `stopping`, SIGHUP calls `reload`; both happen in `wait`. A handler that set the event
    itself could deadlock: the main thread may be inside that event's own lock when the signal comes."""

    def __init__(self, reload: Callable[[], None]) -> None:
        self.stopping = threading.Event()
        self._reload = reload
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        handled = (*_STOP, signal.SIGHUP)
        self._before = {number: signal.signal(number, lambda _number, _frame: None) for number in handled}

    def wait(self, timeout: float | None = None) -> bool:
        """Until a signal was handled or the time is over; True when the daemon shall stop. Main thread only."""
        if not self.stopping.is_set() and select.select([self._reader], [], [], timeout)[0]:
            self._handle(set(self._reader.recv(4096)))
        return self.stopping.is_set()

    def stop(self) -> None:
        """As if SIGTERM had come; from any thread."""
        self._send(signal.SIGTERM)

    def wake(self) -> None:
        """Let `wait` end now; from any thread."""
        self._send(0)

    def _send(self, number: int) -> None:
        with contextlib.suppress(BlockingIOError):  # full of signals: it wakes all the same
            self._writer.send(bytes([number]))

    def close(self) -> None:
        """From here on the signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        self._reader.close()
        self._writer.close()

    def _handle(self, numbers: set[int]) -> None:
        if numbers & set(_STOP):
            self.stopping.set()
        elif signal.SIGHUP in numbers:
            self._reload()
