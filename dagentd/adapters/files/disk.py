"""The one door for durable writes: every call that changes the disk is here, and passes `step` first."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from pathlib import Path
from typing import Any

from dagentd.adapters.files import beneath
from dagentd.errors import explained as explained

TEMP = ".dagentd-tmp"  # how the name of a temp file ends
_EXCHANGE, _NOREPLACE, _AT_FDCWD = 2, 1, -100
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}
_libc = ctypes.CDLL(None, use_errno=True)
_renameat2: Any = getattr(_libc, "renameat2", None)


def step(what: str, path: str | Path) -> None:
    """Called before each change of the disk. The crash tests count here, and the fault tests raise here."""


# What reaches the kernel; a test may make it write less than it was given, as a full disk does.
write_some = os.write


def create(path: Path) -> int:
    """A new file, 0600, open for reading and writing; FileExistsError if there is one."""
    step("create", path)
    return beneath.opened(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)


def open_append(path: Path) -> int:
    return beneath.opened(path, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK)


def open_in_place(path: Path) -> int:
    return beneath.opened(path, os.O_RDWR | os.O_NONBLOCK)


def overwrite(fd: int, data: bytes, start: int, path: Path) -> None:
    """Bytes that were there are others; the file stays as long as it is."""
    step("overwrite", path)
    while data:
        done = os.pwrite(fd, data, start)
        data, start = data[done:], start + done


def write(fd: int, data: bytes, path: Path) -> None:
    """All of it: a short write is continued, until an error says why."""
    step("write", path)
    view = memoryview(data)
    while view:
        view = view[write_some(fd, view) :]


def sync_data(fd: int, path: Path) -> None:
    step("fdatasync", path)
    getattr(os, "fdatasync", os.fsync)(fd)


def sync(fd: int, path: Path) -> None:
    step("fsync", path)
    os.fsync(fd)


def sync_folder(path: Path) -> None:
    fd = beneath.opened_folder(path)
    try:
        sync_names(fd, path)
    finally:
        os.close(fd)


def sync_names(fd: int, path: Path) -> None:
    """Those in a folder that is open."""
    sync(fd, path)


def cut(fd: int, length: int, path: Path) -> None:
    step("truncate", path)
    os.ftruncate(fd, length)


def like(fd: int, other: os.stat_result, path: Path) -> None:
    """Give a new file the mode and the owner of the one it replaces."""
    step("chmod", path)
    os.fchmod(fd, other.st_mode & 0o7777)
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (other.st_uid, other.st_gid):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.fchown(fd, other.st_uid, other.st_gid)


def allow(fd: int, mode: int, path: Path) -> None:
    step("chmod", path)
    os.fchmod(fd, mode)


def seclude(path: Path) -> int:
    """Take from others what they may do with a file, a folder or a socket of ours; the mode it had. No link is
    followed; one that is put there just now could only have a file of ours closed to others."""
    step("chmod", path)
    before = os.lstat(path).st_mode
    if stat.S_ISLNK(before):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    os.chmod(path, before & 0o700)
    return stat.S_IMODE(before)


def link(source: Path, target: Path) -> None:
    step("link", target)
    with beneath.parent(source) as (from_, old), beneath.parent(target) as (to, new):
        os.link(old, new, src_dir_fd=from_, dst_dir_fd=to, follow_symlinks=False)


def remove(path: Path) -> None:
    step("unlink", path)
    with beneath.parent(path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def discard(path: Path) -> None:
    """Where a temp file cannot be removed, the next start does. That takes a descriptor for its folder; without one its
    name will do, which no file of anybody else has."""
    with contextlib.suppress(OSError):
        try:
            remove(path)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not path.name.endswith(TEMP):
                raise
            os.unlink(path)


def make_folder(path: Path) -> None:
    """A new folder, 0700, whose name is on disk before anything in it is; its parent must be there."""
    step("mkdir", path)
    with beneath.parent(path) as (folder, name):
        os.mkdir(name, 0o700, dir_fd=folder)
    sync_folder(path.parent)


def make_folders(path: Path) -> None:
    """A folder and those above it that are missing. Another thread or program may make one of them just then."""
    if not path.is_dir():
        make_folders(path.parent)
        try:
            make_folder(path)
        except FileExistsError:
            if not path.is_dir():
                raise


def remove_folder(path: Path) -> None:
    """An empty one; OSError if it is not."""
    step("rmdir", path)
    with beneath.parent(path) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def rename_new(source: Path, target: Path) -> None:
    """Rename, but never over something: FileExistsError if the target is there."""
    step("rename", target)
    if not _rename2(source, target, _NOREPLACE):
        link(source, target)
        remove(source)


def exchange(source: Path, target: Path) -> bool:
    """Swap two names at once, so that whatever was replaced, even in the last microsecond, is under
    `source` and not lost. False where the file system cannot; then `source` replaced `target`."""
    step("rename", target)
    if _rename2(source, target, _EXCHANGE):
        return True
    with beneath.parent(source) as (from_, old), beneath.parent(target) as (to, new):
        os.replace(old, new, src_dir_fd=from_, dst_dir_fd=to)
    return False


def _rename2(source: Path, target: Path, flag: int) -> bool:
    if _renameat2 is None:
        return False
    with beneath.parent(source) as (from_, old), beneath.parent(target) as (to, new):
        here, there = (_AT_FDCWD if folder is None else folder for folder in (from_, to))
        if _renameat2(here, os.fsencode(old), there, os.fsencode(new), flag) == 0:
            return True
        number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


def is_missing(path: str | Path) -> bool:
    """Not so where a folder above it may not be looked into."""
    try:
        beneath.status(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False
