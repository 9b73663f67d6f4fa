"""The Python client of the daemon, with the standard library alone.

from dagentd.rpc.client import Client

with Client() as daemon:
    daemon.call("session.addMessage", sessionId="dev-1", role="user", content="Hello")
    for event in daemon.subscribe(types=["session:updated"]):
        ...
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from dagentd import paths
from dagentd.errors import NotRunning, Unreachable
from dagentd.rpc.exchange import Exchange, RpcError

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
