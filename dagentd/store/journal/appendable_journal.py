"""The truth about one session: its journal, the state the journal adds up to, and the one way to add to both."""

from __future__ import annotations

import contextlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, marks
from dagentd.errors import DagentdError, NotFound
from dagentd.model.documents import position_of
from dagentd.model.problem import Problem
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store.journal import journal as journals
from dagentd.store.journal import journal_problems, kept_journals
from dagentd.store.journal.group_commit import CommitQueue, Plan, Ticket
from dagentd.store.journal.journal import Altered, Journal, Line, Lost
from dagentd.store.journal.state import State
from dagentd.waiting import patiently

Tell = Callable[[list[Record]], None]  # who wants to know what was committed

TRIES = 100  # to mend a journal that another program goes on altering


def _nobody(_: list[Record]) -> None:
    pass


class AppendableJournal(ABC):
    """`state` is read under `lock`, and only a commit changes it."""

    file: Journal
    state: State

    def __init__(self, folder: SessionFolder) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.problems: dict[str, Problem] = {}
        self.gone: DagentdError | None = None
        self.departed = True  # something may have left chat that is not sealed yet: no document has it
        self._queue = CommitQueue()
        self.tell: Tell = _nobody

    @abstractmethod
    def check(self, *, doubtful: bool = False) -> None:
        """See whether the journal is still the file we know, and mend it if not: nobody may come to add. All of it is
        read where somebody else wrote to it, or where that is to be doubted."""

    @abstractmethod
    def _mend(self, lines: list[journals.Lined]) -> None:
        """Whoever altered the journal may go on while we mend it. `lines` are those of our append."""

    @property
    def read_only(self) -> bool:
        """An older version must not undo what a newer one did."""
        return self.state.unknown is not None

    def give_up_if_void(self) -> None:
        """A state whose index is not there any more knows less than its journal."""
        if self.state.index.void and self.gone is None:
            self.gone = NotFound(f"session {self.folder.id} is read again", hint="Ask for it again.")

    def submit(self, plan: Plan, alone: bool = False) -> Any:
        """Append what `plan` gives, and answer once it is on disk. What must wait is planned anew then: who commits
        does so for others too, and holds the lock."""
        return patiently(lambda: self._queue.submit(self._commit, plan, alone))

    def note(self, kind: str, error: DagentdError) -> None:
        if kind not in self.problems:
            self.problems[kind] = Problem.of(kind, error, clock.stamp())

    def try_again(self) -> None:
        """After a failure, find out whether the journal can be appended again: nobody may come to add."""
        if self.file.broken:
            probe = Record("probe", clock.stamp(), {"optional": True})
            with contextlib.suppress(DagentdError):  # it is noted
                self.submit(lambda _: ([probe], None), alone=True)

    def has(self, raw: dict[str, Any]) -> bool:
        """Whether the journal has the position that a document carries, if it carries one."""
        found = position_of(raw)
        with self.lock:  # one that was altered is closed, and another takes its place
            return found is None or self.file.checksum_at(found.pos) == found.sum

    @property
    def touched(self) -> bool:
        """Somebody else wrote to the journal since we last looked at all of it."""
        return self.file.ours != marks.of(self.file.path)

    def check_touched(self) -> None:
        if self.touched:
            with contextlib.suppress(DagentdError):  # who adds next is told
                self.check()

    def seal(self, *, everything: bool) -> None:
        """Copy what is new in the journal, in case that it is overwritten; not if it was. A copy that cannot be made
        now is made later."""
        if self.file.kept is None:  # but a second file, which has it all
            self.departed = False
        elif not self.file.broken and not self.touched:
            with contextlib.suppress(OSError, DagentdError, atomic.Changed):  # one who let go of it makes the same now
                kept_journals.seal(self.file.kept, self.file.fd, self.file.size, everything=everything)
                self.departed = self.departed and not everything

    def close(self) -> None:
        """After the last commit: a number of a closed file may be that of another file at once."""

        def last(_: dict[str, bytes]) -> tuple[list[Record], None]:
            self.gone = NotFound(f"session {self.folder.id} was closed", hint="Ask for it again.")
            return [], None

        if not self.read_only:
            with contextlib.suppress(OSError, DagentdError):  # whoever opens it next finds out
                if os.path.samestat(os.lstat(self.file.path), os.fstat(self.file.fd)):
                    self.check()  # what memory knows is known for the last time
            with contextlib.suppress(NotFound):  # it is gone already
                self.submit(last, alone=True)
        with self.lock:
            self.secure()
            self.file.close()
        self.tell = _nobody

    def secure(self) -> None:
        """Save what is known of the journal where damage does not reach: the index knows no less than was sealed."""
        with self.lock:
            with contextlib.suppress(DagentdError):  # the index is a cache
                self.state.save(self.file.ours)
            self.seal(everything=True)

    # --- committing ---------------------------------------------------------------------------------------

    def _commit(self, batch: list[Ticket]) -> None:
        """Plan for each, append once, and only then let anybody know. What was planned for a journal that another
        program has altered is planned anew: it may be there by now."""
        if self.gone:
            raise self.gone
        for _ in range(TRIES):
            lines = self._planned(batch)
            try:
                if lines:
                    self._put(lines)
                    self.tell([record for record, _ in lines])
                return
            except Lost:
                self._mend([])
        raise journal_problems.keeps_altering(self.folder.journal)

    def _planned(self, batch: list[Ticket]) -> list[journals.Lined]:
        with self.lock:
            self.check_version()
            pending: dict[str, bytes] = {}
            for ticket in batch:
                ticket.error = None
                try:
                    ticket.records, ticket.answer = ticket.plan(pending)
                except Exception as error:
                    ticket.records, ticket.error = [], error
        return [line for ticket in batch for line in journals.lines(ticket.records)]

    def check_version(self) -> None:
        if self.state.unknown:
            raise journal_problems.newer(self.folder.journal, self.state.unknown)

    def _append(self, lines: list[journals.Lined]) -> None:
        """Append what is right whatever others did to the journal."""
        try:
            self._put(lines)
        except Lost:
            self._mend([])
            self._append(lines)

    def _put(self, lines: list[journals.Lined]) -> None:
        """`Lost` if the journal is to be mended first."""
        try:
            start = self.file.append(b"".join(data for _, data in lines))
        except Lost:
            raise
        except Altered:
            return self._mend(lines)
        except DagentdError as error:
            self.note("journal", error)
            raise
        self.problems.pop("journal", None)
        return self._apply(journals.placed(lines, start))

    def _apply(self, lines: list[Line]) -> None:
        with self.lock:
            for line in lines:
                self.state.apply(line.record, line.start, line.data)
                self.departed = self.departed or line.record.t == "left"
