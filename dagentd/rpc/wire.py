"""The client's end of one connection: to the daemon of the same user and nobody else's, by whole lines."""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import stat
import struct
import threading
import time
from pathlib import Path

from dagentd.errors import InvalidInput, LimitReached, NotAllowed, NotRunning, Unreachable
from dagentd.rpc.protocol import MAX_LINE
from dagentd.socket_path import LONGEST

_CHUNK = 1 << 16


class Wire:
    """One thread may send while another receives; `close()` wakes both."""

    def __init__(self, path: Path, timeout: float | None) -> None:
        self._socket = _connect(path, timeout)
        # Reentrant: a signal handler may close what the same thread is reading.
        self._sending, self._receiving = threading.RLock(), threading.RLock()
        self._buffer = bytearray()
        self._closed = False

    def send(self, line: bytes) -> None:
        """ConnectionError says that the daemon hung up; what it said before that can still be received."""
        if len(line) > MAX_LINE + len(b"\n"):
            raise LimitReached(f"a request has at most {MAX_LINE} bytes, not {len(line)}")
        with self._sending:
            try:
                self._socket.sendall(line)
            except BaseException as error:
                self._shut(socket.SHUT_WR)  # half a line may be on its way: nothing may follow it
                if isinstance(error, BlockingIOError):
                    raise Unreachable("the daemon does not read what it is sent", hint="dagentd restart") from None
                if isinstance(error, OSError):
                    raise ConnectionError from error
                raise

    def receive(self, deadline: float | None) -> bytes | None:
        """The next line, or none when the connection has ended. After a TimeoutError one can go on."""
        searched = 0
        with self._receiving:
            while (end := self._buffer.find(b"\n", searched)) < 0:
                if (searched := len(self._buffer)) > MAX_LINE:
                    raise Unreachable(f"the daemon sent a line of more than {MAX_LINE} bytes")
                if not (chunk := self._chunk(deadline)):
                    return None
                self._buffer += chunk
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            return line

    def close(self) -> None:
        """The descriptor goes last, when nobody uses it: its number may be another file's at once."""
        self._closed = True
        self._shut(socket.SHUT_RDWR)
        with self._sending, self._receiving:
            self._socket.close()

    def _chunk(self, deadline: float | None) -> bytes:
        """Not settimeout(): that would hold for the thread that sends too."""
        if self._closed:
            return b""
        ready = select.poll()
        ready.register(self._socket, select.POLLIN)
        left = None if deadline is None else max(0, math.ceil((deadline - time.monotonic()) * 1000))
        if not ready.poll(left):
            raise TimeoutError
        try:
            return self._socket.recv(_CHUNK)
        except OSError:  # reset by a daemon that died, or closed by a signal handler meanwhile
            return b""

    def _shut(self, how: int) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(how)


def peer_uid(connection: socket.socket) -> int:
    """The effective user that listens, or connected, at the other end."""
    if hasattr(socket, "SO_PEERCRED"):
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    return int(struct.unpack("2I", connection.getsockopt(0, 1, 8))[1])  # SOL_LOCAL, LOCAL_PEERCRED of macOS


def _connect(path: Path, timeout: float | None) -> socket.socket:
    _check(path)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # With settimeout() a daemon that is only busy, its queue of connections full, fails at once with EAGAIN:
        # https://github.com/python/cpython/issues/117208. The kernel's own limit waits, for send() too; 0 is none.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(timeout or 0))
        _reach(connection, path)
        if peer_uid(connection) != os.geteuid():
            raise NotAllowed("is the socket of another user", path=path, hint="Name your own in DAGENTD_SOCKET.")
    except BaseException:
        connection.close()
        raise
    return connection


def _check(path: Path) -> None:
    """Refuse a path that is too long, or holds no socket: it would look like a daemon that does not run."""
    if len(os.fsencode(path)) > LONGEST:
        raise InvalidInput(f"is longer than the {LONGEST} bytes that a socket's path may have", path=path)
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        raise _not_running(path) from None
    except OSError as error:
        raise Unreachable(f"cannot be reached: {error.strerror}", path=path) from None
    if not stat.S_ISSOCK(mode):
        found = {stat.S_IFDIR: "folder", stat.S_IFLNK: "symlink", stat.S_IFREG: "regular file"}
        told = f"a {found.get(stat.S_IFMT(mode), 'special file')} is in the place of the daemon's socket"
        raise Unreachable(told, path=path, hint="Move it away, then `dagentd start`.")


def _reach(connection: socket.socket, path: Path) -> None:
    try:
        connection.connect(os.fspath(path))
    except (ConnectionRefusedError, FileNotFoundError):
        raise _not_running(path) from None
    except BlockingIOError:
        raise Unreachable("the daemon takes no connections", path=path, hint="dagentd restart") from None
    except OSError as error:
        raise Unreachable(f"cannot be reached: {error.strerror}", path=path) from None


def _not_running(path: Path) -> NotRunning:
    return NotRunning(f"dagentd is not running: nobody listens at {path}", hint="dagentd start")


def _timeval(seconds: float) -> bytes:
    return struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))
