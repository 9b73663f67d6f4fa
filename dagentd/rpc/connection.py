"""One client: its lines are read, its calls answered, in the order that it may rely on."""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from dagentd.errors import DagentdError
from dagentd.events import Event
from dagentd.rpc import protocol
from dagentd.rpc.discovery import document
from dagentd.rpc.methods import METHODS
from dagentd.rpc.outbox import Closed, Outbox
from dagentd.rpc.protocol import MAX_LINE, Call, Incoming, Refused
from dagentd.rpc.service import Caller, Service

_CHUNK = 1 << 16
Later = Callable[[Callable[[], None]], None]


class UnknownMethod(DagentdError):
    code = -32601


class Connection:
    """Quick calls are answered by the thread that reads. A slow one goes to `later`, and so does what follows it on
    the same session: requests on one session take effect in the order sent."""

    def __init__(self, connection: socket.socket, service: Service, later: Later) -> None:
        self._connection, self._service, self._later = connection, service, later
        self._outbox = Outbox(connection, self._has_room)
        self._caller = Caller(service, self._deliver, document)
        self._lock = Lock()
        self._behind: dict[str, deque[Incoming]] = {}  # by session: what waits for a slow call

    def serve(self) -> None:
        """Until the client hangs up."""
        try:
            with contextlib.suppress(Closed, OSError):
                for line in self._lines():
                    self._take(line)
        finally:
            for subscription in self._caller.subscriptions:
                self._service.events.unsubscribe(subscription)
            self._outbox.close()
            self._connection.close()

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _lines(self) -> Iterator[bytes]:
        buffer = bytearray()
        while chunk := self._connection.recv(_CHUNK):
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
        if not incoming.batch and not self._behind and not _is_slow(incoming.entries[0]):
            self._answer(incoming)  # nearly always: nothing to wait for
            return
        sessions = {session for call in incoming.calls if (session := _session(call)) is not None}
        slow = any(map(_is_slow, incoming.entries))
        with self._lock:
            waiting = [self._behind[each] for each in sessions if each in self._behind]
            if waiting:
                waiting[0].append(incoming)
                return
            if slow:
                for each in sessions:
                    self._behind[each] = deque()
        if slow:
            self._outbox.queue()
            self._later(lambda: self._work_off(incoming, sessions))
        else:
            self._answer(incoming)

    def _work_off(self, incoming: Incoming, sessions: set[str]) -> None:
        """A slow call, then what came behind it for the same sessions."""
        with contextlib.suppress(Closed):
            self._answer(incoming)
        while True:
            with self._lock:
                queues = [self._behind[each] for each in sessions if each in self._behind]
                next_one = next((queue.popleft() for queue in queues if queue), None)
                if next_one is None:
                    for each in sessions:
                        self._behind.pop(each, None)
                    return
            with contextlib.suppress(Closed):
                self._answer(next_one)

    def _answer(self, incoming: Incoming) -> None:
        line = incoming.answer([self._outcome(entry) for entry in incoming.entries if isinstance(entry, Call)])
        if line is not None:
            self._outbox.answer(line)

    def _outcome(self, call: Call) -> Any:
        try:
            method = METHODS.get(call.method)
            if method is None:
                raise UnknownMethod(f"no method {call.method[:60]!a}", hint="`rpc.discover` lists them.")
            given = method.parse(call.params)
            if method.name == "events.subscribe":
                self._outbox.queue()
            return method.answer(self._caller, given)
        except Exception as error:  # what we did not expect is logged where the answer is made
            return error

    def _deliver(self, event: Event) -> bool:
        return self._outbox.offer(b'{"jsonrpc": "2.0", "method": "event", "params": ' + event.json + b"}\n")

    def _has_room(self) -> None:
        for subscription in tuple(self._caller.subscriptions):
            self._service.events.has_room(subscription)


def _is_slow(entry: Call | Refused) -> bool:
    method = METHODS.get(entry.method) if isinstance(entry, Call) else None
    return method is not None and method.slow


def _session(call: Call) -> str | None:
    given = call.params.get("sessionId") if isinstance(call.params, dict) else None
    return given if isinstance(given, str) else None
