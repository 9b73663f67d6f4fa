"""Kept journals: each is also linked into git's common folder, so that it outlives its worktree, with sealed copies
of its parts."""

from __future__ import annotations

import errno
import os
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.errors import DagentdError, from_oserror
from dagentd.model import ids, records
from dagentd.model.project import Project

_ENTRY = re.compile(r"(.+)\.([0-9]+)\.jsonl")


class KeptJournals:
    """`dagentd/kept/{sid}.{n}.jsonl`; entries are never replaced."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.folder = project.kept_dir

    def make(self) -> None:
        for folder in (self.folder.parent, self.folder):
            if not folder.is_dir():
                disk.make_folder(folder)

    def all(self) -> dict[str, list[Path]]:
        """The entries of every session, oldest first."""
        matches = [match for name in self._names() if (match := _ENTRY.fullmatch(name))]
        found: dict[str, list[Path]] = {}
        for match in sorted(matches, key=lambda match: (match[1], int(match[2]))):
            if ids.is_safe(match[1]):
                found.setdefault(match[1], []).append(self.folder / match[0])
        return found

    def of(self, session_id: str) -> list[Path]:
        """The entries of one session, oldest first."""
        pattern = re.compile(re.escape(session_id) + r"\.([0-9]+)\.jsonl")
        matches = [match for name in self._names() if (match := pattern.fullmatch(name))]
        return [self.folder / match[0] for match in sorted(matches, key=lambda match: int(match[1]))]

    def _names(self) -> list[str]:
        """The names in the folder of kept journals; none behind a link, which was not put there by us."""
        if not beneath.is_own_folder(self._project, self.folder):
            return []
        try:
            return beneath.names(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise from_oserror(error, self.folder) from error

    def free(self, session_id: str) -> Path:
        held = self.of(session_id)
        last = int(held[-1].name.rsplit(".", 2)[1]) if held else 0
        return self.folder / f"{session_id}.{last + 1}.jsonl"

    def with_inode(self, session_id: str, status: os.stat_result) -> Path | None:
        return next((path for path in self.of(session_id) if os.path.samestat(beneath.status(path), status)), None)

    def keep(self, session_id: str, journal: Path) -> Path | None:
        """Make sure that this journal's file is kept; None where the file system cannot link it there."""
        held = self.with_inode(session_id, beneath.status(journal))
        if held is not None:
            return held
        self.make()
        target = self.free(session_id)
        try:
            disk.link(journal, target)
        except OSError as error:
            if error.errno == errno.ELOOP:  # it was behind a link at that moment
                raise
            return None
        disk.sync_folder(self.folder)
        return target


# Sealed parts of a kept journal: compressed copies beside it, of which one that is overwritten in place is put back.
# A link is no copy: `cp -r` of a backup writes into the one file that both names have. A third of the bytes once more
# on disk, and 13 ms of a core for each megabyte, are the price (10,000 messages of 2 KB).

_PART = 1 << 20  # bytes of the journal in one part
_AT_CLOSE = 8 * _PART  # that closing waits for; there is more only where a long journal is new to us
_SOME = 1 << 18  # that are worth a part of their own while nothing has left chat
PART = ".z"
_NAME = re.compile(rf"(.+\.[0-9]+)\.([0-9]+)-([0-9]+)\{PART}")


@dataclass(frozen=True)
class SealedPart:
    path: Path
    start: int
    end: int


def sealed_parts(entry: Path) -> list[SealedPart]:
    """Those of one kept journal, in order."""
    found = [part for stem, part in _all(entry.parent) if stem == entry.stem]
    return sorted(found, key=lambda part: (part.start, part.end))


def sealed_paths(entry: Path) -> list[Path]:
    return [part.path for part in sealed_parts(entry)]


def sealed_of_session(folder: Path, session_id: str) -> list[Path]:
    """Also those whose journal is kept no more."""
    return [part.path for stem, part in _all(folder) if stem.rpartition(".")[0] == session_id]


def _all(folder: Path) -> Iterator[tuple[str, SealedPart]]:
    names = beneath.names(folder) if not disk.is_missing(folder) else []
    for match in filter(None, map(_NAME.fullmatch, names)):
        yield match[1], SealedPart(folder / match[0], int(match[2]), int(match[3]))


def seal(entry: Path, fd: int, size: int, *, everything: bool) -> None:
    """Copy what the journal has gained, or a part that somebody removed or damaged; a last part that is short is made
    again with it. Where the last is not what the journal holds there, that was altered and mended, and all is copied
    anew. Nothing is synced: whoever loses a part to a power failure has the journal."""
    found, held = sealed_parts(entry), list[SealedPart]()
    for part in found:
        held += [part] if part.start == (held[-1].end if held else 0) else []
    end = held[-1].end if held else 0
    if not everything and 0 <= size - end < _SOME:
        return
    if found and _content(found[-1].path) != os.pread(fd, found[-1].end - found[-1].start, found[-1].start):
        stale, held = found, []
    else:
        _renew_one(entry, fd, held[:-1])
        if end == size:
            return
        stale = [part for part in held[-1:] if part.end - part.start < _PART]
        held = held[: len(held) - len(stale)]
    start = held[-1].end if held else 0
    until = min(size, start + (_AT_CLOSE if everything else _PART))
    made = [_make(entry, at, os.pread(fd, min(_PART, until - at), at)) for at in range(start, until, _PART)]
    for part in stale:
        if part.path not in made:
            disk.discard(part.path)


def _renew_one(entry: Path, fd: int, parts: list[SealedPart]) -> None:
    """If it cannot be read; another one each time, as to read all of them would take long."""
    for part in random.sample(parts, min(1, len(parts))):
        if len(_content(part.path)) != part.end - part.start:
            _make(entry, part.start, os.pread(fd, part.end - part.start, part.start))


def _make(entry: Path, start: int, data: bytes) -> Path:
    path = entry.with_name(f"{entry.stem}.{start}-{start + len(data)}{PART}")
    atomic.put(path, zlib.compress(data, 1), sync=False)
    return path


def entry_of(part: Path) -> Path:
    """The kept journal that it is a part of, there or not."""
    return part.with_name(f"{part.stem.rpartition('.')[0]}.jsonl")


class SealedCopy:
    """All parts of a kept journal, to be read as that was."""

    def __init__(self, entry: Path) -> None:
        self._parts = sealed_parts(entry)
        self._last: tuple[SealedPart, bytes] | None = None  # one record after the other is looked for

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
        return zlib.decompress(fileio.read(path, fileio.CHAT_LIMIT))
    except (OSError, DagentdError, zlib.error):
        return b""
