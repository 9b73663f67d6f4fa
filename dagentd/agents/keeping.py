"""Kept transcripts: byte for byte what an agent wrote, in a folder of ours that outlives the agent's.

The file of a conversation holds a beginning of its transcript, and its size says how far that was read: there is no
other record that could disagree after a crash. Nothing in it is ever altered. A transcript that does not go on as it
began has a part of its own beside it. What has been idle is sealed: compressed, and compared before the plain file
goes; where both are there, the plain one counts."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dagentd.adapters.files import atomic, disk, fileio
from dagentd.adapters.files.atomic import BESIDE, left_beside
from dagentd.agents import compressed
from dagentd.errors import CorruptFile, LimitReached
from dagentd.model.scrubbed_text import Spans, masked

SEALED = ".zst"
_MOST_PARTS = 999
_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
_NAME = re.compile(rf"({_ID}(?:\.{_ID}){{0,2}})\.jsonl(?:\{SEALED})?")
_NUMBER = re.compile(r"[0-9]{1,3}")
_STATE = "state"
_PIECE = 1 << 20
_SYNCED = 4 << 20  # bytes that are written before they are synced: a message that is synced meanwhile waits for them


def key_of(uuid: str, subagent: str | None = None) -> str | None:
    """The key that a conversation is kept under; None for ids that are no names of files of ours. A number alone would
    be taken for that of a part."""
    if not re.fullmatch(_ID, uuid):
        return None
    if subagent is None:
        return uuid
    if _NUMBER.fullmatch(subagent) or subagent == _STATE:
        subagent = f"agent-{subagent}"
    return f"{uuid}.{subagent}" if re.fullmatch(_ID, subagent) else None


@dataclass(frozen=True, order=True)
class Part:
    """One beginning of a transcript. `path` is where it is while it is plain."""

    path: Path
    number: int = 0

    @property
    def sealed_path(self) -> Path:
        return self.path.with_name(self.path.name + SEALED)

    @property
    def is_sealed(self) -> bool:
        return not self.path.exists() and self.sealed_path.exists()

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            with fileio.opened(self.sealed_path) as packed:
                return compressed.size_of(packed, self.sealed_path)

    def changed(self) -> float:
        """When it last gained something, or was sealed."""
        return max(path.stat().st_mtime for path in (self.path, self.sealed_path) if path.exists())

    def stored(self) -> int:
        """The bytes that it takes on disk."""
        return sum(path.stat().st_size for path in (self.path, self.sealed_path) if path.exists())

    def opened(self) -> BinaryIO:
        """Its bytes as a stream, from the first one on. It may be sealed, or become plain again, just now."""
        for _ in range(2):
            try:
                return fileio.opened(self.path)
            except FileNotFoundError:
                pass
            try:
                return compressed.unpacked(fileio.opened(self.sealed_path), self.sealed_path)
            except FileNotFoundError:
                continue
        return fileio.opened(self.path)

    def opened_at(self, start: int) -> BinaryIO:
        stream = self.opened()
        if stream.seekable():
            stream.seek(start)
        else:
            skip(stream, start)
        return stream

    # --- writing ------------------------------------------------------------------------------------------------

    def append(self, pieces: Iterable[bytes]) -> int:
        """How many bytes it gained, all of them on disk when this returns."""
        gained = unsynced = 0
        with disk.explained(self.path):
            fd = disk.open_append(self.path)
            try:
                for piece in pieces:
                    disk.write(fd, piece, self.path)
                    gained, unsynced = gained + len(piece), unsynced + len(piece)
                    if unsynced >= _SYNCED:
                        disk.sync_data(fd, self.path)
                        unsynced = 0
                if unsynced:
                    disk.sync_data(fd, self.path)
            finally:
                os.close(fd)
        return gained

    def seal(self) -> None:
        """Compressed, and read back and compared before the plain file goes."""
        with disk.explained(self.path):
            with _made(self.sealed_path) as (temp, fd):
                with fileio.opened(self.path) as plain:
                    compressed.pack(plain, os.fstat(plain.fileno()).st_size, lambda data: disk.write(fd, data, temp))
                disk.sync(fd, temp)
                _check_equal(self.path, temp)
                if self.sealed_path.exists():  # of an earlier attempt, which did not come to remove the plain one
                    disk.remove(self.sealed_path)
            disk.remove(self.path)

    def unseal(self) -> None:
        """Plain again: its conversation goes on."""
        with disk.explained(self.path):
            with _made(self.path) as (temp, fd):
                with compressed.unpacked(fileio.opened(self.sealed_path), self.sealed_path) as packed:
                    while piece := packed.read(_PIECE):
                        disk.write(fd, piece, temp)
                if os.fstat(fd).st_size != self.size():
                    raise CorruptFile("is cut", path=self.sealed_path, hint=compressed.BACKUP)
                disk.sync(fd, temp)
            disk.remove(self.sealed_path)

    def remove(self) -> None:
        with disk.explained(self.path):
            for path in (self.path, self.sealed_path):
                if path.exists():
                    disk.remove(path)


@contextlib.contextmanager
def _made(path: Path) -> Iterator[tuple[Path, int]]:
    """A new file, open under a temp name, which gets its own at the end, or goes where anything fails."""
    temp, fd = BESIDE.create(path)
    try:
        yield temp, fd
        disk.rename_new(temp, path)
    except BaseException:
        disk.discard(temp)
        raise
    finally:
        os.close(fd)
    disk.sync_folder(path.parent)


def _check_equal(plain: Path, sealed: Path) -> None:
    with fileio.opened(plain) as one, compressed.unpacked(fileio.opened(sealed), sealed) as other:
        if common(one, other)[1:] != (True, True):
            raise CorruptFile("was not compressed as it is; it stays plain", path=plain, hint="Look at the disk.")


def common(one: BinaryIO, other: BinaryIO, scrubbed: Spans = ()) -> tuple[int, bool, bool]:
    """How many bytes two streams have in common at least, from their beginning, and which of them ended there. Where
    the other one was scrubbed, they may differ."""
    same = 0
    while True:
        left, right = masked(exactly(one, _PIECE), same, scrubbed), exactly(other, _PIECE)
        shorter = min(len(left), len(right))
        if left[:shorter] != right[:shorter]:
            return same, False, False
        same += shorter
        if shorter < _PIECE:
            return same, len(left) == shorter, len(right) == shorter


def exactly(stream: BinaryIO, count: int) -> bytes:
    """So many bytes, fewer only at the end."""
    pieces, left = [], count
    while left and (piece := stream.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def skip(stream: BinaryIO, count: int) -> None:
    while count and (piece := stream.read(min(count, _PIECE))):
        count -= len(piece)


class Keep:
    """The kept conversations of one agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        with disk.explained(self.folder):
            disk.make_folders(self.folder)

    def all(self) -> dict[str, list[Part]]:
        """Each conversation, by its key, with its parts in order."""
        found: dict[str, set[int]] = {}
        for name in self._names():
            if (match := _NAME.fullmatch(name)) is None:
                continue
            key, _, last = match[1].rpartition(".")
            if not key or not (last == _STATE or _NUMBER.fullmatch(last)):
                found.setdefault(match[1], set()).add(0)
            elif last != _STATE:
                found.setdefault(key, set()).add(int(last))
        return {key: [self._part(key, number) for number in sorted(numbers)] for key, numbers in found.items()}

    def parts(self, key: str) -> list[Part]:
        """By asking for each number: 1,000 conversations are not listed for one line of one of them."""
        found = []
        for number in range(_MOST_PARTS + 1):
            part = self._part(key, number)
            if not (part.path.exists() or part.sealed_path.exists()):
                break
            found.append(part)
        return found

    def begin(self, key: str, number: int) -> Part:
        """A new and empty part."""
        if number > _MOST_PARTS:
            hint = f"dagentd forget it, or leave its folder out: agents.ignore_paths. Kept are {_MOST_PARTS + 1} parts."
            raise LimitReached("is rewritten again and again", path=self.folder / f"{key}.jsonl", hint=hint)
        part = self._part(key, number)
        with disk.explained(part.path):
            os.close(disk.create(part.path))
            disk.sync_folder(self.folder)
        return part

    def state_file(self, key: str) -> Path:
        return self.folder / f"{key}.{_STATE}.jsonl"

    def files_folder(self, uuid: str) -> Path:
        """Where the attachments of a conversation are."""
        return self.folder / f"{uuid}.files"

    def attach(self, uuid: str, name: str, data: bytes) -> None:
        """A file beside a transcript, once for each content that it had."""
        target = self.files_folder(uuid).joinpath(*(part for part in Path(name).parts if part not in ("/", "..")))
        with disk.explained(target):
            disk.make_folders(target.parent)
        for number in range(_MOST_PARTS + 1):
            path = target.with_name(f"{target.name}.{number}") if number else target
            if fileio.holds(path, data):
                return
            if disk.is_missing(path):
                atomic.put(path, data)
                return

    def discard_temps(self) -> None:
        """Delete the temporary files that a crash left: none of them has taken the place of anything."""
        for temp, _ in left_beside(self.folder):
            disk.discard(temp)

    def stored(self) -> int:
        """The bytes that all of it takes on disk."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size
                except FileNotFoundError:  # sealed just now
                    continue
        return total

    def _part(self, key: str, number: int) -> Part:
        return Part(self.folder / (f"{key}.{number}.jsonl" if number else f"{key}.jsonl"), number)

    def _names(self) -> list[str]:
        with disk.explained(self.folder):
            if disk.is_missing(self.folder):
                return []
            with os.scandir(self.folder) as entries:
                return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
