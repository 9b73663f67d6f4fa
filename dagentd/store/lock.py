"""One writer per project: an flock in git's common folder, whoever and wherever the other one is."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk
from dagentd.errors import Conflict, NotAllowed
from dagentd.model.project import Project

_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)


@dataclass
class Lock:
    """Held while `fd` is open. The file is never removed: two processes could then hold two files of one name."""

    fd: int
    stale: dict[str, Any] | None  # what a holder that died without releasing it left

    def release(self) -> None:
        with contextlib.suppress(OSError):
            disk.cut(self.fd, 0, Path("lock"))
        os.close(self.fd)


def take(project: Project, wait: float = 0.0) -> Lock:
    """The project's lock; Conflict naming the holder if it stays busy."""
    path = project.lock_file
    deadline = time.monotonic() + wait
    with disk.explained(path):
        if not project.own_dir.is_dir():
            disk.make_folder(project.own_dir)
        while (lock := _try(path)) is None:
            if time.monotonic() >= deadline:
                raise Conflict(f"{_holder(path)} is writing to this project", path=path, hint="dagentd status")
            time.sleep(0.05)
    return lock


def _try(path: Path) -> Lock | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(fd), os.stat(path)):
            raise BlockingIOError(errno.EAGAIN, "the lock file was replaced")
    except OSError as error:
        os.close(fd)
        if error.errno in _BUSY:
            return None
        raise NotAllowed("cannot be locked on this file system", path=path, hint="It is served read-only.") from error
    stale = _content(fd)
    with contextlib.suppress(OSError):  # a full disk: the lock is held all the same, only nobody can say by whom
        disk.cut(fd, 0, path)
        disk.write(fd, json.dumps({"pid": os.getpid(), "at": clock.stamp()}).encode() + b"\n", path)
    return Lock(fd, stale)


def _content(fd: int) -> dict[str, Any] | None:
    try:
        found = json.loads(os.pread(fd, 4096, 0))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _holder(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = _content(fd) or {}
    finally:
        os.close(fd)
    return f"process {found.get('pid', '(unknown)')}, since {found.get('at', 'an unknown time')},"
