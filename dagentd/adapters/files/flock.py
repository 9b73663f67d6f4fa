"""Locks between processes: an flock on a file that says who holds it and is never removed; and a socket left behind."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd import paths
from dagentd.adapters import clock
from dagentd.adapters.files import beneath, disk, fileio
from dagentd.errors import Conflict, DagentdError, NotAllowed

_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)


class AlreadyRunning(Conflict):
    """Another daemon of this user holds the lock; `pid` is None where it could not write its number down."""

    def __init__(self, path: Path) -> None:
        self.pid = pid(path)
        super().__init__(f"{holder(path)} is running already", path=path, hint="dagentd status")


@dataclass
class Lock:
    """Held while `fd` is open. The file is never removed: two processes could then hold two files of one name."""

    path: Path
    fd: int
    stale: dict[str, Any] | None  # what a holder that died without releasing it left

    def release(self) -> None:
        with contextlib.suppress(OSError):
            disk.cut(self.fd, 0, self.path)
        os.close(self.fd)

    def in_place(self) -> bool:
        """False once somebody removed or replaced the file: another process may then hold the lock of that name."""
        return _is_at(self.fd, self.path)


def single_instance() -> Lock:
    """The lock of this user's one daemon, whatever installation it is from; AlreadyRunning if it is held."""
    path = paths.lock_file()
    with disk.explained(path):
        disk.make_folders(path.parent)
        held = attempt(path)
        if held is None:
            raise AlreadyRunning(path)
        return held


def attempt(path: Path) -> Lock | None:
    """The lock, or None if another process holds it. The folder of `path` must be there."""
    while True:
        fd = beneath.opened(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
        _check(fd, path)
        if not _locked(fd, path):
            os.close(fd)
            return None
        if _is_at(fd, path):
            return Lock(path, fd, _sign(fd, path))
        os.close(fd)  # the file lost its name between open and lock


def is_held(path: Path) -> bool:
    """Whether a process holds the lock just now; nothing is written."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _BUSY
    finally:
        os.close(fd)
    return False


def holder(path: Path) -> str:
    """Who wrote itself into the lock file, in words."""
    return _described(_content(path))


def pid(path: Path) -> int | None:
    """The process that wrote itself into the lock file."""
    found = _content(path).get("pid")
    return found if isinstance(found, int) else None


def _check(fd: int, path: Path) -> None:
    """Who holds the lock writes itself into the file: not into one that has another name too, and is somebody's."""
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(fd)
        raise NotAllowed("is no lock file: it is no file, or has other names", path=path, hint="Remove it.")


def _locked(fd: int, path: Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        os.close(fd)
        raise NotAllowed("cannot be locked on this file system", path=path, hint="It is served read-only.") from error
    return True


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _sign(fd: int, path: Path) -> dict[str, Any] | None:
    stale = _parsed(os.pread(fd, 4096, 0))
    with contextlib.suppress(OSError):  # a full disk: the lock is held all the same, only nobody can say by whom
        disk.cut(fd, 0, path)
        disk.write(fd, json.dumps({"pid": os.getpid(), "at": clock.stamp()}).encode() + b"\n", path)
    return stale


def _content(path: Path) -> dict[str, Any]:
    try:
        return _parsed(fileio.read(path)) or {}
    except (FileNotFoundError, DagentdError):
        return {}


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _described(found: dict[str, Any]) -> str:
    return f"process {found.get('pid', '(unknown)')}, since {found.get('at', 'an unknown time')},"


def clear_stale(path: Path) -> None:
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
