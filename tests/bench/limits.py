"""What the machine itself can do with the same bytes."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path


def median_ms(action: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


class RawLog:
    """Append and fdatasync, nothing else."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._line = b"x" * 1180 + b"\n"  # a record with a message of 1 KiB

    def append(self) -> None:
        os.write(self._fd, self._line)
        os.fdatasync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


def replace_durably(path: Path, data: bytes) -> None:
    """Temp file, fsync, rename, fsync of the folder."""
    temp = path.with_suffix(".tmp")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.rename(temp, path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def write_plainly(path: Path, data: bytes) -> None:
    """Temp file and rename without a sync: what writing a projection is at the least."""
    temp = path.with_suffix(".tmp")
    temp.write_bytes(data)
    os.rename(temp, path)
