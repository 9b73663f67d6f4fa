"""One connection to the daemon: JSON-RPC 2.0, one JSON object a line."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections import deque
from typing import Any

from dagentd_client.paths import socket_path


class DagentdError(Exception):
    """What the daemon answered instead of a result; `hint` says what to do."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data
        self.hint = str(data.get("hint", "")) if isinstance(data, dict) else ""


class NotRunning(ConnectionError):
    """Nobody listens at the socket: `dagentd start`."""


class Connection:
    """Threads may share it; one call is made at a time. `timeout` is in seconds, for each answer."""

    def __init__(self, path: str | os.PathLike[str] | None = None, timeout: float | None = 60.0) -> None:
        self._socket = _connected(os.fspath(path) if path is not None else socket_path(), timeout)
        self._timeout = timeout
        self._lines = self._socket.makefile("rb")
        self._lock = threading.Lock()
        self._last_id = 0
        self._events: deque[Any] = deque()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """The result, or DagentdError. After a ConnectionError the daemon may or may not have done it."""
        given = {name: value for name, value in params.items() if value is not None}
        with self._lock:
            self._last_id += 1
            request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": given}
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            while (answer := self._read()).get("id") != self._last_id:
                self._keep(answer)
        if "error" in answer:
            raise DagentdError(**answer["error"])
        return answer.get("result")

    def next_event(self) -> Any:
        """The next event of what was subscribed on this connection, however long it takes."""
        with self._lock:
            if self._socket.fileno() == -1:  # another thread was first
                raise ConnectionError("the connection is closed")
            self._socket.settimeout(None)
            try:
                while not self._events:
                    self._keep(self._read())
            finally:
                self._socket.settimeout(self._timeout)
            return self._events.popleft()

    def close(self) -> None:
        """From any thread: whoever waits gets a ConnectionError."""
        with contextlib.suppress(OSError):  # the daemon was first
            self._socket.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._lines.close()
            self._socket.close()

    def _read(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except ValueError as closed:
            raise ConnectionError("the connection is closed") from closed
        if not line:
            raise ConnectionError("the connection to dagentd ended")
        found = json.loads(line)
        if not isinstance(found, dict):
            raise ConnectionError("what answers at the socket does not speak JSON-RPC")
        return found

    def _keep(self, message: dict[str, Any]) -> None:
        """An event waits for who asks for it. An error without an id is about the connection."""
        if message.get("method") == "event":
            self._events.append(message.get("params"))
        elif message.get("id") is None and "error" in message:
            raise DagentdError(**message["error"])


def _connected(path: str, timeout: float | None) -> socket.socket:
    try:
        if os.lstat(path).st_uid != os.geteuid():
            raise PermissionError(f"{path} is the socket of another user")
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(timeout)
            made.connect(path)
        except BaseException:
            made.close()
            raise
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise NotRunning(f"dagentd is not running: nobody listens at {path}") from error
    return made
