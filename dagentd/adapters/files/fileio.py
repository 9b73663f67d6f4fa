"""Whole files, read without following links or waiting."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from dagentd.adapters.files import beneath, marks
from dagentd.errors import CorruptFile, NotAllowed, from_oserror
from dagentd.model.jsontext import Undecodable
from dagentd.waiting import pause

DOCUMENT_LIMIT = 16 << 20
CHAT_LIMIT = 1 << 30  # a chat of 50 000 messages is 60 MB and is read
_MORE = 1 << 16  # bytes of a file that has grown, or of one that tells no size
_PART = 1 << 20
_PAUSE = 0.05  # seconds until a file that another program is writing is read again


T = TypeVar("T")


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def read(path: Path, limit: int = DOCUMENT_LIMIT, root: Path | None = None) -> bytes:
    """The bytes of a regular file; FileNotFoundError if there is none, an error in words for all else. With a `root`,
    both are as `realpath` gave them, and a link that has come between them since is refused."""
    fd = _regular(path, root)
    try:
        if (size := os.fstat(fd).st_size) > limit:
            told = f"is {size >> 20} MiB; a document of its kind has at most {limit >> 20} MiB"
            raise CorruptFile(told, path=path, hint="Move the file away; dagentd leaves it as it is.")
        return read_fd(fd, limit)
    except OSError as error:
        raise from_oserror(error, path) from error
    finally:
        os.close(fd)


def read_when_settled(path: Path, understand: Callable[[bytes], T], settle: float, limit: int = DOCUMENT_LIMIT) -> T:
    """A file as `understand` has it. Another program may be writing it: while that is an error, it is read again, until
    it has been the same for so many seconds, or is written all the time and never makes sense."""
    while True:
        data = read(path, limit)
        try:
            found = understand(data)
        except (CorruptFile, Undecodable):
            if marks.age(path, (digest(data), marks.of(path))) >= settle or not marks.is_worth_waiting(path):
                raise
        else:
            marks.settled(path)
            return found
        pause(min(settle / 5, _PAUSE))


def opened(path: Path, root: Path | None = None) -> BinaryIO:
    """A regular file to be read piece by piece; FileNotFoundError and errors in words as `read` has them."""
    return os.fdopen(_regular(path, root), "rb")


def _regular(path: Path, root: Path | None = None) -> int:
    """FileNotFoundError as it is, because much may be missing; all else in words."""
    try:
        fd = descriptor(path, root)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise from_oserror(error, path) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotAllowed("is not a regular file", path=path, hint="Move what is in its place away.")
    return fd


def descriptor(path: Path, root: Path | None = None) -> int:
    # O_NONBLOCK: opening a FIFO that somebody put there must not wait for a writer.
    return beneath.opened(path, os.O_RDONLY | os.O_NONBLOCK, root=root)


def read_fd(fd: int, limit: int) -> bytes:
    """From the beginning, whatever its position; a file that grows while it is read ends at its end. Room is taken for
    what it has: 16 MiB for whatever comes left the memory of every thread full of holes."""
    parts, offset, room = [], 0, os.fstat(fd).st_size
    while offset < limit and (part := os.pread(fd, room or _MORE, offset)):
        parts.append(part)
        offset, room = offset + len(part), 0
    return b"".join(parts)


def line_start(fd: int, end: int) -> int:
    """Where the line begins that ends at `end`, with its line break or without: each byte of it is read once."""
    at = end - 1
    while at > 0:
        begin = max(0, at - _MORE)
        if (found := os.pread(fd, at - begin, begin).rfind(b"\n")) >= 0:
            return begin + found + 1
        at = begin
    return 0


def holds(path: Path, data: bytes) -> bool:
    """Whether a file has just these bytes; False if there is none. Compared in parts: a second copy of a long chat in
    memory takes longer to come by than all else here."""
    try:
        fd = _regular(path)
    except FileNotFoundError:
        return False
    try:
        if os.fstat(fd).st_size != len(data):
            return False
        parts = range(0, len(data), _PART)
        return all(os.pread(fd, _PART, at) == data[at : at + _PART] for at in parts)
    finally:
        os.close(fd)
