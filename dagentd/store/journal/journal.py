"""The journal: one append-only file per session, its source of truth. A record counts once it is synced."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, islice
from pathlib import Path

from dagentd.adapters.files import atomic, backups, disk, fileio, marks
from dagentd.adapters.files.atomic import RemovalGuard
from dagentd.errors import DagentdError, NotAllowed, from_oserror
from dagentd.model import records
from dagentd.model.jsontext import Undecodable
from dagentd.model.records import Record
from dagentd.store.journal.kept_journals import KeptJournals

_TRIES = 20  # to make a journal where files come and go

_CHUNK = 1 << 20
_LINES_AT_ONCE = 512

Lined = tuple[Record, bytes]  # a record and its line


class Altered(Exception):
    """The file under the journal's name is not what we wrote to: another program cut, replaced or removed it."""


class Lost(Altered):
    """Found out before anything was written: what is to be appended is in no file yet."""


@dataclass(frozen=True, slots=True)
class Line:
    start: int
    data: bytes
    record: Record

    @property
    def end(self) -> int:
        return self.start + len(self.data)


def lines(group: Sequence[Record]) -> list[Lined]:
    """One append as it is written: all records but the last say that more follow."""
    return [(record, record.line(number < len(group))) for number, record in enumerate(group, 1)]


def placed(group: list[Lined], start: int) -> list[Line]:
    """Where each line is, if the first begins at `start`."""
    ends = list(accumulate((len(data) for _, data in group), initial=start))
    return [Line(begin, data, record) for begin, (record, data) in zip(ends, group, strict=False)]


def joined(group: Sequence[Record]) -> bytes:
    return b"".join(data for _, data in lines(group))


def chunks(group: Sequence[Record]) -> Iterator[bytes]:
    """The same in parts: a long chat as one piece of memory takes longer to come by than to write."""
    every = (record.line(number < len(group)) for number, record in enumerate(group, 1))
    while some := b"".join(islice(every, _LINES_AT_ONCE)):
        yield some


