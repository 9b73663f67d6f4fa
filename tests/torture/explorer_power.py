"""The end of a process at one durable step: by kill -9, or by a power failure that takes what was not synced."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dagentd.adapters.files import disk

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

# kill: all that was done is on disk. power: bytes that were not synced are lost, every name stays. names: names that
# were made, changed or removed in a folder that was not synced since are as they were, and unsynced bytes are lost too.
How = Literal["kill", "power", "names"]
WAYS: tuple[How, ...] = ("kill", "power", "names")
CRASHED = 77
# The steps that change nothing of what is there after such an end: crashes before and after them are the same.
_IDLE: dict[How, frozenset[str]] = {
    "kill": frozenset({"fsync", "fdatasync"}),
    "power": frozenset({"write", "overwrite", "chmod"}),
    "names": frozenset({"write", "overwrite", "chmod", "create", "link", "unlink", "mkdir", "rename"}),
}


def telling(steps: Sequence[str], how: How) -> list[int]:
    """The steps, counted from 1, at which to crash for every disk that there can be: of crashes that leave the same
    behind the last, when most was acknowledged."""
    return [point for point, step in enumerate(steps, 1) if step not in _IDLE[how] or point == len(steps)]


class Power:
    """Counts the calls at the one door for writes, and ends the process at one of them."""

    def __init__(self, crash: int, how: How, stash: Path) -> None:
        self.steps, self.crash = list[str](), crash
        self.lock = threading.RLock()
        self.seen: Callable[[str, object], None] = lambda what, path: None
        self._unsynced: dict[tuple[int, int], tuple[int, int]] = {}  # inode: descriptor, size that is safe
        self._ours: dict[tuple[int, int], tuple[int, int]] = {}  # how we left it; what others wrote since is theirs
        self._over: list[tuple[tuple[int, int], int, int, bytes]] = []  # inode, descriptor, where, what was there
        self._real = (os.write, os.fsync, os.fdatasync)
        self._overwrites = disk.overwrite
        self._names = Names(stash) if how == "names" else None
        disk.step = self.step
        if how != "kill":
            disk.write_some = self._write
            disk.overwrite = self._overwrite
            os.fsync = lambda fd: self._sync(fd, self._real[1])
            os.fdatasync = lambda fd: self._sync(fd, self._real[2])

    @property
    def count(self) -> int:
        return len(self.steps)

    def step(self, what: str, path: object) -> None:
        with self.lock:
            self.steps.append(what)
            if self.count == self.crash:
                self._end()
            self.seen(what, path)

    def _end(self) -> None:
        for inode, (fd, size) in self._unsynced.items():
            if self._ours[inode] == _how_it_is(fd):
                os.ftruncate(fd, size)
        for _, fd, start, before in reversed(self._over):
            os.pwrite(fd, before, start)
        if self._names:
            self._names.undo()
        os._exit(CRASHED)

    def _write(self, fd: int, data: Buffer) -> int:
        with self.lock:
            inode = _inode(fd)
            if inode not in self._unsynced:
                self._unsynced[inode] = (os.dup(fd), os.fstat(fd).st_size)
            written = self._real[0](fd, data)
            self._ours[inode] = _how_it_is(fd)
            return written

    def _overwrite(self, fd: int, data: bytes, start: int, path: Path) -> None:
        with self.lock:
            self._over.append((_inode(fd), os.dup(fd), start, os.pread(fd, len(data), start)))
        self._overwrites(fd, data, start, path)

    def _sync(self, fd: Any, real: Callable[[Any], None]) -> None:
        real(fd)
        with self.lock:
            held = self._unsynced.pop(_inode(fd), None)
            if held is not None:
                os.close(held[0])
            self._over = [each for each in self._over if each[0] != _inode(fd)]


def _inode(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _how_it_is(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_size, found.st_mtime_ns


class Names:
    """What each name meant before it was changed, until its folder is synced."""

    def __init__(self, stash: Path) -> None:
        self._before: dict[Path, dict[str, Path | None]] = {}  # folder: name: what was there, kept under another name
        self._stash = stash
        shutil.rmtree(stash, ignore_errors=True)
        stash.mkdir()
        self._follow("create", lambda path: [path])
        self._follow("link", lambda source, target: [target])
        self._follow("remove", lambda path: [path])
        self._follow("make_folder", lambda path: [path])
        self._follow("rename_new", lambda source, target: [source, target])
        self._follow("exchange", lambda source, target: [source, target])
        self._real_sync = disk.sync_names
        disk.sync_names = lambda fd, path: self._synced(fd, path)

    def _follow(self, name: str, touched: Callable[..., list[Path]]) -> None:
        real = getattr(disk, name)

        def call(*arguments: Any) -> Any:
            for path in touched(*arguments):
                self._note(path)
            return real(*arguments)

        setattr(disk, name, call)

    def _note(self, path: Path) -> None:
        held = self._before.setdefault(path.parent, {})
        if path.name not in held:
            held[path.name] = self._kept(path)

    def _kept(self, path: Path) -> Path | None:
        if not os.path.lexists(path):
            return None
        kept = self._stash / str(len(os.listdir(self._stash)))
        os.link(path, kept, follow_symlinks=False)
        return kept

    def _synced(self, fd: int, folder: Path) -> None:
        self._real_sync(fd, folder)
        self._before.pop(folder, None)

    def undo(self) -> None:
        for folder, names in self._before.items():
            for name, before in names.items():
                path = folder / name
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                if before is not None and folder.is_dir():
                    before.rename(path)
