"""The Unix socket: bound safely, one thread per client, nobody else's clients."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dagentd.adapters import disk
from dagentd.errors import Conflict, NotAllowed
from dagentd.rpc.connection import Connection
from dagentd.rpc.service import Service
from dagentd.rpc.wire import peer_uid

_MOST = 256  # connections at a time
_SLOW = 4  # slow calls at a time


class Server:
    def __init__(self, path: Path, service: Service) -> None:
        self._path, self._service = path, service
        self._connections: dict[Connection, threading.Thread] = {}
        self._lock = threading.Lock()
        self._slow = ThreadPoolExecutor(_SLOW, thread_name_prefix="rpc-slow")
        self._stopping = False

    def start(self, listener: socket.socket | None = None) -> None:
        """Listen on the path, or on a socket that a service manager made."""
        self._own = listener is None
        self._listen(listener or bind(self._path))

    def _listen(self, listener: socket.socket) -> None:
        self._listener = listener
        # Shutting the listener down would wake the thread too, but a service manager's copy of it with it.
        self._wake, woken = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, args=(listener, woken), name="rpc-accept", daemon=True)
        self._thread.start()

    def _deaf(self) -> None:
        self._wake.close()
        self._thread.join()
        self._listener.close()

    def stop(self, timeout: float) -> None:
        """No new clients, what is under way is answered, then everyone is hung up on."""
        self._stopping = True
        self._deaf()
        if self._own:
            _remove_own(self._path)
        end = time.monotonic() + timeout
        self._slow.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            open_now = dict(self._connections)
        for connection in open_now:
            connection.hang_up()
        for thread in open_now.values():
            thread.join(max(0.0, end - time.monotonic()))

    def is_reachable(self) -> bool:
        """Whether the path still leads to our socket: temp cleaners delete it under a living daemon."""
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        return stat.S_ISSOCK(found.st_mode)

    def rebind(self) -> None:
        """Listen under the path again."""
        made = bind(self._path)
        self._deaf()
        self._listen(made)

    def count(self) -> int:
        with self._lock:
            return len(self._connections)

    def _accept(self, listener: socket.socket, woken: socket.socket) -> None:
        with woken:
            while woken not in select.select([listener, woken], [], [])[0]:
                if not self._welcome(listener):
                    select.select([woken], [], [], 0.1)

    def _welcome(self, listener: socket.socket) -> bool:
        """False if nobody can be let in just now: without a pause it would be tried at once, again and again."""
        try:
            client, _ = listener.accept()
        except OSError:  # it hung up already, or we have no descriptor left
            return False
        if peer_uid(client) != os.getuid() or self.count() >= _MOST or self._stopping:
            client.close()
        else:
            self._serve(client)
        return True

    def _serve(self, client: socket.socket) -> None:
        connection = Connection(client, self._service, self._submit)
        thread = threading.Thread(target=self._run, args=(connection,), name="rpc-client", daemon=True)
        with self._lock:
            self._connections[connection] = thread
        thread.start()

    def _run(self, connection: Connection) -> None:
        try:
            connection.serve()
        finally:
            with self._lock:
                del self._connections[connection]

    def _submit(self, work: Callable[[], None]) -> None:
        self._slow.submit(work)


def bind(path: Path) -> socket.socket:
    """A listening socket that nobody else could ever connect to: its folder is closed before it is there."""
    with disk.explained(path):
        disk.make_folders(path.parent)
        _check_folder(path.parent)
        _clear(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError:
            listener.close()
            raise
        finally:
            os.umask(before)
        listener.listen(128)
        return listener


def _check_folder(folder: Path) -> None:
    found = os.stat(folder, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        told = "must be a folder of yours that nobody else can enter"
        raise NotAllowed(told, path=folder, hint=f"chmod 700 {folder}, or name another path in DAGENTD_SOCKET.")


def _clear(path: Path) -> None:
    """Remove a socket that nobody listens on. Anything else in its place is somebody's, and an error."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise NotAllowed("is in the place of the socket", path=path, hint="Move it away.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise Conflict("another dagentd answers there", path=path, hint="dagentd status")
    disk.remove(path)


def _remove_own(path: Path) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(os.stat(path, follow_symlinks=False).st_mode):
            disk.remove(path)
