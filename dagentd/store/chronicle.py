"""The truth about one session: its journal, the state the journal adds up to, and the one way to add to both."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk, files
from dagentd.errors import Conflict, DagentdError, NotFound
from dagentd.model import records
from dagentd.model.documents import position_of
from dagentd.model.problem import Problem
from dagentd.model.project import DOCUMENTS, SessionFolder
from dagentd.model.records import Record
from dagentd.store import journal as journals
from dagentd.store import opening
from dagentd.store.commits import CommitQueue, Plan, Ticket
from dagentd.store.entry import Entry
from dagentd.store.firstlook import FirstLook
from dagentd.store.heal import lacking
from dagentd.store.index import Index
from dagentd.store.journal import Altered, Journal, Lost
from dagentd.store.kept import Kept

_REMOVAL = 2.0  # seconds in which a program that removes a session's folder has removed the files in it
_TRIES = 100  # to mend a journal that another program goes on altering


class Chronicle:
    """Whoever makes one holds the project's lock. `state` is read under `lock`, and only a commit changes it."""

    def __init__(self, folder: SessionFolder, kept: Kept, index: Index, first: FirstLook) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.problems: dict[str, Problem] = {}
        self.gone: DagentdError | None = None
        self._kept, self._index = kept, index
        self._queue = CommitQueue(self._commit)
        self.tell: Callable[[list[Record]], None] = lambda _: None  # who wants to know what was committed
        with disk.explained(folder.journal):
            self._open(first)

    def _open(self, first: FirstLook) -> None:
        self.journal = opening.open_journal(self.folder, self._kept, first.documents)
        try:
            self._adopt(self.journal)
            if not self._chat_is_ours(first):
                opening.fill_lines(self.state, self.journal, first.documents().get("chat"))
                self._recover_lost(first.documents())
        except BaseException:
            self.journal.close()  # a session that cannot be served is tried again and again
            raise

    def _chat_is_ours(self, first: FirstLook) -> bool:
        """Whether the chat is just as we wrote it; the messages then have their bytes from there."""
        shown, found = self.state.shown, first.digest("chat")
        if shown is None or found is None or shown != (found.hex(), self.state.chat_pos):
            return False
        return opening.take_lines(self.state, first.chat_lines())

    @property
    def read_only(self) -> bool:
        """An older version must not undo what a newer one did."""
        return self.state.unknown is not None

    def give_up_if_void(self) -> None:
        """A state whose index is not there any more knows less than its journal."""
        if self.state.index.void and self.gone is None:
            self.gone = NotFound(f"session {self.folder.id} is read again", hint="Ask for it again.")

    def submit(self, plan: Plan, alone: bool = False) -> Any:
        """Append what `plan` gives, and answer once it is on disk."""
        return self._queue.submit(plan, alone)

    def note(self, kind: str, error: DagentdError) -> None:
        if kind not in self.problems:
            self.problems[kind] = Problem.of(kind, error, clock.stamp())

    def try_again(self) -> None:
        """After a failure, find out whether the journal can be appended again: nobody may come to add."""
        if self.journal.broken:
            probe = Record("probe", clock.stamp(), {"optional": True})
            with contextlib.suppress(DagentdError):  # it is noted
                self.submit(lambda _: ([probe], None), alone=True)

    def check(self) -> None:
        """See whether the journal is still the file we know, and mend it if not: nobody may come to add."""

        def look(_: dict[str, bytes]) -> tuple[list[Record], None]:
            try:
                self.journal.verify()
                if self.state.pos and self.journal.checksum_at(self.state.pos) != self.state.sum:
                    raise Altered("overwritten")
            except Altered:
                self._mend([])
            return [], None

        if not (self.gone or self.read_only or self.journal.broken):
            with contextlib.suppress(NotFound):  # it is gone, which is no news to one who asks for nothing
                self.submit(look, alone=True)

    def close(self) -> None:
        """After the last commit: a number of a closed file may be that of another file at once."""

        def last(_: dict[str, bytes]) -> tuple[list[Record], None]:
            self.gone = NotFound(f"session {self.folder.id} was closed", hint="Ask for it again.")
            return [], None

        if self.gone is None and not self.read_only:
            self.submit(last, alone=True)
        with self.lock:
            with contextlib.suppress(DagentdError):  # the index is a cache
                self.state.save()
            self.journal.close()

    # --- opening ------------------------------------------------------------------------------------------

    def _adopt(self, journal: Journal) -> None:
        self.journal = journal
        journals.keep(journal, self.folder.id, self._kept)
        if journal.twin is not None:
            told = "its kept journal is a copy, because the git folder is on another file system"
            self.note("kept-by-copy", DagentdError(told, path=journal.path, hint="Nothing to do."))
        self.state = opening.read_state(journal, self._index.journal(journal.path))
        if torn := journal.cut_tail():
            told = "the end of the journal was cut off by a crash; it had not been acknowledged and is kept here"
            self.note("torn", DagentdError(told, path=torn, hint="Look at it, then delete it."))
        for offset in journal.unreadable:
            told = f"the line at byte {offset} is no record; it was skipped and is left in place"
            self.note(f"unreadable-{offset}", DagentdError(told, path=journal.path, hint="Mend or ignore it."))
        if self.state.unknown:
            self.note("newer", self._newer())

    def _recover_lost(self, documents: dict[str, dict[str, Any]]) -> None:
        if all(self.has(raw) for raw in documents.values()):
            return
        lost = opening.recover_lost(self.folder, self._kept, self.state, documents)
        if lost:
            self._note_altered()
            self._append(opening.lines(lost))

    def has(self, raw: dict[str, Any]) -> bool:
        """Whether the journal has the position that a document carries, if it carries one."""
        found = position_of(raw)
        return found is None or self.journal.checksum_at(found.pos) == found.sum

    # --- committing ---------------------------------------------------------------------------------------

    def _commit(self, batch: list[Ticket]) -> None:
        """Plan for each, append once, and only then let anybody know."""
        if self.gone:
            raise self.gone
        with self.lock:
            self.check_version()
            pending: dict[str, bytes] = {}
            for ticket in batch:
                try:
                    ticket.records, ticket.answer = ticket.plan(pending)
                except Exception as error:
                    ticket.error = error
        lines = [line for ticket in batch for line in opening.lines(ticket.records)]
        if lines:
            self._append(lines)
            self.tell([record for record, _ in lines])

    def check_version(self) -> None:
        if self.state.unknown:
            raise self._newer()

    def _newer(self) -> Conflict:
        return Conflict(
            f"has records of type {self.state.unknown!a}, which only a newer dagentd understands",
            path=self.folder.journal,
            hint="Update dagentd; until then the session is read-only.",
        )

    def _append(self, lines: list[opening.Lined]) -> None:
        try:
            start = self.journal.append(b"".join(data for _, data in lines))
        except Lost:
            self._mend([])
            return self._append(lines)
        except Altered:
            return self._mend(lines)
        except DagentdError as error:
            self.note("journal", error)
            raise
        self.problems.pop("journal", None)
        return self._apply(lines, start)

    def _apply(self, lines: list[opening.Lined], start: int) -> None:
        with self.lock:
            for record, data in lines:
                self.state.apply(record, start, data)
                start += len(data)

    # --- mending ------------------------------------------------------------------------------------------

    def _mend(self, lines: list[opening.Lined]) -> None:
        """Our append is synced, but not in the file that now has the journal's name, or not alone. Whoever
        altered it may go on while we mend."""
        for _ in range(_TRIES):
            try:
                with self.lock, disk.explained(self.folder.journal):
                    return self._mend_once(lines)
            except Altered:
                continue
        raise Conflict("another program keeps altering this file", path=self.folder.journal, hint="Stop it.")

    def _mend_once(self, lines: list[opening.Lined]) -> None:
        start = self.journal.size - sum(len(data) for _, data in lines)
        mine = os.fstat(self.journal.fd)
        try:
            found = self.folder.journal.lstat()
        except FileNotFoundError:
            self._put_back()
            return self._apply(lines, start)
        self._note_altered()
        same = os.path.samestat(found, mine)
        if same and found.st_size > self.journal.size and self.journal.checksum_at(self.state.pos) == self.state.sum:
            return self._read_on(lines)
        return self._join(lines, start, same)

    def _note_altered(self) -> None:
        told = "was altered by another program; what dagentd knew and it lacked was put back"
        self.note("journal-altered", DagentdError(told, path=self.folder.journal, hint="Nothing to do."))

    def _put_back(self) -> None:
        """Only the journal's name is gone: link it again. All documents gone too: the session was deleted, or its
        worktree was, and nothing of it is made again."""
        if not self._documents_stay():
            self.gone = opening.gone(self.folder)
            raise self.gone
        held = self._kept.with_inode(self.folder.id, os.fstat(self.journal.fd))
        if held is not None:
            disk.link(held, self.folder.journal)
            disk.sync_folder(self.folder.path)
        else:
            data = files.read_fd(self.journal.fd, self.journal.size)
            files.publish(self.folder.journal, [data], expect=None, sync=True)
            self._take_over(Journal.open(self.folder.journal))
        self._note_altered()

    def _documents_stay(self) -> bool:
        """Git removes the files of a folder one by one, and fails if one comes back: let it finish."""
        for _ in range(10):
            if not any(self.folder.document(name).exists() for name in DOCUMENTS):
                return False
            time.sleep(_REMOVAL / 10)
        return True

    def _take_over(self, journal: Journal) -> None:
        """Go on with another file that holds the same."""
        self.journal.close()
        self.journal = journal
        self.state.read_record = journal.read_record
        journals.keep(journal, self.folder.id, self._kept)

    def _read_on(self, lines: list[opening.Lined]) -> None:
        """Somebody else appended. If that was half a line, ours is glued to it and goes in again, or the next
        one would be."""
        self.journal.size = os.fstat(self.journal.fd).st_size
        held = [line for group in self.journal.groups(self.state.pos) for line in group]
        if self.journal.whole < self.journal.size:
            self.journal.append(b"\n")
        present = {line.data for line in held}
        again = [(record, data) for record, data in lines if data not in present]
        start = self.journal.append(b"".join(data for _, data in again))
        for line in held:
            self.state.apply(line.record, line.start, line.data)
        self._apply(again, start)

    def _join(self, lines: list[opening.Lined], start: int, same: bool) -> None:
        """Another content is under the journal's name: a restored backup, an editor's save, a cut."""
        old, found = self.journal, Journal.open(self.folder.journal)
        try:
            if not same and self._continues(found, old):
                self._take_over(found)
                return self._apply(lines, start)
            self._bring_up(found, lines, None if same else old)
        except BaseException:
            found.close()
            raise
        old.close()
        self._adopt(found)
        opening.fill_lines(self.state, found, None)
        return None

    def _bring_up(self, found: Journal, lines: list[opening.Lined], old: Journal | None) -> None:
        """Append what is known and what is wanted to a journal that lacks it. Messages that have left chat are
        read from the `old` file, if that is another one."""

        def read(entry: Entry) -> Record | None:
            if entry.line is not None:
                return records.message(entry.raw(), entry.line, "")
            return old.read_record(entry.start, entry.end) if old else None

        found.drop_end(b"".join(data for _, data in lines))
        scratch = opening.read_state(found, Index(None).journal(found.path))
        found.cut_tail()
        missing = opening.lines(lacking(self.state, scratch, read, clock.stamp()))
        found.append(b"".join(data for _, data in missing + lines))

    @staticmethod
    def _continues(found: Journal, old: Journal) -> bool:
        """An older copy of the same journal: append what it lacks, and every offset stays what it was."""
        known, held = files.read_fd(old.fd, old.size), files.read_fd(found.fd, found.size)
        if not known.startswith(held):
            return False
        found.append(known[len(held) :])
        return True


class Glance(Chronicle):
    """The same for one who may not write: what is on disk is read and merged in memory only."""

    @property
    def read_only(self) -> bool:
        return True

    def _open(self, first: FirstLook) -> None:
        path = self.folder.journal
        self.journal = Journal.open_read(path) if path.exists() else Journal.open_read(Path(os.devnull))
        self.state = opening.read_state(self.journal, self._index.journal(path))
        if not self.state.pos:
            self._append(opening.lines(opening.first_records(self.folder, first.documents(), clock.stamp())))
        opening.fill_lines(self.state, self.journal, first.documents().get("chat"))

    def _append(self, lines: list[opening.Lined]) -> None:
        self._apply(lines, self.state.pos)
