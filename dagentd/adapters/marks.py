"""Marks of files, by which a file is known to be just as it was, without reading it; and which of them are our own."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from dagentd.adapters import clock

Mark = tuple[int, int, int, int]

_TICK = 2_500_000_000  # nanoseconds in which two writes may leave the same time behind: two seconds on FAT, mostly 4 ms
_MOST = 8_000  # files whose last write by us is remembered: 3.5 MB
_own: dict[str, Mark] = {}  # by text: a Path takes 400 bytes more
_lock = threading.Lock()


def of(path: str | Path) -> Mark | None:
    """Equal as long as nobody wrote to it, but for a write of the same length in the same tick of the clock (4 ms)."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return of_status(status)


def of_status(status: os.stat_result) -> Mark:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def names_of(path: Path) -> int:
    """How many a file has; 0 if it is not there."""
    try:
        return os.lstat(path).st_nlink
    except OSError:
        return 0


def untouched(path: str | Path) -> Mark | None:
    """Equal as long as nobody wrote to it at all; None where that cannot be told, because it is not there or was
    written only just now. By the time of change, which no program can put back."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    latest = max(status.st_ctime_ns, status.st_mtime_ns)
    if clock.now().timestamp() * 1e9 - latest < _TICK:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def note(path: Path, temp: Path) -> None:
    """`temp`, which nobody else knows, is about to become the file at `path`."""
    mark = of(temp)
    with _lock:
        _own.pop(str(path), None)
        if mark is not None:
            _own[str(path)] = mark
        if len(_own) > _MOST:
            del _own[next(iter(_own))]


def is_own(path: Path) -> bool:
    """Whether the file is just as we wrote it: a change that was heard of was then our own."""
    known = _own.get(str(path))
    return known is not None and known == of(path)
