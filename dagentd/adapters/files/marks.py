"""Whether a file is just as it was, without reading it; which of them are our own; and since when one that another
program may be writing is as it is."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from dagentd.adapters import clock

Mark = tuple[int, int, int, int]

TICK = 2_500_000_000  # nanoseconds in which two writes may leave the same time behind: two seconds on FAT, mostly 4 ms
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


def seen(path: str | Path, *, follow: bool = False) -> tuple[int, ...]:
    """Another one as soon as anybody wrote to it, or it came or went; but for a write in the same tick of the clock. By
    the time of change too, which no program can put back. `follow` means what is behind its links."""
    try:
        status = os.stat(path, follow_symlinks=follow)
    except OSError as error:
        return (error.errno or 0,)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def of_content(path: Path, digest: bytes) -> str:
    """By which a file that holds these bytes is known again, also after a reboot, which may give devices other numbers.
    Whoever writes the same bytes once more gives it another time. Empty if there is none."""
    found = of(path)
    return f"{digest.hex()[:32]} {found[3]}" if found else ""


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
    if clock.now().timestamp() * 1e9 - latest < TICK:
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


# Files that another program may be writing just now: since when each is as it is. It is known here and not to whoever
# looks, because a worker that must wait ends, and comes again as another one.

PATIENCE = 5.0  # seconds for a file that is written all the time and never makes sense
_MANY = 1000


@dataclass(frozen=True)
class _Suspect:
    state: object
    since: float  # it is so
    first: float  # it was waited for
    last: float  # it was looked at


_suspects: dict[Path, _Suspect] = {}


def age(path: Path, state: object) -> float:
    """For how many seconds a file has been seen in this state, which makes no sense yet."""
    now, known = clock.monotonic(), _suspects.get(path)
    if known is None:
        _forget_some(now)
        known = _Suspect(state, now, now, now)
    since = known.since if known.state == state else now
    first = known.first if now - known.last < PATIENCE else now
    _suspects[path] = _Suspect(state, since, first, now)
    return now - since


def is_worth_waiting(path: Path) -> bool:
    """False, once, for what has been waited for in vain; who looks again later waits again."""
    now, known = clock.monotonic(), _suspects.get(path)
    if known is not None and now - known.first >= PATIENCE:
        _suspects[path] = replace(known, first=now)
        return False
    return True


def settled(path: Path) -> None:
    """It makes sense, or is given up."""
    _suspects.pop(path, None)


def _forget_some(now: float) -> None:
    """Of files that are long gone."""
    if len(_suspects) >= _MANY:
        for path in [path for path, each in list(_suspects.items()) if now - each.last > 60 * PATIENCE]:
            _suspects.pop(path, None)
