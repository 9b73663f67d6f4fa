"""Lock files as other programs have them: whoever made the file holds the lock, and the file says who and since when.
Our own processes and threads wait for each other at an flock on its folder first."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk, process
from dagentd.adapters.temps import Temps
from dagentd.errors import Conflict, NotAllowed
from dagentd.model import jsontext, times

PATIENCE = 5.0  # seconds for a lock that another process holds
_PAUSE = 0.02
_UNSIGNED = 10.0  # seconds in which a program that makes the file first may still write its number into it
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
        _ours.add(path)
        try:
            yield
        finally:
            _ours.discard(path)
            _release(path, mine)
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
    fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
    if time.monotonic() >= deadline:
        found = _read(path)
        who = found[0] if found else Holder()
        hint = f"Try again when it has ended (ps -p {who.pid}); if that is no AGX program, remove the file."
        raise Busy(str(who), path=path, hint=hint)
    time.sleep(_PAUSE)


# --- the file -----------------------------------------------------------------------------------------------------


def _taken(path: Path, deadline: float) -> os.stat_result:
    while (mine := _attempt(path)) is None:
        _wait(path, deadline)
    return mine


def _attempt(path: Path) -> os.stat_result | None:
    """Our file under the lock's name, whole from the first moment; None if it is held."""
    found = _read(path)
    if path in _ours or (found is not None and not _is_stale(*found)):
        return None
    temp, mine = _signed(path)
    try:
        if found is None:
            disk.rename_new(temp, path)
            return mine
        return mine if _replaced(temp, path, found[1]) else None
    except (FileExistsError, FileNotFoundError):  # another one was faster; or its holder ended just now
        return None
    finally:
        with contextlib.suppress(FileNotFoundError):
            disk.remove(temp)


def _signed(path: Path) -> tuple[Path, os.stat_result]:
    pid = os.getpid()
    told = {"pid": pid, "timestamp": times.iso(clock.now()), "born": process.born(pid), "program": "dagentd"}
    temp, fd = _TEMPS.create(path)
    try:
        disk.write(fd, jsontext.encode(told) + b"\n", temp)
        return temp, os.fstat(fd)
    finally:
        os.close(fd)


def _replaced(temp: Path, path: Path, stale: os.stat_result) -> bool:
    """Whether the lock that we found stale was the one that we took. By an exchange, so that of two who take it over
    one learns that it took the other's, and gives it back."""
    if not disk.exchange(temp, path) or os.path.samestat(os.lstat(temp), stale):
        return True
    disk.exchange(temp, path)
    return False


def _read(path: Path) -> tuple[Holder, os.stat_result] | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return holder(os.pread(fd, 4096, 0)), os.fstat(fd)
    except IsADirectoryError:
        raise NotAllowed("is a folder where a lock file should be", path=path, hint="Move it away.") from None
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


def _release(path: Path, mine: os.stat_result) -> None:
    """Unless somebody took it from us: then it is not ours to remove."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.lstat(path), mine):
            disk.remove(path)
