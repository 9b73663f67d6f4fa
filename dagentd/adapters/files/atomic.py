"""Whole files put in place without losing what another program wrote meanwhile: written under a temp name first, and
not into a folder that is being removed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from dagentd.adapters.files import beneath, disk, fileio, marks
from dagentd.errors import from_oserror

# Temp files: under which name a whole file is written before it gets its own, and what a crash left of such.

_numbers = itertools.count(1)


@dataclass(eq=False)
class Temps:
    """In a folder of their own, if one is given. P2 wants them beside their target; but one that appears in a folder
    that git is emptying makes `git worktree remove --force` fail, which 3 to 6 of 100 did. A rename is as atomic from
    another folder of the same file system; where it is not the same, they are beside their target after all."""

    _folder: Path | None = None
    _apart: set[Path] = field(default_factory=set)  # folders into which nothing can be renamed from ours

    def make(self) -> None:
        if self._folder is not None and not self._folder.is_dir():
            disk.make_folder(self._folder)

    def create(self, target: Path) -> tuple[Path, int]:
        """A new file that is to get the target's name, open."""
        serial = f"{os.getpid()}-{next(_numbers)}{disk.TEMP}"
        if self._folder is not None and target.parent not in self._apart:
            with contextlib.suppress(FileNotFoundError):  # somebody removed the folder; the next start makes it
                # The name's beginning is for people who look; 40 characters of any kind leave room for the rest.
                temp = self._folder / f".{target.name[:40]}.{self._mark(target)}.{serial}"
                return temp, disk.create(temp)
        temp = target.with_name(f".{target.name}.{serial}")
        return temp, disk.create(temp)

    def keep_beside(self, target: Path) -> None:
        """Nothing can be renamed to it from our folder: another file system, a bind mount, another quota."""
        self._apart.add(target.parent)

    def _mark(self, target: Path) -> str:
        """The part of a temporary file's name that leads to its target, also after the repository was moved."""
        way = os.path.relpath(target, self._folder)
        return hashlib.sha256(os.fsencode(way)).hexdigest()[:32]

    # --- after a crash --------------------------------------------------------------------------------------

    def left(self, targets: Iterable[Path]) -> list[tuple[Path, Path]]:
        """The temporary files that a process that died left in our folder, each with the target it was for."""
        held = self.all_left()
        marks = {self._mark(target): target for target in targets} if held else {}
        return [(temp, marks[mark]) for temp in held if (mark := _before_serial(temp).rpartition(".")[2]) in marks]

    def all_left(self) -> list[Path]:
        return _temps_in(self._folder) if self._folder is not None else []


BESIDE = Temps()


def left_beside(folder: Path) -> list[tuple[Path, Path]]:
    """Temp files of a process that died, each with the file in the same folder it was for."""
    return [(temp, folder / _before_serial(temp)) for temp in _temps_in(folder)]


def _temps_in(folder: Path) -> list[Path]:
    try:
        names = sorted(beneath.names(folder))
    except OSError:  # not there, or not ours to look at
        return []
    return [folder / name for name in names if name.startswith(".") and name.endswith(disk.TEMP)]


def _before_serial(temp: Path) -> str:
    return temp.name[1 : -len(disk.TEMP)].rpartition(".")[0]


# A new name in a folder that somebody may be removing: git, which has read what is in it, fails with one more.

# Names that are looked at before and after one is added, which takes 0.5 ms. Git removes them one after the other: it
# met a new one in 168 of 500 trials where only the file that it belongs to was looked at, in none of 1 500 with these.
_AROUND = 200


class RemovalGuard:
    """Guards a file that is written into a folder which somebody may be removing, by looking at what is around it
    before and after. Without anything that it must be `beside`, nothing is looked at."""

    def __init__(self, path: Path, beside: Collection[Path]) -> None:
        self._path, self._beside = path, beside
        self._around = list(islice(_in_and_below(path.parent), _AROUND)) if beside else []

    def admit(self, put: Callable[[], None]) -> bool:
        """Let `put` give the file its name. False, and it has none, if anything around it went since: look again.
        FileNotFoundError if something did that it must be beside."""
        if not self._are_still():
            return False
        put()
        stays = False
        try:
            stays = self._are_still()
        finally:
            if not stays:
                disk.discard(self._path)
        return stays

    def _are_still(self) -> bool:
        check_there(self._beside)
        return all(map(os.path.lexists, self._around))


def check_there(beside: Collection[Path]) -> None:
    """FileNotFoundError if one of them is gone."""
    for path in beside:
        os.lstat(path)


def _in_and_below(folder: Path) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        yield from (os.path.join(where, name) for name in (*names, *folders))


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
        return fileio.read_fd(self.fd, fileio.CHAT_LIMIT)

    def close(self) -> None:
        """Nothing in it is needed any more."""
        os.close(self.fd)
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
    around = RemovalGuard(path, beside) if expect is None else None
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
    path: Path, chunks: Iterable[bytes], expect: bytes | None, sync: bool, temps: Temps, around: RemovalGuard | None
) -> tuple[bytes, Replaced | None]:
    try:
        old = None if expect is None else fileio.descriptor(path)
    except FileNotFoundError:
        raise Changed(path) from None
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


def _take_name(
    temp: Path, path: Path, old: int | None, expect: bytes | None, around: RemovalGuard | None
) -> Replaced | None:
    try:
        if old is None or expect is None:
            if around is None or not around.admit(partial(disk.rename_new, temp, path)):
                raise Changed(path)
            return None
        if fileio.digest(fileio.read_fd(old, fileio.CHAT_LIMIT)) != expect:
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
        other = fileio.descriptor(temp)
    except OSError as error:
        disk.exchange(temp, path)
        disk.discard(temp)
        raise from_oserror(error, path) from error
    os.close(old)
    return other


def put(path: Path, data: bytes, *, sync: bool = True, temps: Temps = BESIDE) -> None:
    """Replace a file that only we write, or make it."""
    try:
        expect = fileio.digest(fileio.read(path, fileio.CHAT_LIMIT))
    except FileNotFoundError:
        expect = None
    done = publish(path, [data], expect=expect, sync=sync, temps=temps)
    if done.replaced is not None:
        done.replaced.close()