@dataclass
class Journal:
    path: Path
    fd: int
    size: int  # up to here everything is synced and whole
    inode: tuple[int, int] | None = None  # of the file that is open; no other can have it meanwhile
    kept: Path | None = None  # its other name, by which it outlives its worktree
    twin: int | None = None  # a second file that gets every append, where the kept one cannot be a link
    unreadable: list[int] = field(default_factory=list)  # offsets of lines that are no record
    whole: int = 0  # what has been read is whole up to here; what follows is torn
    broken: OSError | None = None
    glued: bool = False  # it ends with half a line of another program, to which ours must not be glued
    as_known: marks.Mark | None = None  # when its end was last found to be what we wrote
    ours: marks.Mark | None = None  # as we left it or read it last; another one if somebody wrote to it since

    @classmethod
    def open(cls, path: Path) -> Journal:
        """FileNotFoundError if there is none."""
        return cls._opened(path, disk.open_append)

    @classmethod
    def open_read(cls, path: Path) -> Journal:
        return cls._opened(path, fileio.descriptor)

    @classmethod
    def _opened(cls, path: Path, opened: Callable[[Path], int]) -> Journal:
        try:
            fd = opened(path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise from_oserror(error, path) from error
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) and path != Path(os.devnull):
            os.close(fd)
            raise NotAllowed("is not a regular file", path=path, hint="Move what is in its place away.")
        return cls(path, fd, status.st_size, (status.st_dev, status.st_ino))

    def close(self) -> None:
        for fd in (self.fd, self.twin):
            if fd is not None:
                os.close(fd)

    def is_kept(self) -> bool:
        """Its other name, or its second file, may be removed by hand."""
        if self.twin is not None:
            return os.fstat(self.twin).st_nlink > 0
        return self.kept is None or os.path.lexists(self.kept)

    # --- reading ------------------------------------------------------------------------------------------

    def groups(self, start: int = 0) -> Iterator[list[Line]]:
        """The records from an offset on, in groups of which all count or none. What follows the last whole
        group is torn, and is not returned."""
        group: list[Line] = []
        self.whole = start
        for offset, data in self.each_line(start):
            try:
                record, more = records.parse(data)
            except Undecodable:
                if data.strip():
                    self.unreadable.append(offset)
                more = bool(group)
            else:
                group.append(Line(offset, data, record))
            if not more:
                self.whole = offset + len(data)
                yield group
                group = []

    def each_line(self, offset: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """From an offset on, where it begins."""
        rest, at = b"", offset
        while chunk := os.pread(self.fd, _CHUNK if end is None else min(_CHUNK, end - at), at):
            at += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield offset, line + b"\n"
                offset += len(line) + 1

    def read_record(self, start: int, end: int) -> Record:
        return records.parse(self.bytes_at(start, end))[0]

    def bytes_at(self, start: int, end: int) -> bytes:
        return os.pread(self.fd, end - start, start)

    def may_begin_with(self, first: str) -> bool:
        """Whether it can be the one whose first line has this hash: another journal begins with another session. A
        beginning that is none, because it was emptied, filled with zeros or taken out, is no other journal's."""
        line = next(self.each_line(0), (0, b""))[1]
        try:
            return records.checksum(line) == first or records.parse(line)[0].t != "session"
        except Undecodable:
            return True

    def record_before(self, end: int) -> Record | None:
        """The record that ends there; None if none does, or it makes no sense."""
        try:
            return self.read_record(fileio.line_start(self.fd, end), end)
        except Undecodable:
            return None

    def checksum_at(self, pos: int) -> str | None:
        """The hash of the record that ends at `pos`; None if no record ends there."""
        if not 0 < pos <= self.size:
            return None
        start = fileio.line_start(self.fd, pos)
        line = os.pread(self.fd, pos - start, start)
        return records.checksum(line) if line.endswith(b"\n") and pos <= self.size else None

    # --- writing ------------------------------------------------------------------------------------------

    def cut_tail(self) -> Path | None:
        """Cut what follows the last whole group, and keep those bytes beside the journal. What somebody appended while
        it was read is as good as what was there before."""
        self.size = max(self.size, self.whole)
        if self.size == self.whole:
            return None
        tail = os.pread(self.fd, os.fstat(self.fd).st_size - self.whole, self.whole)
        saved = backups.save_beside(self.path, "torn", tail)
        if os.pread(self.fd, len(tail) + 1, self.whole) != tail:  # cut, one that is shorter would get zeros at its end
            raise Altered("changed")
        for fd in (self.fd, self.twin):
            if fd is not None:
                disk.cut(fd, self.whole, self.path)
                disk.sync(fd, self.path)
        self.size = self.whole
        return saved

    def drop_end(self, data: bytes) -> None:
        """Take away what was just appended, if the file ends with it: it is to stand behind something else."""
        start = self.size - len(data)
        if data and start >= 0 and os.pread(self.fd, len(data), start) == data:
            disk.cut(self.fd, start, self.path)
            self.size = start

    def repeat_to_twin(self, pos: int) -> None:
        """The second file gets from there on what this one holds: somebody else appended, and only here."""
        if self.twin is not None:
            disk.cut(self.twin, pos, self.path)
            disk.write(self.twin, os.pread(self.fd, self.size - pos, pos), self.path)
            disk.sync_data(self.twin, self.path)

    def append(self, data: bytes) -> int:
        """Write and sync; the offset where it begins. `Lost` if the file is not as we left it: glued to half a line of
        another program, a group would lose its beginning. `Altered` if it went to a file that is no longer the
        journal: it is then not acknowledged before the journal is mended."""
        start = self.size + self.glued
        data = b"\n" * self.glued + data
        untouched, left = False, None
        try:
            if self.broken:  # what it left behind is ours, and refused: not to be taken for another program's
                self._reopen()
            untouched = self.verify(Lost) == self.ours  # nobody wrote to it since we did
            left = self._write(data)
        except OSError as error:
            self._write_again(data, error)
        self.broken, self.glued = None, False
        self.size += len(data)
        after = self.verify()
        self.ours = after if untouched and after == left else None
        return start

    def verify(self, refused: type[Altered] = Altered) -> marks.Mark:
        """By a look that takes no descriptor: behind a link there is another file, and who mends opens none there."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            raise refused("gone") from None
        if found.st_size != self.size or (found.st_dev, found.st_ino) != self.inode:
            raise refused("changed")
        return marks.of_status(found)

    def verify_end(self, pos: int, checksum: str) -> None:
        """That nobody overwrote the record that ends at `pos`, the last one; it may be long, so it is read only where
        somebody touched the file."""
        self.verify()
        mark = marks.untouched(self.path)
        if mark is None or mark != self.as_known:
            if pos and self.checksum_at(pos) != checksum:
                raise Altered("overwritten")
            self.as_known = mark

    def _write(self, data: bytes) -> marks.Mark:
        """How it was left by that: syncing takes long, and somebody else may write meanwhile."""
        for fd in (self.twin, self.fd):
            if fd is not None:
                disk.write(fd, data, self.path)
                left = marks.of_status(os.fstat(fd))
                disk.sync_data(fd, self.path)
        return left

    def _write_again(self, data: bytes, first: OSError) -> None:
        """After a failed sync the kernel calls the pages clean: only writing them again makes them safe. After
        a full disk, the next record must not be glued to half of this one."""
        try:
            self._reopen()
            self._write(data)
        except OSError as error:
            self.broken = error
            with contextlib.suppress(OSError, Lost):
                self._reopen()
            raise from_oserror(error, self.path) from first

    def _reopen(self) -> None:
        """A fresh descriptor at the last synced length, under the number of the old one: others read by it meanwhile,
        and that of a closed file may be another file's at once."""
        try:
            fd = disk.open_append(self.path)
        except FileNotFoundError:
            raise Lost("gone while the disk failed") from None
        if not os.path.samestat(os.fstat(fd), os.fstat(self.fd)):
            os.close(fd)
            raise Lost("replaced while the disk failed")
        os.dup2(fd, self.fd, inheritable=False)
        os.close(fd)
        for each in (self.fd, self.twin):
            if each is not None:
                disk.cut(each, self.size, self.path)


def create(
    path: Path, session_id: str, chunks: Iterable[bytes], kept: KeptJournals, beside: Collection[Path] = ()
) -> Journal:
    """A new journal that begins with these bytes: made in the kept folder and linked into place, so that it is seen
    whole or not at all, and is kept from its first moment. FileNotFoundError if what it is for vanishes."""
    kept.make()
    temp = kept.folder / f".{session_id}.{os.getpid()}.dagentd-tmp"
    with contextlib.suppress(FileNotFoundError):
        disk.remove(temp)
    try:
        _write_whole(temp, chunks)
        _put_in_place(temp, path, beside)
        disk.rename_new(temp, kept.free(session_id))
    except (OSError, DagentdError):  # it would stay until the next start, and take room on a full disk
        with contextlib.suppress(OSError):
            disk.remove(temp)
        raise
    disk.sync_folder(kept.folder)
    return Journal.open(path)


def _write_whole(temp: Path, chunks: Iterable[bytes]) -> None:
    fd = disk.create(temp)
    try:
        for chunk in chunks:
            disk.write(fd, chunk, temp)
        disk.sync(fd, temp)
    finally:
        os.close(fd)


def _put_in_place(temp: Path, path: Path, beside: Collection[Path]) -> None:
    try:
        tries = (RemovalGuard(path, beside).admit(partial(disk.link, temp, path)) for _ in range(_TRIES))
        if not any(tries):
            raise NotAllowed("files beside it come and go", path=path, hint="Try again.")
    except FileExistsError:
        raise NotAllowed("appeared while the session was made", path=path, hint="Try again.") from None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            raise
        # another file system: the kept file is then a copy
        atomic.publish(path, [fileio.read(temp, fileio.CHAT_LIMIT)], expect=None, sync=True)
    disk.sync_folder(path.parent)


def keep(journal: Journal, session_id: str, kept: KeptJournals) -> None:
    """See that the journal is kept: by a link, else by a second file that gets every append too."""
    journal.kept = kept.keep(session_id, journal.path)
    if journal.kept is None:
        before, journal.twin = journal.twin, _twin(journal, session_id, kept)
        if before is not None:
            os.close(before)


def _twin(journal: Journal, session_id: str, kept: KeptJournals) -> int:
    live = fileio.read_fd(journal.fd, journal.size)
    for path in reversed(kept.of(session_id)):
        copied = fileio.read(path, fileio.CHAT_LIMIT)
        if live.startswith(copied):
            break
    else:
        path, copied = kept.free(session_id), b""
        os.close(disk.create(path))
        disk.sync_folder(kept.folder)
    fd = disk.open_append(path)
    disk.write(fd, live[len(copied) :], path)
    disk.sync_data(fd, path)
    return fd
