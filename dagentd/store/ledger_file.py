"""A file of JSON lines that several processes add to, one after the other, and that is begun anew when it is long."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk, files, publishing
from dagentd.errors import Conflict
from dagentd.model import jsontext

LONG = 2 << 20  # bytes
_PATIENCE = 5.0  # seconds: whoever holds it longer does not run
Record = dict[str, Any]


class LedgerFile:
    """Not safe for several threads. Without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._read = (0, 0)  # inode, and how far we have read it
        self._long = LONG  # more where even what must stay is long

    @contextlib.contextmanager
    def alone(self) -> Iterator[Callable[[Record], None]]:
        """What adds a record, durably, while nobody else can."""
        if self._path is None:
            yield lambda _: None
            return
        with disk.explained(self._path):
            fd = self._locked(self._path)
            try:
                yield lambda record: self._add(fd, record)
            finally:
                os.close(fd)

    def news(self) -> tuple[bool, list[Record]]:
        """What was added since this was last asked; and whether it is all there is, because the file is another one."""
        try:
            found = os.stat(self._path) if self._path else None
        except FileNotFoundError:
            found = None
        if found is None or self._path is None or (found.st_ino, found.st_size) == self._read:
            return False, []
        anew = found.st_ino != self._read[0] or found.st_size < self._read[1]
        start = 0 if anew else self._read[1]
        data = files.read(self._path, files.CHAT_LIMIT)[start:]
        whole = data[: data.rfind(b"\n") + 1]  # somebody may be writing the rest just now
        self._read = (found.st_ino, start + len(whole))
        return anew, _records(whole)

    def begin_anew(self, kept: Callable[[list[Record]], tuple[list[Record], list[Record]]]) -> None:
        """If it is long: with what `kept` says must stay, and of what may stay the newest that make it half as long."""
        if self._path is None or self._read[1] <= self._long:
            return
        must, may = (_lines(some) for some in kept(_records(files.read(self._path, files.CHAT_LIMIT))))
        room = LONG // 2 - sum(map(len, must))
        while may and sum(map(len, may)) > room:
            del may[: 1 + len(may) // 10]
        publishing.put(self._path, b"".join([*may, *must]))
        self._long = max(LONG, 2 * sum(map(len, must)))

    def _locked(self, path: Path) -> int:
        """Open for adding; once more if it was begun anew while we waited."""
        end = clock.monotonic() + _PATIENCE
        while True:
            disk.make_folders(path.parent)
            with contextlib.suppress(FileExistsError):
                os.close(disk.create(path))
            fd = disk.open_append(path)
            with contextlib.suppress(FileNotFoundError, BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(fd).st_ino == os.stat(path).st_ino:
                    return fd
            os.close(fd)
            if clock.monotonic() > end:
                raise Conflict("is held by another process", path=path, hint=f"`fuser {path}` names it.")
            time.sleep(0.005)

    def _add(self, fd: int, record: Record) -> None:
        assert self._path is not None
        size = os.fstat(fd).st_size
        torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"  # by a crash: it ends here, and is no record
        disk.write(fd, (b"\n" if torn else b"") + jsontext.encode(record) + b"\n", self._path)
        disk.sync_data(fd, self._path)


def _lines(records: Iterable[Record]) -> list[bytes]:
    return [jsontext.encode(each) + b"\n" for each in records]


def _records(data: bytes) -> list[Record]:
    found = []
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(record := jsontext.decode_own(line), dict):
                found.append(record)
    return found
