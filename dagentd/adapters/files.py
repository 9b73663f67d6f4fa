"""Whole files: read without following links, replaced without losing what another program wrote meanwhile."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dagentd.adapters import disk, marks
from dagentd.adapters.temps import Temps
from dagentd.errors import CorruptFile, NotAllowed, NotFound, told

DOCUMENT_LIMIT = 16 << 20
CHAT_LIMIT = 1 << 30  # a chat of 50 000 messages is 60 MB and is read
_MORE = 1 << 16  # bytes of a file that has grown, or of one that tells no size
_PART = 1 << 20
_BESIDE = Temps()


class Changed(Exception):
    """The file is not as the caller read it: look again before writing."""


@dataclass
class Replaced:
    """The file that lost its name to ours, still open: a program that opened it before may yet write to it.
    It has the temp name until it is closed, so that what is written to it outlives us."""

    fd: int
    seen: bytes
    temp: Path | None = None

    def read(self) -> bytes:
        return read_fd(self.fd, CHAT_LIMIT)

    def close(self) -> None:
        """Nothing in it is needed any more."""
        self.leave()
        if self.temp is not None:
            _discard(self.temp)

    def leave(self) -> None:
        """Something in it could not be taken in: whoever starts next finds it."""
        os.close(self.fd)


@dataclass
class Published:
    digest: bytes
    replaced: Replaced | None


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def mark(path: Path, data: bytes) -> str:
    """By which a file that holds these bytes is known again, also after a reboot, which may give devices other numbers.
    Whoever writes the same bytes once more gives it another time. Empty if there is none."""
    found = marks.of(path)
    return f"{digest(data).hex()[:32]} {found[3]}" if found else ""


def read(path: Path, limit: int = DOCUMENT_LIMIT) -> bytes:
    """The bytes of a regular file; FileNotFoundError if there is none, an error in words for all else."""
    fd = _open_told(path)
    try:
        return _read_regular(fd, path, limit)
    finally:
        os.close(fd)


def tail(path: Path, limit: int) -> tuple[bytes, int]:
    """The last bytes of a regular file of any size, and that size."""
    with disk.explained(path):
        fd = _open(path)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise NotAllowed("is not a regular file", path=path, hint="Move what is in its place away.")
            return os.pread(fd, limit, max(0, status.st_size - limit)), status.st_size
        finally:
            os.close(fd)


def opened(path: Path) -> BinaryIO:
    """A regular file to be read piece by piece; FileNotFoundError and errors in words as `read` has them."""
    fd = _open_told(path)
    try:
        _regular(fd, path)
    except BaseException:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def _open_told(path: Path) -> int:
    """FileNotFoundError as it is, because much may be missing; all else in words."""
    try:
        return _open(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise told(error, path) from error


def _open(path: Path) -> int:
    # O_NONBLOCK: opening a FIFO that somebody put there must not wait for a writer.
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _regular(fd: int, path: Path) -> os.stat_result:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise NotAllowed("is not a regular file", path=path, hint="Move what is in its place away.")
    return status


def _read_regular(fd: int, path: Path, limit: int) -> bytes:
    status = _regular(fd, path)
    if status.st_size > limit:
        raise CorruptFile(
            f"is {status.st_size >> 20} MiB; a document of its kind has at most {limit >> 20} MiB",
            path=path,
            hint="Move the file away; dagentd leaves it as it is.",
        )
    with disk.explained(path):
        return read_fd(fd, limit)


def read_fd(fd: int, limit: int) -> bytes:
    """From the beginning, whatever its position; a file that grows while it is read ends at its end. Room is taken for
    what it has: 16 MiB for whatever comes left the memory of every thread full of holes."""
    parts, offset, room = [], 0, os.fstat(fd).st_size
    while offset < limit and (part := os.pread(fd, room or _MORE, offset)):
        parts.append(part)
        offset, room = offset + len(part), 0
    return b"".join(parts)


def publish(
    path: Path, chunks: Iterable[bytes], *, expect: bytes | None, sync: bool, temps: Temps = _BESIDE,
    beside: Collection[Path] = (),
) -> Published:  # fmt: skip
    """Put a whole new file at `path`. `expect` is the digest of what is there as the caller read it, None for
    nothing; `Changed` if that is no longer so, or if the temp file must be elsewhere: look again. Writes the temp file
    first: what is compared is then compared at the last moment. A new file must be wanted `beside` others."""
    # The folder is opened first: without a descriptor for it nothing has happened yet.
    folder = _open_folder_of(path, expect) if sync else None
    try:
        hashed, replaced = _put_in_place(path, chunks, expect, sync, temps, beside)
        if folder is not None:
            _sync_names(folder, path.parent, replaced)
    finally:
        if folder is not None:
            os.close(folder)
    return Published(hashed, replaced)


def _put_in_place(
    path: Path, chunks: Iterable[bytes], expect: bytes | None, sync: bool, temps: Temps, beside: Collection[Path]
) -> tuple[bytes, Replaced | None]:
    old = _open_expected(path, expect)
    try:
        temp, fd = temps.create(path)
        hashed = _write_temp(temp, fd, chunks, old, sync)
        marks.note(path, temp)
        return hashed, _take_name(temp, path, old, expect, beside)
    except OSError as error:
        if old is not None:
            os.close(old)
        if error.errno != errno.EXDEV:
            raise
        temps.keep_beside(path)
        raise Changed(path) from None
    except BaseException:
        if old is not None:
            os.close(old)
        raise


def _sync_names(folder: int, path: Path, replaced: Replaced | None) -> None:
    try:
        disk.sync_names(folder, path)
    except BaseException:
        if replaced is not None:
            replaced.leave()
        raise


def _open_folder_of(path: Path, expect: bytes | None) -> int:
    try:
        return disk.open_folder(path.parent)
    except FileNotFoundError:
        if expect is None:
            raise
        raise Changed(path) from None


def _open_expected(path: Path, expect: bytes | None) -> int | None:
    if expect is None:
        return None
    try:
        return _open(path)
    except FileNotFoundError:
        raise Changed(path) from None


def _write_temp(temp: Path, fd: int, chunks: Iterable[bytes], old: int | None, sync: bool) -> bytes:
    hashed = hashlib.sha256()
    try:
        if old is not None:
            disk.like(fd, os.fstat(old), temp)
        for chunk in chunks:
            disk.write(fd, chunk, temp)
            hashed.update(chunk)
        if sync:
            disk.sync(fd, temp)
    except BaseException:
        _discard(temp)
        raise
    finally:
        os.close(fd)
    return hashed.digest()


def _discard(temp: Path) -> None:
    """Where it cannot be removed, the next start does."""
    with contextlib.suppress(OSError):
        disk.remove(temp)


def check_there(beside: Collection[Path]) -> None:
    """Before a folder gets a new name: one that loses files is being removed, and git, which has read what is in it,
    fails to remove it with one more. FileNotFoundError then."""
    for path in beside:
        os.lstat(path)


def _take_name(
    temp: Path, path: Path, old: int | None, expect: bytes | None, beside: Collection[Path]
) -> Replaced | None:
    try:
        if old is None or expect is None:
            check_there(beside)
            disk.rename_new(temp, path)
            return None
        if digest(read_fd(old, CHAT_LIMIT)) != expect:
            raise Changed(path)
        exchanged = disk.exchange(temp, path)
    except BaseException as error:
        _discard(temp)
        vanished = isinstance(error, FileNotFoundError) and old is not None  # else its folder is gone
        if vanished or isinstance(error, FileExistsError):
            raise Changed(path) from None
        raise
    if not exchanged:
        return Replaced(old, expect)
    if os.path.samestat(os.fstat(old), os.stat(temp, follow_symlinks=False)):
        return Replaced(old, expect, temp)
    return Replaced(_open_other(old, temp, path), expect, temp)


def _open_other(old: int, temp: Path, path: Path) -> int:
    """Somebody renamed another file into place after we compared: that one was replaced. If it cannot be read,
    it gets its name back."""
    try:
        other = _open(temp)
    except OSError as error:
        disk.exchange(temp, path)
        _discard(temp)
        raise told(error, path) from error
    os.close(old)
    return other


def put(path: Path, data: bytes, *, sync: bool = True, temps: Temps = _BESIDE) -> None:
    """Replace a file that only we write, or make it."""
    try:
        expect = digest(read(path, CHAT_LIMIT))
    except FileNotFoundError:
        expect = None
    done = publish(path, [data], expect=expect, sync=sync, temps=temps)
    if done.replaced is not None:
        done.replaced.close()


def still_open(path: Path, seen: bytes) -> Replaced:
    """A file that was set aside, to see what is yet written to it."""
    return Replaced(_open(path), seen)


def back_up(path: Path, keep: int, data: bytes | None = None, temps: Temps = _BESIDE) -> Path:
    """`NAME.backup` holds the original for ever; later contents go to `.backup.1`, `.2`, …, the newest
    `keep` of which stay, and the one made now in any case. `data` is what it holds, if the caller has read it.
    FileNotFoundError if it is gone: its folder may be about to go too."""
    data = read(path, CHAT_LIMIT) if data is None else data
    first = path.with_name(f"{path.name}.backup")
    for held in [first, *numbered(path, "backup")]:
        if holds(held, data):
            return held
    target = first
    if os.path.lexists(first):
        target = next_numbered(path, "backup")
    publish(target, [data], expect=None, sync=True, temps=temps, beside=[path])
    for old in numbered(path, "backup")[: -max(keep, 1)]:
        disk.remove(old)
    return target


def holds(path: Path, data: bytes) -> bool:
    """Whether a file has just these bytes; False if there is none. Compared in parts: a second copy of a long chat in
    memory takes longer to come by than all else here."""
    try:
        with disk.explained(path):
            fd = _open(path)
    except NotFound:
        return False
    try:
        if _regular(fd, path).st_size != len(data):
            return False
        parts = range(0, len(data), _PART)
        return all(os.pread(fd, _PART, at) == data[at : at + _PART] for at in parts)
    finally:
        os.close(fd)


def numbered(path: Path, kind: str) -> list[Path]:
    """The files `NAME.kind.N`, in the order of their numbers."""
    pattern = re.compile(re.escape(f"{path.name}.{kind}.") + "([1-9][0-9]*)")
    found = [match for name in os.listdir(path.parent) if (match := pattern.fullmatch(name))]
    return [path.with_name(match[0]) for match in sorted(found, key=lambda match: int(match[1]))]


def next_numbered(path: Path, kind: str) -> Path:
    held = numbered(path, kind)
    last = int(held[-1].suffix[1:]) if held else 0
    return path.with_name(f"{path.name}.{kind}.{last + 1}")
