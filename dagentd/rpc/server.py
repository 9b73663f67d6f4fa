"""The Unix socket: bound safely, one thread per client, nobody else's clients."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import threading
import time
from pathlib import Path

from dagentd.adapters.files import disk
from dagentd.adapters.files.flock import clear_stale
from dagentd.errors import LimitReached, NotAllowed
from dagentd.rpc import methods, protocol
from dagentd.rpc.connection import Connection
from dagentd.rpc.service import Service
from dagentd.rpc.wire import peer_uid

_MOST = 256  # connections at a time


class Server:
    def __init__(self, path: Path, service: Service) -> None:
        self._path, self._service = path, service
        self._connections: dict[Connection, threading.Thread] = {}
        self._lock = threading.Lock()
        self._stopping = False

    def start(self, listener: socket.socket | None = None) -> None:
        """Listen on the path, or on a socket that a service manager made."""
        methods.load_all()
        self._own = listener is None
        self._listen(listener or bind(self._path))

    def _listen(self, listener: socket.socket) -> None:
        self._listener = listener
        self._bound = _identity(self._path)
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
        if self._own and self.is_reachable():
            with contextlib.suppress(OSError):
                disk.remove(self._path)
        end = time.monotonic() + timeout
        with self._lock:
            open_now = dict(self._connections)
        for act, until in ((Connection.finish, end - timeout / 4), (Connection.hang_up, end)):
            for connection in open_now:
                act(connection)
            for thread in open_now.values():
                thread.join(max(0.0, until - time.monotonic()))

    def is_reachable(self) -> bool:
        """Whether the path still leads to our socket: temp cleaners delete it under a living daemon."""
        return self._bound is not None and _identity(self._path) == self._bound

    def rebind(self, path: Path) -> None:
        """Listen again, where clients look by now: a temp cleaner may have removed the folder, and another user come
        to its place."""
        made = bind(path)
        self._deaf()
        self._path = path
        self._listen(made)

    def count(self) -> int:
        with self._lock:
            return len(self._connections)

    def _accept(self, listener: socket.socket, woken: socket.socket) -> None:
        call, end = select.poll(), select.poll()  # select() knows no descriptor above 1023
        call.register(listener, select.POLLIN)
        for each in (call, end):
            each.register(woken, select.POLLIN)
        with woken:
            while woken.fileno() not in dict(call.poll()):
                if not self._welcome(listener):
                    end.poll(100)

    def _welcome(self, listener: socket.socket) -> bool:
        """False if nobody can be let in just now: without a pause it would be tried at once, again and again."""
        try:
            client, _ = listener.accept()
        except OSError:  # it hung up already, or we have no descriptor left
            return False
        if peer_uid(client) != os.getuid() or self._stopping:
            client.close()
        elif not self._has_place() or not self._serve(client):
            _refuse(client)
        return True

    def _has_place(self) -> bool:
        """Where all are taken, the one that has been idle for longest makes room: whoever left connections behind must
        not be shut out by them. What it sent before is answered, and its client can connect again."""
        with self._lock:
            if len(self._connections) < _MOST:
                return True
            idle = {each: since for each in self._connections if (since := each.idle_since) is not None}
            place = bool(idle) and len(self._connections) < _MOST + len(idle)
        if place:
            min(idle, key=lambda each: idle[each]).finish()
        return place

    def _serve(self, client: socket.socket) -> bool:
        """False if the system gives us no thread for it."""
        connection = Connection(client, self._service)
        thread = threading.Thread(target=self._run, args=(connection,), name="rpc-client", daemon=True)
        with self._lock:
            self._connections[connection] = thread
        try:
            thread.start()
        except RuntimeError:
            self._forget(connection)
            return False
        return True

    def _run(self, connection: Connection) -> None:
        try:
            connection.serve()
        finally:
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        with self._lock:
            del self._connections[connection]


def _refuse(client: socket.socket) -> None:
    """It is told why: a connection that only ends looks like a daemon that died."""
    with contextlib.suppress(OSError), client:
        client.send(protocol.refusal(LimitReached(f"{_MOST} clients are connected", hint="End some of them.")))


def bind(path: Path) -> socket.socket:
    """A listening socket that nobody else could ever connect to: its folder is closed before it is there."""
    with disk.explained(path.parent):
        disk.make_folders(path.parent)
        _check_folder(path.parent)
    with disk.explained(path):
        clear_stale(path)
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


def _identity(path: Path) -> tuple[int, int] | None:
    """Which socket is there; a socket of somebody else may have come in the place of ours."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISSOCK(found.st_mode) else None
