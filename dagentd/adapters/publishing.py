"""Whole files put in place without losing what another program wrote meanwhile."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dagentd.adapters import beneath, disk, files, marks
from dagentd.adapters.surroundings import Surroundings
from dagentd.adapters.temps import BESIDE, Temps
from dagentd.errors import told


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
        return files.read_fd(self.fd, files.CHAT_LIMIT)

    def close(self) -> None:
        """Nothing in it is needed any more."""
        self.leave()
        if self.temp is not None:
            disk.discard(self.temp)

    def leave(self) -> None:
        """Something in it could not be taken in: whoever starts next finds it."""
        os.close(self.fd)


@dataclass
class Published:
    digest: bytes
    replaced: Replaced | None


def publish(
    path: Path, chunks: Iterable[bytes], *, expect: bytes | None, sync: bool, temps: Temps = BESIDE,
    beside: Collection[Path] = (),
) -> Published:  # fmt: skip
    """Put a whole new file at `path`. `expect` is the digest of what is there as the caller read it, None for
    nothing; `Changed` if that is no longer so, or if the temp file must be elsewhere: look again. Writes the temp file
    first: what is compared is then compared at the last moment. A new file must be wanted `beside` others; it is not
    put where anything else goes meanwhile."""
    around = Surroundings(path, beside if expect is None else ())
    # The folder is opened first: without a descriptor for it nothing has happened yet.
    folder = _open_folder_of(path, expect) if sync else None
    try:
        hashed, replaced = _put_in_place(path, chunks, expect, sync, temps, around)
        if folder is not None:
            _sync_names(folder, path.parent, replaced)
    finally:
        if folder is not None:
            os.close(folder)
    return Published(hashed, replaced)


def _put_in_place(
    path: Path, chunks: Iterable[bytes], expect: bytes | None, sync: bool, temps: Temps, around: Surroundings
) -> tuple[bytes, Replaced | None]:
    old = _open_expected(path, expect)
    try:
        temp, fd = temps.create(path)
        hashed = _write_temp(temp, fd, chunks, old, sync)
        marks.note(path, temp)
        return hashed, _take_name(temp, path, old, expect, around)
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
        return beneath.opened_folder(path.parent)
    except FileNotFoundError:
        if expect is None:
            raise
        raise Changed(path) from None


def _open_expected(path: Path, expect: bytes | None) -> int | None:
    if expect is None:
        return None
    try:
        return files.descriptor(path)
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
        disk.discard(temp)
        raise
    finally:
        os.close(fd)
    return hashed.digest()


def _take_name(temp: Path, path: Path, old: int | None, expect: bytes | None, around: Surroundings) -> Replaced | None:
    try:
        if old is None or expect is None:
            if not around.admit(partial(disk.rename_new, temp, path)):
                raise Changed(path)
            return None
        if files.digest(files.read_fd(old, files.CHAT_LIMIT)) != expect:
            raise Changed(path)
        exchanged = disk.exchange(temp, path)
    except BaseException as error:
        disk.discard(temp)
        vanished = isinstance(error, FileNotFoundError) and old is not None  # else its folder is gone
        if vanished or isinstance(error, FileExistsError):
            raise Changed(path) from None
        raise
    if not exchanged:
        return Replaced(old, expect)
    if os.path.samestat(os.fstat(old), os.lstat(temp)):  # without a descriptor: it is done, and must not fail now
        return Replaced(old, expect, temp)
    return Replaced(_open_other(old, temp, path), expect, temp)


def _open_other(old: int, temp: Path, path: Path) -> int:
    """Somebody renamed another file into place after we compared: that one was replaced. If it cannot be read, it
    gets its name back."""
    try:
        other = files.descriptor(temp)
    except OSError as error:
        disk.exchange(temp, path)
        disk.discard(temp)
        raise told(error, path) from error
    os.close(old)
    return other


def put(path: Path, data: bytes, *, sync: bool = True, temps: Temps = BESIDE) -> None:
    """Replace a file that only we write, or make it."""
    try:
        expect = files.digest(files.read(path, files.CHAT_LIMIT))
    except FileNotFoundError:
        expect = None
    done = publish(path, [data], expect=expect, sync=sync, temps=temps)
    if done.replaced is not None:
        done.replaced.close()
