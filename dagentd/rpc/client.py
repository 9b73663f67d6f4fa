"""The Python client of the daemon, with the standard library alone."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from dagentd import paths
from dagentd.errors import DagentdError, HungUp, NotRunning, Unreachable
from dagentd.model import jsontext
from dagentd.rpc import protocol
from dagentd.rpc.wire import Wire

# Calls and answers over one connection that several threads share: each gets its own answer.

T = TypeVar("T")


class RpcError(DagentdError):
    """An error that the daemon answered instead of a result."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        known = data if isinstance(data, dict) else {}
        super().__init__(message, path=known.get("path"), hint=known.get("hint", ""))
        self.code = code
        self.data = data


class Exchange:
    """There is no thread behind it: of those that wait, one reads for all."""

    def __init__(self, path: Path, timeout: float | None) -> None:
        self._timeout = timeout
        self._wire = Wire(path, timeout)
        self._ids = itertools.count(1)
        self._changed = threading.Condition()
        self._someone_reads = False
        self._answers: dict[int, dict[str, Any] | None] = {}  # by the id of each call that is waited for
        self._events: deque[Any] = deque()

    def close(self) -> None:
        self._wire.close()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        number = next(self._ids)
        self._answers[number] = None
        try:
            with contextlib.suppress(ConnectionError):  # the daemon may have said why before it hung up
                self._wire.send(protocol.request(method, params, number))
            return _result(self._wait(lambda: self._answers[number], deadline))
        except TimeoutError:
            raise Unreachable(f"no answer to {method} within {self._timeout} s", hint="dagentd status") from None
        finally:
            del self._answers[number]

    def notify(self, method: str, params: dict[str, Any]) -> None:
        try:
            self._wire.send(protocol.notification(method, params))
        except ConnectionError:
            raise _ended() from None

    def next_event(self) -> Any:
        """However long it takes."""
        return self._wait(lambda: self._events.popleft() if self._events else None, None)

    def _wait(self, found: Callable[[], T | None], deadline: float | None) -> T:
        with self._changed:
            while (value := found()) is None:
                if not self._someone_reads:
                    self._take(self._read(deadline))
                elif not self._changed.wait(None if deadline is None else deadline - time.monotonic()):
                    raise TimeoutError
            return value

    def _read(self, deadline: float | None) -> bytes | None:
        """The next line, read without holding the lock; then whoever waits looks again."""
        self._someone_reads = True
        self._changed.release()
        try:
            return self._wire.receive(deadline)
        finally:
            self._changed.acquire()
            self._someone_reads = False
            self._changed.notify_all()

    def _take(self, line: bytes | None) -> None:
        """For whoever asked. An error without an id is about the connection, and so for everyone."""
        message = _message(line)
        if message.get("method") == "event":
            self._events.append(message.get("params"))
            return
        number = message.get("id")
        for each in list(self._answers) if number is None else [number]:
            if each in self._answers:  # else that call has given up
                self._answers[each] = message


def _message(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise _ended()
    try:
        message = jsontext.decode_own(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Unreachable("what answers at the socket does not speak JSON-RPC", hint="dagentd restart")
    return message


def _result(answer: dict[str, Any]) -> Any:
    if error := answer.get("error"):
        raise RpcError(error["code"], error["message"], error.get("data"))
    return answer.get("result")


def _ended() -> HungUp:
    return HungUp("the connection to the daemon ended", hint="What was asked last may be done: dagentd status")


__all__ = ["Client", "NotRunning", "RpcError", "Subscription", "Unreachable"]


class Client:
    """A connection to the daemon, or NotRunning; threads may share it. The timeout is in seconds, for each call."""

    def __init__(self, path: str | os.PathLike[str] | None = None, timeout: float | None = 60.0) -> None:
        self._path = paths.socket() if path is None else Path(path)
        self._timeout = timeout
        self._exchange = Exchange(self._path, timeout)
        self._subscriptions: set[Subscription] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, /, **params: Any) -> Any:
        """The result, or RpcError. After Unreachable the daemon may or may not have done it."""
        return self._exchange.call(method, params)

    def notify(self, method: str, /, **params: Any) -> None:
        """Ask for something without an answer, not even an error."""
        self._exchange.notify(method, params)

    def subscribe(self, **filters: Any) -> Subscription:
        """Events from now on, or after `since`. They have a connection of their own: one that is not read for a
        while holds up no call, and the daemon notices."""
        subscription = Subscription(Exchange(self._path, self._timeout), filters, self._subscriptions.discard)
        self._subscriptions.add(subscription)
        return subscription

    def close(self) -> None:
        """Ends the subscriptions too, and the calls that other threads wait for."""
        for subscription in tuple(self._subscriptions):
            subscription.close()
        self._exchange.close()


class Subscription:
    """An iterator of events; `close()`, from any thread, ends it. `answer` is what the daemon said at the start."""

    def __init__(self, exchange: Exchange, filters: dict[str, Any], forget: Callable[[Subscription], None]) -> None:
        self._exchange, self._forget = exchange, forget
        self._closed = False
        try:
            self.answer = exchange.call("events.subscribe", filters)
        except BaseException:
            exchange.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        """Unreachable when the daemon has ended."""
        if self._closed:
            raise StopIteration
        try:
            return self._exchange.next_event()
        except Unreachable:
            if self._closed:
                raise StopIteration from None
            raise

    def close(self) -> None:
        self._closed = True
        self._exchange.close()
        self._forget(self)
