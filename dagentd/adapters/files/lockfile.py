"""Lock files as other programs have them: whoever made the file holds the lock, and the file says who and since when.
Our own processes and threads wait for each other at an flock on its folder first."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, process
from dagentd.adapters.files import beneath, disk, marks
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import Conflict, NotAllowed
from dagentd.model import jsontext, times
from dagentd.waiting import pause

PATIENCE = 5.0  # seconds for a lock that another process holds
_PAUSE = 0.02
_UNSIGNED = 2.0  # seconds in which a program that makes the file first may still write its number into it
# Seconds by which a process may seem younger than its lock: only the clock was put forward since.
_REUSED = 60.0
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)
_PID = re.compile(r"\d{1,10}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][0-9:.]+(?:Z|[+-]\d\d:?\d\d)?")
_TEMPS = Temps()
_ours: set[Path] = set()  # what threads of this process hold, for file systems without flock


class Busy(Conflict):
    """Another process holds the lock; it may be free again soon."""


@dataclass(frozen=True)
class Holder:
    pid: int | None = None
    at: datetime | None = None
    born: int | None = None  # only our own locks have it

    def __str__(self) -> str:
        since = times.iso(self.at) if self.at else "an unknown time"
        return f"process {self.pid or '(unknown)'} has held this lock since {since}"


@contextlib.contextmanager
def held(path: Path, wait: float | None = None) -> Iterator[None]:
    """The lock, for as long as this lasts; Conflict naming the holder if it stays busy. One whose holder is dead is
    taken over. The folder of `path` must be there."""
    deadline = time.monotonic() + (PATIENCE if wait is None else wait)
    with disk.explained(path):
        guard = _guard(path, deadline)
    try:
        with disk.explained(path):
            mine = _taken(path, deadline)
        marks.settled(path)
        _ours.add(path)
        try:
            yield
        finally:
            _ours.discard(path)
            _release(path, mine)
            os.close(mine)
    finally:
        os.close(guard)


def holder(data: bytes) -> Holder:
    """Who is named in a lock file: as JSON, or as a number and a time in plain text."""
    try:
        raw = jsontext.decode(data)
    except jsontext.Undecodable:
        raw = None
    if isinstance(raw, dict):
        return Holder(_number(raw, "pid", "processId"), _moment(raw, "timestamp", "time", "at", "created"),
                      _number(raw, "born"))  # fmt: skip
    text = data.decode("utf-8", "replace")
    at, pid = _TIME.search(text), _PID.search(_TIME.sub(" ", text))
    return Holder(int(pid[0]) if pid else None, times.parse(at[0]) if at else None)


def _number(raw: dict[str, Any], *names: str) -> int | None:
    found = next((raw[name] for name in names if name in raw), None)
    return int(found) if isinstance(found, int) or (isinstance(found, str) and found.isdecimal()) else None


def _moment(raw: dict[str, Any], *names: str) -> datetime | None:
    found = next((raw[name] for name in names if name in raw), None)
    if isinstance(found, (int, float)) and 0 < found < 1e14:
        return datetime.fromtimestamp(found / 1000 if found > 1e11 else found, UTC)  # JavaScript counts milliseconds
    return times.parse(found)


# --- ours ---------------------------------------------------------------------------------------------------------


def _guard(path: Path, deadline: float) -> int:
    """An flock on the folder: no file of ours lies in it, and it ends with the process."""
    fd = beneath.opened_folder(path.parent)
    try:
        while not _flocked(fd):
            _wait(path, deadline)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _flocked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _BUSY  # a file system without flock: then there is the file alone
    return True


def _wait(path: Path, deadline: float) -> None:
    """A worker comes again and again, and each time with a new deadline: the lock's own time counts too."""
    if marks.age(path, "held") >= PATIENCE or time.monotonic() >= deadline:
        who = _named(path)
        hint = f"Try again when it has ended (ps -p {who.pid}); if that is no AGX program, remove the file."
        raise Busy(str(who), path=path, hint=hint)
    pause(_PAUSE)


# --- the file -----------------------------------------------------------------------------------------------------


def _taken(path: Path, deadline: float) -> int:
    while (mine := _attempt(path)) is None:
        _wait(path, deadline)
    return mine


def _attempt(path: Path) -> int | None:
    """Our file under the lock's name, whole from the first moment, and open: while it is, no other file can have its
    inode number. None if the lock is held."""
    if path in _ours:
        return None
    try:
        there = _open(path)
    except FileNotFoundError:
        return _placed(path, lambda temp: disk.rename_new(temp, path))
    try:
        if not _is_stale(_holder(there, path), os.fstat(there)):
            return None
        return _placed(path, lambda temp: _replace(temp, path, there))
    finally:
        os.close(there)


def _placed(path: Path, place: Callable[[Path], None]) -> int | None:
    temp, mine = _signed(path)
    try:
        place(temp)
    except (FileExistsError, FileNotFoundError):  # another one was faster; or its holder ended just now
        os.close(mine)
        return None
    except BaseException:
        os.close(mine)
        raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            disk.remove(temp)
    return mine


def _signed(path: Path) -> tuple[Path, int]:
    pid = os.getpid()
    told = {"pid": pid, "timestamp": times.iso(clock.now()), "born": process.born(pid), "program": "dagentd"}
    temp, fd = _TEMPS.create(path)
    try:
        disk.write(fd, jsontext.encode(told) + b"\n", temp)
    except BaseException:
        os.close(fd)
        with contextlib.suppress(OSError):
            disk.remove(temp)
        raise
    return temp, fd


def _replace(temp: Path, path: Path, stale: int) -> None:
    """By an exchange, so that of two who take a stale lock over one learns that it took the other's, gives it back, and
    has FileExistsError."""
    if disk.exchange(temp, path) and not os.path.samestat(beneath.status(temp), os.fstat(stale)):
        disk.exchange(temp, path)
        raise FileExistsError(path)


def _open(path: Path) -> int:
    return beneath.opened(path, os.O_RDONLY | os.O_NONBLOCK)


def _holder(fd: int, path: Path) -> Holder:
    try:
        return holder(os.pread(fd, 4096, 0))
    except IsADirectoryError:
        raise NotAllowed("is a folder where a lock file should be", path=path, hint="Move it away.") from None


def _named(path: Path) -> Holder:
    try:
        fd = _open(path)
    except FileNotFoundError:  # let go of just now
        return Holder()
    try:
        return _holder(fd, path)
    finally:
        os.close(fd)


def _is_stale(who: Holder, status: os.stat_result) -> bool:
    """Nobody holds it any more. We have the guard: one with our own number is none of ours."""
    if who.pid is None:
        return time.time() - status.st_mtime > _UNSIGNED
    if who.pid == os.getpid() or not process.lives(who.pid):
        return True
    if who.born is not None:
        return process.born(who.pid) not in (who.born, None)
    started = process.born_at(who.pid)
    return who.at is not None and started is not None and started > who.at.timestamp() + _REUSED


def _release(path: Path, mine: int) -> None:
    """Unless somebody took it from us: then it is not ours to remove."""
    with contextlib.suppress(OSError):
        if os.path.samestat(beneath.status(path), os.fstat(mine)):
            disk.remove(path)
