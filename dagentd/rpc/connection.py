"""One client: its lines are read, its calls answered, in the order that it may rely on."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

from dagentd.errors import DagentdError
from dagentd.events import Event
from dagentd.rpc import protocol
from dagentd.rpc.discovery import document
from dagentd.rpc.methods import METHODS
from dagentd.rpc.outbox import Closed, Outbox
from dagentd.rpc.protocol import MAX_LINE, Call, Incoming, Refused
from dagentd.rpc.service import Caller, Service
from dagentd.rpc.turns import Turns

_CHUNK = 1 << 16


class UnknownMethod(DagentdError):
    code = -32601


class Connection:
    """Quick calls are answered by the thread that reads. A slow one waits for its turn, and so does what follows it
    on the same session: requests on one session take effect in the order sent."""

    def __init__(self, connection: socket.socket, service: Service) -> None:
        self._connection, self._service = connection, service
        self._outbox = Outbox(connection, self._has_room)
        self._caller = Caller(service, self._deliver, document)
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
        busy = self._asked or self._turns or self._caller.subscriptions or self._leaving
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
        if not incoming.batch and not self._turns and not _is_slow(incoming.entries[0]):
            self._answer(incoming)  # nearly always: nothing to wait for
            return
        sessions = {session for call in incoming.calls if (session := _session(call)) is not None}
        if any(map(_is_slow, incoming.entries)) or self._turns.concern(sessions):
            self._outbox.queue()
            self._turns.add(lambda: self._answer(incoming), sessions)
        else:
            self._answer(incoming)

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
