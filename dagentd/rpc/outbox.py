"""What waits to be sent on one connection: bounded, so that a client that does not read harms nobody."""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable

_ROOM = 1 << 20  # bytes that may wait; one longer line may wait alone
_PATIENCE = 60  # seconds in which a client must read something


class Closed(Exception):
    """The other side is gone, or did not read for too long."""


class Outbox:
    """Answers are sent at once by the thread that has them, unless events or late answers made a queue necessary:
    then one thread sends everything in order."""

    def __init__(self, connection: socket.socket, on_room: Callable[[], None]) -> None:
        self._connection, self._on_room = connection, on_room
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _PATIENCE, 0))
        self._lock = threading.RLock()  # itself, because a Condition's `with` is two calls of Python more
        self._changed = threading.Condition(self._lock)
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._refused = False
        self._closed = False
        self._sender: threading.Thread | None = None

    def answer(self, line: bytes) -> None:
        """Send it at once, or queue it without waiting: whoever reads the requests waits for room before the next."""
        with self._lock:
            if self._sender is None:
                self._send(line)
            elif not self._closed:  # else nobody wants it any more
                self._put(line)

    def wait_for_room(self) -> None:
        """Closed if there will be none."""
        if self._size > _ROOM:
            with self._changed:
                self._changed.wait_for(lambda: self._size <= _ROOM or self._closed)
        if self._closed:
            raise Closed

    def offer(self, line: bytes) -> bool:
        """Queue a line if there is room; never waits."""
        with self._changed:
            self._refused = bool(self._size) and self._size + len(line) > _ROOM
            if self._closed or self._refused:
                return False
            self._put(line)
            return True

    def queue(self) -> None:
        """From now on others than the reading thread send too."""
        with self._changed:
            if self._sender is None and not self._closed:
                self._sender = threading.Thread(target=self._run, name="rpc-send", daemon=True)
                self._sender.start()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._sender is not None and self._sender is not threading.current_thread():
            self._sender.join(_PATIENCE)

    def _put(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line)
        self._changed.notify_all()

    def _run(self) -> None:
        while (line := self._next()) is not None:
            try:
                self._send(line)
            except Closed:
                return
            with self._changed:
                self._size -= len(line)
                self._changed.notify_all()
                room = self._refused and self._size == 0
            if room:
                self._on_room()

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._lines and not self._closed:
                self._changed.wait()
            return self._lines.popleft() if self._lines else None

    def _send(self, line: bytes) -> None:
        try:
            self._connection.sendall(line)
        except OSError:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            raise Closed from None
