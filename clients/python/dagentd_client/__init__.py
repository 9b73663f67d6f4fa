"""A typed client of dagentd's socket; it needs nothing but the standard library."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self, cast

from dagentd_client.client import Methods
from dagentd_client.connection import Connection, DagentdError, NotRunning
from dagentd_client.paths import socket_path
from dagentd_client.types import Event, EventType

__all__ = ["Client", "Connection", "DagentdError", "Event", "NotRunning", "Subscription", "socket_path"]


class Client(Methods):
    """A connection to the daemon, or NotRunning: `client.session.add_message(…)`, `client.subscribe(…)`."""

    def __init__(self, path: str | os.PathLike[str] | None = None, timeout: float | None = 60.0) -> None:
        self._path, self._timeout = path, timeout
        self.connection = Connection(path, timeout)
        super().__init__(self.connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def subscribe(
        self,
        *,
        types: Sequence[EventType] | None = None,
        project: str | None = None,
        session_id: str | None = None,
        since: int | None = None,
    ) -> Subscription:
        """Events from now on, or after `since`, over a connection of their own: they hold up no call."""
        wanted = None if types is None else list(types)
        filters = {"types": wanted, "project": project, "sessionId": session_id, "since": since}
        return Subscription(Connection(self._path, self._timeout), filters)

    def close(self) -> None:
        self.connection.close()


class Subscription:
    """An iterator of events; `close()`, from any thread, ends it. Not `continuous`: some after `since` are missing."""

    def __init__(self, connection: Connection, filters: dict[str, Any]) -> None:
        self._connection, self._closed = connection, False
        try:
            answer = connection.call("events.subscribe", filters)
        except BaseException:
            connection.close()
            raise
        self.id: str = answer["subscription"]
        self.seq: int = answer["seq"]
        self.continuous: bool = answer["continuous"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """ConnectionError when the daemon has ended."""
        try:
            return cast("Event", self._connection.next_event())
        except ConnectionError:
            if self._closed:
                raise StopIteration from None
            raise

    def close(self) -> None:
        self._closed = True
        self._connection.close()
