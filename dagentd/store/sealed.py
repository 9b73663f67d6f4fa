"""Sealed parts of a kept journal: compressed copies beside it, of which one that is overwritten in place is put back.

A link is no copy: `cp -r` of a backup writes into the one file that both names have. A third of the bytes once more on
disk, and 13 ms of a core for each megabyte, are the price (10,000 messages of 2 KB)."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters import beneath, disk, files, publishing
from dagentd.errors import DagentdError
from dagentd.model import records

_PART = 1 << 20  # bytes of the journal in one part
_AT_CLOSE = 8 * _PART  # that closing waits for; there is more only where a long journal is new to us
_SOME = 1 << 18  # that are worth a part of their own while nothing has left chat
_NAME = re.compile(r"(.+\.[0-9]+)\.([0-9]+)-([0-9]+)\.z")


@dataclass(frozen=True)
class Part:
    path: Path
    start: int
    end: int


def parts(entry: Path) -> list[Part]:
    """Those of one kept journal, in order."""
    found = [part for stem, part in _all(entry.parent) if stem == entry.stem]
    return sorted(found, key=lambda part: (part.start, part.end))


def paths(entry: Path) -> list[Path]:
    return [part.path for part in parts(entry)]


def of_session(folder: Path, session_id: str) -> list[Path]:
    """Also those whose journal is kept no more."""
    return [part.path for stem, part in _all(folder) if stem.rpartition(".")[0] == session_id]


def _all(folder: Path) -> Iterator[tuple[str, Part]]:
    names = beneath.names(folder) if not disk.is_missing(folder) else []
    for match in filter(None, map(_NAME.fullmatch, names)):
        yield match[1], Part(folder / match[0], int(match[2]), int(match[3]))


def seal(entry: Path, fd: int, size: int, *, everything: bool) -> None:
    """Copy what the journal has gained; a last part that is short is made again with it. Where the last is not what
    the journal holds there, that was altered and mended, and all is copied anew. Nothing is synced: whoever loses a
    part to a power failure has the journal."""
    held = parts(entry)
    end = held[-1].end if held else 0
    if end == size or (not everything and 0 < size - end < _SOME):
        return
    if held and _content(held[-1].path) != os.pread(fd, end - held[-1].start, held[-1].start):
        stale, held = held, []
    else:
        stale = [part for part in held[-1:] if part.end - part.start < _PART]
        held = held[: len(held) - len(stale)]
    start = held[-1].end if held else 0
    until = min(size, start + (_AT_CLOSE if everything else _PART))
    made = [_make(entry, at, os.pread(fd, min(_PART, until - at), at)) for at in range(start, until, _PART)]
    for part in stale:
        if part.path not in made:
            disk.discard(part.path)


def _make(entry: Path, start: int, data: bytes) -> Path:
    path = entry.with_name(f"{entry.stem}.{start}-{start + len(data)}.z")
    publishing.put(path, zlib.compress(data, 1), sync=False)
    return path


class Copy:
    """All parts of a kept journal, to be read as that was."""

    def __init__(self, entry: Path) -> None:
        self._parts = parts(entry)
        self._last: tuple[Part, bytes] | None = None  # one record after the other is looked for

    def read(self, start: int, end: int) -> bytes:
        data = b""
        for part in self._parts:
            at = start + len(data)
            if part.start <= at < min(part.end, end):
                if self._last is None or self._last[0] != part:
                    self._last = part, _content(part.path)
                data += self._last[1][at - part.start : end - part.start]
        return data

    def has(self, pos: int, checksum: str) -> bool:
        """Whether a record with this hash ended there."""
        data = self.read(0, pos)
        line = data[data.rfind(b"\n", 0, pos - 1) + 1 :]
        return len(data) == pos > 0 and records.checksum(line) == checksum


def _content(path: Path) -> bytes:
    """Nothing if it cannot be read: it is then done without."""
    try:
        return zlib.decompress(files.read(path, files.CHAT_LIMIT))
    except (OSError, DagentdError, zlib.error):
        return b""
