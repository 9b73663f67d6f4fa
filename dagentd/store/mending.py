"""A journal that another program cut, replaced, removed or appended to: with what file to go on, and what is new."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from dagentd.adapters import clock, disk, files, publishing
from dagentd.model import records
from dagentd.model.project import DOCUMENTS, SessionFolder
from dagentd.model.records import Record
from dagentd.store import opening
from dagentd.store.entry import Entry
from dagentd.store.heal import lacking
from dagentd.store.index import Index
from dagentd.store.journal import Altered, Journal, Line
from dagentd.store.kept import Kept
from dagentd.store.opening import Lined
from dagentd.store.state import State

_REMOVAL = 2.0  # seconds in which a program that removes a session's folder has removed the files in it


@dataclass(frozen=True)
class Mended:
    journal: Journal  # to go on with: the same one, or another file
    lines: list[Line] = field(default_factory=list)  # that the state has not seen
    anew: bool = False  # the journal has other records than it had: the state is to be read again


class Mending:
    """`lines` are those of our append: it is synced, but not in the file that now has the journal's name, or not
    alone. `Altered` if somebody alters it while we mend."""

    def __init__(self, folder: SessionFolder, kept: Kept) -> None:
        self._folder, self._kept = folder, kept

    def mend(self, journal: Journal, state: State, lines: list[Lined]) -> Mended | None:
        """None if the session was deleted."""
        ours = opening.placed(lines, journal.size - sum(len(data) for _, data in lines))
        try:
            found = self._folder.journal.lstat()
        except FileNotFoundError:
            stays = self._put_back(journal)
            return Mended(stays, ours) if stays is not None else None
        same = os.path.samestat(found, os.fstat(journal.fd))
        if same and found.st_size > journal.size and journal.checksum_at(state.pos) == state.sum:
            return Mended(journal, _read_on(journal, state.pos, lines))
        return self._join(journal, state, ours, same)

    def _put_back(self, journal: Journal) -> Journal | None:
        """Only the journal's name is gone: link it again. All documents gone too: the session was deleted, or its
        worktree was, and nothing of it is made again."""
        if not self._documents_stay():
            return None
        held = self._kept.with_inode(self._folder.id, os.fstat(journal.fd))
        if held is not None:
            try:
                disk.link(held, self._folder.journal)
            except FileExistsError:
                raise Altered("made by somebody else") from None
            disk.sync_folder(self._folder.path)
        else:
            data = files.read_fd(journal.fd, journal.size)
            publishing.publish(self._folder.journal, [data], expect=None, sync=True)
            journal = Journal.open(self._folder.journal)
        return journal

    def _documents_stay(self) -> bool:
        """Git removes the files of a folder one by one, and fails if one comes back: let it finish."""
        for _ in range(10):
            if not any(self._folder.document(name).exists() for name in DOCUMENTS):
                return False
            time.sleep(_REMOVAL / 10)
        return True

    def _join(self, old: Journal, state: State, ours: list[Line], same: bool) -> Mended:
        """Another content is under the journal's name: a restored backup, an editor's save, a cut."""
        found = Journal.open(self._folder.journal)
        try:
            if not same and _continues(found, old):
                return Mended(found, ours)
            _bring_up(found, state, ours, None if same else old)
        except BaseException:
            found.close()
            raise
        return Mended(found, anew=True)


def _read_on(journal: Journal, pos: int, lines: list[Lined]) -> list[Line]:
    """Somebody else appended. If that was half a line, ours is glued to it and goes in again, or the next one
    would be."""
    journal.size = os.fstat(journal.fd).st_size
    held = [line for group in journal.groups(pos) for line in group]
    if journal.whole < journal.size:
        journal.append(b"\n")
    present = {line.data for line in held}
    again = [(record, data) for record, data in lines if data not in present]
    start = journal.append(b"".join(data for _, data in again))
    return [*held, *opening.placed(again, start)]


def _continues(found: Journal, old: Journal) -> bool:
    """An older copy of the same journal: append what it lacks, and every offset stays what it was."""
    known, held = files.read_fd(old.fd, old.size), files.read_fd(found.fd, found.size)
    if not known.startswith(held):
        return False
    found.append(known[len(held) :])
    return True


def _bring_up(found: Journal, known: State, ours: list[Line], old: Journal | None) -> None:
    """Append what is known and what is wanted to a journal that lacks it. Messages that have left chat are read from
    the `old` file, if that is another one."""

    def read(entry: Entry) -> Record | None:
        if entry.line is not None:
            return records.message(entry.raw(), entry.line, "")
        return old.read_record(entry.start, entry.end) if old else None

    wanted = b"".join(line.data for line in ours)
    found.drop_end(wanted)
    scratch = opening.read_state(found, Index(None).journal(found.path))
    found.cut_tail()
    found.append(opening.joined(lacking(known, scratch, read, clock.stamp())) + wanted)
