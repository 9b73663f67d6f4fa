"""The truth about one session: its journal, the state the journal adds up to, and the one way to add to both."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk, marks
from dagentd.errors import CorruptFile, DagentdError, LimitReached, NotFound
from dagentd.model import jsontext
from dagentd.model.documents import position_of
from dagentd.model.problem import Problem
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store import beginning, complaints, opening, sealed
from dagentd.store import journal as journals
from dagentd.store.commits import CommitQueue, Plan, Ticket
from dagentd.store.firstlook import FirstLook
from dagentd.store.heal import Lack, Remains, is_intact, lacking
from dagentd.store.index import Index
from dagentd.store.journal import Altered, Journal, Line, Lost
from dagentd.store.kept import Kept
from dagentd.store.mending import Mended, Mending
from dagentd.waiting import patiently

_log = logging.getLogger(__name__)

Tell = Callable[[list[Record]], None]  # who wants to know what was committed

_LOOKS = 3  # one that has its name again may have been overwritten before
_TRIES = 100  # to mend a journal that another program goes on altering


def _nobody(_: list[Record]) -> None:
    pass


class Chronicle:
    """Whoever makes one holds the project's lock. `state` is read under `lock`, and only a commit changes it."""

    def __init__(
        self, folder: SessionFolder, kept: Kept, index: Index, first: FirstLook, written: Sequence[Record] = ()
    ) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.problems: dict[str, Problem] = {}
        self.gone: DagentdError | None = None
        self.departed = True  # something may have left chat that is not sealed yet: no document has it
        self._kept, self._index = kept, index
        self._queue = CommitQueue()
        self._mending = Mending(folder, kept)
        self._put_back, self._lost = 0, set[str]()  # messages that other programs took out of the journal
        self.tell: Tell = _nobody
        with disk.explained(folder.journal):
            self._open(first, written)

    def _open(self, first: FirstLook, written: Sequence[Record]) -> None:
        self.journal = opening.open_journal(self.folder, self._kept, first.documents)
        try:
            known = self._recall(first)
            unknown = known is None and not opening.is_known(self.journal, self._index.journal(self.journal.path))
            lack = self._bring_back(known) if known is not None else None
            self._adopt(self.journal, written, anew=known is not None)
            if unknown:
                self._put_in(opening.unsealed(self.journal, self.state))
            if not self._chat_is_ours(first):
                opening.fill_lines(self.state, self.journal, first.documents().get("chat"))
                if lack is None:
                    self._recover_lost(first.documents())
            if lack is not None:
                self._note_altered(lack)
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
        """Append what `plan` gives, and answer once it is on disk. What must wait is planned anew then: who commits
        does so for others too, and holds the lock."""
        return patiently(lambda: self._queue.submit(self._commit, plan, alone))

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
            for _time in range(_LOOKS):
                try:
                    self.journal.verify_end(self.state.pos, self.state.sum)
                    self._verify_whole()
                    break
                except Altered:
                    self._mend([])
            if not self.journal.is_kept():
                self._keep_again()
            return [], None

        if not (self.gone or self.read_only or self.journal.broken):
            with contextlib.suppress(NotFound):  # it is gone, which is no news to one who asks for nothing
                self.submit(look, alone=True)

    def _keep_again(self) -> None:
        try:
            with disk.explained(self.journal.path):
                journals.keep(self.journal, self.folder.id, self._kept)
        except DagentdError as error:
            self.note("journal", error)
        else:
            _log.warning("%s: its kept journal was removed, and is kept again", self.journal.path)

    @property
    def touched(self) -> bool:
        """Somebody else wrote to the journal since we last looked at all of it."""
        return self.journal.ours != marks.of(self.journal.path)

    def _verify_whole(self) -> None:
        mark = self.journal.verify()
        if mark != self.journal.ours:
            if not is_intact(self.journal, self.state.entries.everything()):
                raise Altered("overwritten")
            self.journal.ours = mark

    def seal(self, *, everything: bool) -> None:
        """Copy what is new in the journal, in case that it is overwritten; not if it was. A copy that cannot be made
        now is made later."""
        if self.journal.kept is None:  # but a second file, which has it all
            self.departed = False
        elif not self.journal.broken and not self.touched:
            with contextlib.suppress(OSError, DagentdError):
                sealed.seal(self.journal.kept, self.journal.fd, self.journal.size, everything=everything)
                self.departed = self.departed and not everything

    def close(self) -> None:
        """After the last commit: a number of a closed file may be that of another file at once."""

        def last(_: dict[str, bytes]) -> tuple[list[Record], None]:
            self.gone = NotFound(f"session {self.folder.id} was closed", hint="Ask for it again.")
            return [], None

        if not self.read_only:
            with contextlib.suppress(OSError, DagentdError):  # whoever opens it next finds out
                if os.path.samestat(os.lstat(self.journal.path), os.fstat(self.journal.fd)):
                    self.check()  # what memory knows is known for the last time
            with contextlib.suppress(NotFound):  # it is gone already
                self.submit(last, alone=True)
        with self.lock:
            with contextlib.suppress(DagentdError):  # the index is a cache
                self.state.save()
            self.seal(everything=True)
            self.journal.close()
        self.tell = _nobody

    # --- opening ------------------------------------------------------------------------------------------

    def _adopt(self, journal: Journal, written: Sequence[Record] = (), *, anew: bool = False) -> None:
        self.journal = journal
        journals.keep(journal, self.folder.id, self._kept)
        if journal.twin is not None:
            self.note("kept-by-copy", complaints.kept_by_copy(journal.path))
        index = self._index.journal(journal.path)
        if anew:
            with contextlib.suppress(CorruptFile, LimitReached):
                index.forget()  # the place where it ends may hold the same, and those before it not
        journal.ours = marks.of(journal.path)
        self.state = opening.read_state(journal, index, written)
        self.state.proof = lambda: self.journal.ours
        if tail := journal.cut_tail():
            self.note("torn", complaints.torn(tail))
            journal.ours = marks.of(journal.path)
        self._note_lines()

    def _note_lines(self) -> None:
        for offset in self.journal.unreadable:
            self.note(f"unreadable-{offset}", complaints.skipped(self.journal.path, offset))
        if self.state.unknown:
            self.note("newer", complaints.newer(self.folder.journal, self.state.unknown))

    def _recall(self, first: FirstLook) -> opening.Recalled | None:
        index = self._index.journal(self.journal.path)
        entries = self._kept.of(self.folder.id)
        return opening.recall(self.journal, index, entries, lambda: self._remains(first.documents()))

    def _remains(self, documents: dict[str, dict[str, Any]]) -> Remains:
        shown = [raw for raw in documents.get("chat", {}).get("messages", []) if isinstance(raw, dict)]
        return Remains(self._kept, self.folder.id, lines={str(raw.get("id")): jsontext.encode(raw) for raw in shown})

    def _bring_back(self, known: opening.Recalled) -> Lack:
        """What the index knows goes back in before that is read anew: who died in between had lost it for good."""
        held = opening.read_state(self.journal, Index(None).journal(self.journal.path))
        if tail := self.journal.cut_tail():
            self.note("torn", complaints.torn(tail))
        lack = lacking(known.state, held, known.remains.message, clock.stamp())
        try:
            if lack.records:
                self.journal.append(opening.joined(lack.records))
        except Altered:
            raise complaints.keeps_altering(self.folder.journal) from None
        return replace(lack, put_back=lack.put_back + known.caught_up)

    def _recover_lost(self, documents: dict[str, dict[str, Any]]) -> None:
        """Known by the position of a document. What only a document holds is merged like all that others write."""
        if not all(self.has(raw) for raw in documents.values()):
            lack = opening.recover_lost(self.folder, self._kept, self.state, documents)
            self._put_in(lack)

    def _put_in(self, lack: Lack) -> None:
        if lack.records:
            self._append(opening.lines(lack.records))
            self._note_altered(lack)

    def has(self, raw: dict[str, Any]) -> bool:
        """Whether the journal has the position that a document carries, if it carries one."""
        found = position_of(raw)
        with self.lock:  # one that was altered is closed, and another takes its place
            return found is None or self.journal.checksum_at(found.pos) == found.sum

    # --- committing ---------------------------------------------------------------------------------------

    def _commit(self, batch: list[Ticket]) -> None:
        """Plan for each, append once, and only then let anybody know. What was planned for a journal that another
        program has altered is planned anew: it may be there by now."""
        if self.gone:
            raise self.gone
        for _ in range(_TRIES):
            lines = self._planned(batch)
            try:
                if lines:
                    self._put(lines)
                    self.tell([record for record, _ in lines])
                return
            except Lost:
                self._mend([])
        raise complaints.keeps_altering(self.folder.journal)

    def _planned(self, batch: list[Ticket]) -> list[opening.Lined]:
        with self.lock:
            self.check_version()
            pending: dict[str, bytes] = {}
            for ticket in batch:
                ticket.error = None
                try:
                    ticket.records, ticket.answer = ticket.plan(pending)
                except Exception as error:
                    ticket.records, ticket.error = [], error
        return [line for ticket in batch for line in opening.lines(ticket.records)]

    def check_version(self) -> None:
        if self.state.unknown:
            raise complaints.newer(self.folder.journal, self.state.unknown)

    def _append(self, lines: list[opening.Lined]) -> None:
        """What is right whatever others did to the journal."""
        try:
            self._put(lines)
        except Lost:
            self._mend([])
            self._append(lines)

    def _put(self, lines: list[opening.Lined]) -> None:
        """`Lost` if the journal is to be mended first."""
        try:
            start = self.journal.append(b"".join(data for _, data in lines))
        except Lost:
            raise
        except Altered:
            return self._mend(lines)
        except DagentdError as error:
            self.note("journal", error)
            raise
        self.problems.pop("journal", None)
        return self._apply(opening.placed(lines, start))

    def _apply(self, lines: list[Line]) -> None:
        with self.lock:
            for line in lines:
                self.state.apply(line.record, line.start, line.data)
                self.departed = self.departed or line.record.t == "left"

    # --- mending ------------------------------------------------------------------------------------------

    def _mend(self, lines: list[opening.Lined]) -> None:
        """Whoever altered the journal may go on while we mend it."""
        for _ in range(_TRIES):
            try:
                with self.lock, disk.explained(self.folder.journal):
                    again = self._go_on(self._mending.mend(self.journal, self.state, lines))
                return self._append(again) if again else None
            except Altered:
                continue
        raise complaints.keeps_altering(self.folder.journal)

    def _go_on(self, mended: Mended | None) -> list[opening.Lined]:
        """What is yet to be appended."""
        if mended is None:
            self.gone = complaints.gone(self.folder)
            raise self.gone
        before, self.journal = self.journal, mended.journal
        if before is not self.journal:
            before.close()
        if mended.anew:
            self._adopt(mended.journal, anew=True)
            opening.fill_lines(self.state, mended.journal, None)
        elif before is not self.journal:
            self._take_over(mended.journal)
        self._apply(mended.lines)
        self._note_altered(mended.lack)
        return mended.again

    def _take_over(self, journal: Journal) -> None:
        """Go on with another file that holds the same."""
        self.state.read_record = journal.read_record
        journal.ours = marks.of(journal.path)
        journals.keep(journal, self.folder.id, self._kept)

    def _note_altered(self, lack: Lack) -> None:
        self._put_back += lack.put_back
        self._lost = {one for one in self._lost | lack.lost if self.state.find(one) is None}
        told = {"journal-altered": complaints.altered(self.folder.journal, self._put_back)}
        if self._lost:
            told["journal-lost"] = complaints.lost(self.folder.journal, len(self._lost))
        for kind in ("journal-altered", "journal-lost"):
            self.problems.pop(kind, None)
        for kind, error in told.items():
            self.note(kind, error)
            _log.warning("%s: %s", self.folder.journal, error.message)


class Glance(Chronicle):
    """The same for one who may not write: what is on disk is read and merged in memory only."""

    @property
    def read_only(self) -> bool:
        return True

    def _open(self, first: FirstLook, written: Sequence[Record]) -> None:
        path = self.folder.journal
        self.journal = Journal.open_read(path) if path.exists() else Journal.open_read(Path(os.devnull))
        self.state = opening.read_state(self.journal, self._index.journal(path))
        self._note_lines()
        if not self.state.pos:
            self._append(opening.lines(beginning.first_records(self.folder, first.documents(), clock.stamp())))
        opening.fill_lines(self.state, self.journal, first.documents().get("chat"))

    def _put(self, lines: list[opening.Lined]) -> None:
        self._apply(opening.placed(lines, self.state.pos))
