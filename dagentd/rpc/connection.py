"""One connection: lines in, answers and events out, in the order that was asked for, and never more than a client
takes."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from dagentd.errors import DagentdError
from dagentd.events import Event
from dagentd.rpc import protocol
from dagentd.rpc.methods import METHODS
from dagentd.rpc.protocol import MAX_LINE, Call, Incoming
from dagentd.rpc.service import Caller, Service
from dagentd.waiting import right_of_way

# What waits to be sent on one connection: bounded, so that a client that does not read harms nobody.

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


# One client: its lines are read, its calls answered, in the order that it may rely on.

# Whose turn it is on one connection: requests on one session one after the other, others beside each other.

_WAITING = 32  # requests that may wait or run; then no more are read
_RUNNING = 4  # of them at a time


@dataclass(eq=False)
class _Turn:
    work: Callable[[], None]
    sessions: Set[str]
    running: bool = False


class Turns:
    """Each is done in a thread of its own; nobody else's slow requests hold it up."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.pending: list[_Turn] = []  # in the order they came

    def concern(self, sessions: Set[str]) -> bool:
        """Whether something of these sessions is still to be done."""
        with self._changed:
            return any(turn.sessions & sessions for turn in self.pending)

    def add(self, work: Callable[[], None], sessions: Set[str]) -> None:
        """Done after all that came before it on one of its sessions. Waits while there is too much to do: who sends
        faster than we work is not read."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.pending) < _WAITING)
            self.pending.append(_Turn(work, sessions))
            self._start()

    def finish(self) -> None:
        """Wait until all is done."""
        with self._changed:
            self._changed.wait_for(lambda: not self.pending)

    def _start(self) -> None:
        while (turn := self._next()) is not None:
            threading.Thread(target=self._run, args=(turn,), name="rpc-slow", daemon=True).start()

    def _next(self) -> _Turn | None:
        if sum(turn.running for turn in self.pending) >= _RUNNING:
            return None
        before: set[str] = set()
        for turn in self.pending:
            if not turn.running and not turn.sessions & before:
                turn.running = True
                return turn
            before |= turn.sessions
        return None

    def _run(self, turn: _Turn) -> None:
        try:
            turn.work()
        finally:
            with self._changed:
                self.pending.remove(turn)
                self._start()
                self._changed.notify_all()


_CHUNK = 1 << 16
_IN_TURN = contextlib.nullcontext()


class UnknownMethod(DagentdError):
    code = -32601


class Connection:
    """Quick calls are answered by the thread that reads. A slow one waits for its turn, and so does what follows it
    on the same session: requests on one session take effect in the order sent."""

    def __init__(self, connection: socket.socket, service: Service) -> None:
        self._connection, self._service = connection, service
        self._outbox = Outbox(connection, self._has_room)
        self._caller = Caller(service, self._deliver)
        self._turns = Turns()
        self._asked = False  # something is read of it that is not answered yet
        self._heard = time.monotonic()
        self._leaving = False

    def serve(self) -> None:
        """Until the client sends no more and everything it asked for is answered."""
        try:
            with contextlib.suppress(Closed, OSError):
                for line in self._lines():
                    self._asked = True
                    self._outbox.wait_for_room()
                    self._take(line)
                    self._asked = False
            self._turns.finish()
        finally:
            for subscription in self._caller.subscriptions:
                self._service.events.unsubscribe(subscription)
            self._outbox.close()
            self._connection.close()

    @property
    def idle_since(self) -> float | None:
        """When something last came; None while it is answered, listens for events, or is about to end."""
        busy = self._asked or self._turns.pending or self._caller.subscriptions or self._leaving
        return None if busy else self._heard

    def finish(self) -> None:
        """Read no more than was sent; that is answered."""
        self._leaving = True
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RD)

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _lines(self) -> Iterator[bytes]:
        buffer = bytearray()
        while chunk := self._connection.recv(_CHUNK):
            self._heard = time.monotonic()
            if not buffer and chunk.find(b"\n") == len(chunk) - 1:  # one whole line, as nearly always
                yield chunk[:-1]
                continue
            searched = len(buffer)
            buffer += chunk
            while (end := buffer.find(b"\n", searched)) >= 0:
                yield bytes(buffer[:end])
                del buffer[: end + 1]
                searched = 0
            if len(buffer) > MAX_LINE:
                self._outbox.answer(protocol.too_long())
                return

    def _take(self, line: bytes) -> None:
        incoming = protocol.read(line)
        if incoming is None:
            return
        named = [METHODS.get(entry.method) for entry in incoming.entries if isinstance(entry, Call)]
        slow = any(method is not None and method.slow for method in named)
        if slow or self._turns.pending:
            sessions = {session for call in incoming.calls if (session := _session(call)) is not None}
            if slow or self._turns.concern(sessions):
                self._outbox.queue()
                self._turns.add(lambda: self._answer(incoming), sessions)
                return
        self._answer(incoming, right_of_way)  # nearly always: before all that nobody waits for

    def _answer(self, incoming: Incoming, way: AbstractContextManager[None] = _IN_TURN) -> None:
        with way:  # not while it is sent: its client may read late
            line = incoming.answer(self._outcome)
        if line is not None:
            self._outbox.answer(line)

    def _outcome(self, call: Call) -> Any:
        try:
            method = METHODS.get(call.method)
            if method is None:
                raise UnknownMethod(f"no method {call.method[:60]!a}", hint="`rpc.discover` lists them.")
            if method.name == "events.subscribe":
                self._outbox.queue()
            return method.call(self._caller, call.params)
        except Exception as error:  # what we did not expect is logged where the answer is made
            return error

    def _deliver(self, event: Event, subscription: str) -> bool:
        return self._outbox.offer(b'{"jsonrpc": "2.0", "method": "event", "params": ' + event.to(subscription) + b"}\n")

    def _has_room(self) -> None:
        for subscription in tuple(self._caller.subscriptions):
            self._service.events.has_room(subscription)


def _session(call: Call) -> str | None:
    given = call.params.get("sessionId") if isinstance(call.params, dict) else None
    return given if isinstance(given, str) else None
