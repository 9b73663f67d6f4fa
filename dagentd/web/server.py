"""The process behind the page: a port of this machine alone, and an end with Ctrl-C."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dagentd.errors import Conflict
from dagentd.web.app import Report, Site
from dagentd.web.guard import Guard

_MOST = 200  # connections at once
_numbers = itertools.count()


def serve(port: int, ready: Callable[[str], None], report: Report) -> None:
    """Until it is interrupted. `ready` is told the address once there is somebody who answers there and whom Ctrl-C
    ends."""
    with _listening(port) as listener:
        site = Site(report)
        guard = Guard(site.app, listener.getsockname()[1])
        site.token = guard.token
        settings = uvicorn.Config(
            guard,
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            http=_Connection,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=_MOST,
        )
        try:
            _Server(settings, site, lambda: ready(guard.address)).run(sockets=[listener])
        finally:
            site.close()


class _Connection(H11Protocol):
    """One that makes room: anybody on this machine can connect and say nothing, and the browser would be refused."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._number = next(_numbers)
        silent = [each for each in self.connections if isinstance(each, _Connection) and each._silent()]
        if len(silent) > _MOST // 2:
            min(silent, key=lambda each: each._number).transport.close()

    def _silent(self) -> bool:
        return (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing()


class _Server(uvicorn.Server):
    """One that ends the streams of events first: it would wait for them, and then complain."""

    def __init__(self, settings: uvicorn.Config, site: Site, ready: Callable[[], None]) -> None:
        super().__init__(settings)
        self._site, self._ready = site, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """In a thread: a browser in the terminal is waited for, and is answered meanwhile."""
        await super().startup(sockets)
        await asyncio.to_thread(self._ready)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._site.close()
        super().handle_exit(sig, frame)


def _listening(port: int) -> socket.socket:
    """Bound and listening already: whoever is sent there waits until it is answered."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        told = f"port {port} of 127.0.0.1 cannot be used: {error.strerror}"
        raise Conflict(told, hint="dagentd web --port 0 takes one that is free.") from None
    listener.listen()
    return listener
