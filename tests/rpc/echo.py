"""A small daemon that answers what it was sent, and misbehaves when asked to."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dagentd.errors import NotFound
from dagentd.rpc import protocol
from dagentd.rpc.protocol import Call


class Echo:
    """`hold` is answered after the call that follows it, `die` and `half` never; every other call by its params."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._connections: list[socket.socket] = []
        self._hearing = threading.Condition()
        self.heard: list[Call] = []

    def start(self) -> None:
        self._threads[0].start()

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        self.hang_up()
        for thread in self._threads[1:]:
            thread.join()

    def hang_up(self) -> None:
        """As the kernel does it for a daemon that was killed."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def wait_for_calls(self, count: int) -> None:
        with self._hearing:
            self._hearing.wait_for(lambda: len(self.heard) >= count)

    def send(self, line: bytes) -> None:
        """To whoever connected last."""
        self._connections[-1].sendall(line)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        held = b""
        with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError, StopIteration):
            for line in lines:
                answer, hold = self._answer(line, connection)
                if hold:
                    held += answer
                elif answer:
                    connection.sendall(answer + held)
                    held = b""

    def _answer(self, line: bytes, connection: socket.socket) -> tuple[bytes, bool]:
        incoming = protocol.read(line)
        if incoming is None:
            return b"", False
        with self._hearing:
            self.heard += incoming.calls
            self._hearing.notify_all()
        answer = incoming.answer(lambda call: self._outcome(call, connection)) or b""
        return answer, any(call.method == "hold" for call in incoming.calls)

    def _outcome(self, call: Call, connection: socket.socket) -> Any:
        if call.method == "fail":
            return NotFound("no such thing", path="/some/where", hint="Look elsewhere.")
        if call.method == "half":
            connection.sendall(b'{"jsonrpc": "2.0", "res')
        if call.method in ("die", "half"):
            raise StopIteration
        if call.method == "events.subscribe":
            for number in range(3):  # before the answer: nothing says which comes first
                connection.sendall(protocol.notification("event", {"seq": number}))
            return {"subscription": "s1", "seq": 2, "continuous": True}
        return call.params


@contextlib.contextmanager
def echoing(path: Path) -> Iterator[Echo]:
    echo = Echo(path)
    echo.start()
    try:
        yield echo
    finally:
        echo.stop()
