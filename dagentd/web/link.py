"""The daemon as the page sees it: calls by the table of methods, and its events for all who look at the page."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

from dagentd.errors import DagentdError, Unreachable
from dagentd.rpc.client import Client

_ANSWER = 60.0  # seconds
_LONG = 700.0  # seconds: a model may take five minutes, and another compaction may come first
_AGAIN = 1.0  # seconds before a daemon that is away is looked for again
_MOST = 1000  # events that a page may be behind
OVER = "page:over"  # the last event of all
LOST = {"type": "events:lost"}  # whoever hears it looks at everything anew
_SLOW = ("session.previewCompaction", "session.forceCompact")


class Link:
    """One connection for all; one that ended is made anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._methods: frozenset[str] | None = None

    def call(self, method: str, /, **given: Any) -> Any:
        """Call a method; parameters that are None are left out."""
        params = {key: value for key, value in given.items() if value is not None}
        if method in _SLOW:
            with Client(timeout=_LONG) as alone:
                return alone.call(method, **params)
        with self._lock:
            if self._client is None:
                self._client, self._methods = Client(timeout=_ANSWER), None
            client = self._client
        try:
            return client.call(method, **params)
        except Unreachable:
            client.close()
            with self._lock:
                if self._client is client:
                    self._client = None
            raise

    def has(self, method: str) -> bool:
        """Whether this daemon, which may be older or younger than the page, knows it."""
        if self._methods is None:
            self._methods = frozenset(each["name"] for each in self.call("rpc.discover")["methods"])
        return method in self._methods

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


class Events:
    """One subscription for all pages, begun with the first. The daemon has nothing to do while nothing happens."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[dict[str, Any]]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = threading.Event()
        self._client: Client | None = None

    @contextlib.asynccontextmanager
    async def heard(self) -> Any:
        """A queue of all events from now on."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._run, name="events", daemon=True).start()
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MOST)
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def close(self) -> None:
        """Whoever listens hears that it is over."""
        self._over.set()
        if self._loop is not None:
            self._tell({"type": OVER})
        if self._client is not None:
            self._client.close()

    def _run(self) -> None:
        away = False
        while not self._over.is_set():
            try:
                with Client(timeout=_ANSWER) as client, client.subscribe() as events:
                    self._client = client
                    self._tell({"type": "page:back"} if away else LOST)
                    away = False
                    for event in events:
                        self._tell(event)
            except DagentdError:
                if not away and not self._over.is_set():
                    self._tell({"type": "page:away"})
                away = True
            self._over.wait(_AGAIN)

    def _tell(self, event: dict[str, Any]) -> None:
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all pages with it
            self._loop.call_soon_threadsafe(self._put, event)

    def _put(self, event: dict[str, Any]) -> None:
        """A page that does not read is told to look at everything anew."""
        for queue in self._queues:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(LOST)
            else:
                queue.put_nowait(event)
