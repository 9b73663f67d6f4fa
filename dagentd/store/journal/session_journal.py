"""A session's journal opened, checked, and mended where other programs altered it."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk, marks
from dagentd.errors import Conflict, CorruptFile, DagentdError, LimitReached, NotFound
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store.journal import journal as journals
from dagentd.store.journal import journal_problems, opening, recovery
from dagentd.store.journal.appendable_journal import TRIES, AppendableJournal
from dagentd.store.journal.index import Index
from dagentd.store.journal.journal import Altered, Journal
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.journal.opening import Found
from dagentd.store.journal.recovery import Lack, Remains, is_intact, lacking
from dagentd.store.journal.repair import JournalRepair, Repaired

_log = logging.getLogger(__name__)

_LOOKS = 3  # one that has its name again may have been overwritten before


class SessionJournal(AppendableJournal):
    """Whoever makes one holds the project's lock."""

    def __init__(
        self,
        folder: SessionFolder,
        kept: KeptJournals,
        index: Index,
        first: Found,
        written: Sequence[Record] = (),
    ) -> None:
        super().__init__(folder)
        self._kept, self._index = kept, index
        self._mending = JournalRepair(folder, kept)
        self._put_back = 0  # messages that other programs had taken out of the journal
        told = ""
        for _ in range(_LOOKS):
            try:
                with disk.explained(folder.journal):
                    self._open(first, written)
                return
            except Altered as error:  # or its folder was exchanged meanwhile
                told = f"was {error} while it was opened"
        raise Conflict(told, path=folder.journal, hint="Try again.")

    def _open(self, first: Found, written: Sequence[Record]) -> None:
        self.file = opening.open_journal(self.folder, self._kept, first)
        try:
            known = self._recall(first)
            unknown = known is None and not opening.is_known(self.file, self._index.journal(self.file.path))
            lack = self._bring_back(known) if known is not None else None
            if lack is not None:
                self._list_lost(lack)
            along = self._bring_along(lambda: first.documents().get("session", {}))
            self._adopt(self.file, written, anew=known is not None)
            if unknown:
                self._put_in(opening.unsealed(self.file, self.state))
            if not self._chat_is_ours(first):
                opening.fill_lines(self.state, self.file, first.documents().get("chat"))
                if lack is None:
                    self._recover_lost(first.documents())
            if lack is not None or along:
                self._note_altered(Lack([], along + (lack.put_back if lack is not None else 0)))
                self.secure()
            else:
                self._note_lost()
        except BaseException:
            self.file.close()  # a session that cannot be served is tried again and again
            raise

    def _chat_is_ours(self, first: Found) -> bool:
        """Whether the chat is just as we wrote it; the messages then have their bytes from there."""
        shown, found = self.state.shown, first.digest("chat")
        if shown is None or found is None or shown != (found.hex(), self.state.chat_pos):
            return False
        return opening.take_lines(self.state, first.chat_lines())

    def check(self, *, doubtful: bool = False) -> None:
        """See whether the journal is still the file we know, and mend it if not: nobody may come to add. All of it is
        read where somebody else wrote to it, or where that is to be doubted."""

        def look(_: dict[str, bytes]) -> tuple[list[Record], None]:
            if doubtful:
                self.file.ours = None
            for _time in range(_LOOKS):
                try:
                    self.file.verify_end(self.state.pos, self.state.sum)
                    self._verify_whole()
                    break
                except Altered:
                    self._mend([])
            if not self.file.is_kept():
                self._keep_again()
            return [], None

        if not (self.gone or self.read_only or self.file.broken):
            with contextlib.suppress(NotFound):  # it is gone, which is no news to one who asks for nothing
                self.submit(look, alone=True)

    def _keep_again(self) -> None:
        try:
            with disk.explained(self.file.path):
                journals.keep(self.file, self.folder.id, self._kept)
        except DagentdError as error:
            self.note("journal", error)
        else:
            _log.warning("%s: its kept journal was removed, and is kept again", self.file.path)

    def _verify_whole(self) -> None:
        mark = self.file.verify()
        if mark != self.file.ours:
            known = self.state
            if not is_intact(self.file, known.pos, known.entries.everything(), known.sets, known.checkpoints):
                raise Altered("overwritten")
            self.file.ours = mark

    # --- opening ------------------------------------------------------------------------------------------

    def _adopt(self, journal: Journal, written: Sequence[Record] = (), *, anew: bool = False) -> None:
        self.file = journal
        journals.keep(journal, self.folder.id, self._kept)
        if journal.twin is not None:
            self.note("kept-by-copy", journal_problems.kept_by_copy(journal.path))
        index = self._index.journal(journal.path)
        if anew:
            with contextlib.suppress(CorruptFile, LimitReached):
                index.forget()  # the place where it ends may hold the same, and those before it not
        journal.ours = marks.of(journal.path)
        self.state = recovery.read_state(journal, index, written)
        if tail := journal.cut_tail():
            self.note("torn", journal_problems.torn(tail))
            journal.ours = marks.of(journal.path)
        self._note_lines()

    def _note_lines(self) -> None:
        for offset in self.file.unreadable:
            self.note(f"unreadable-{offset}", journal_problems.skipped(self.file.path, offset))
        if self.state.unknown:
            self.note("newer", journal_problems.newer(self.folder.journal, self.state.unknown))

    def _recall(self, first: Found) -> opening.Recalled | None:
        index = self._index.journal(self.file.path)
        entries = self._kept.of(self.folder.id)

        def look() -> Remains:
            shown = first.documents().get("chat", {}).get("messages", [])
            return Remains(self._kept, self.folder.id, shown, self.file)

        return opening.recall(self.file, index, entries, look)

    def _bring_back(self, known: opening.Recalled) -> Lack:
        """Put back what the index knows, before the journal is read anew: who died in between had lost it for good. The
        end is cut when it is known what of it is whole."""
        held = recovery.read_state(self.file, Index(None).journal(self.file.path))
        lack = lacking(known.state, held, known.remains.message, clock.stamp())
        if tail := self.file.cut_tail():
            self.note("torn", journal_problems.torn(tail))
        try:
            if lack.records:
                self.file.append(journals.joined(lack.records))
        except Altered:
            raise journal_problems.keeps_altering(self.folder.journal) from None
        return replace(lack, put_back=lack.put_back + known.caught_up)

    def _bring_along(self, session: Callable[[], Mapping[str, Any]]) -> int:
        """Before this file is kept and known: then nobody asks again."""
        index, entries = self._index.journal(self.file.path), self._kept.of(self.folder.id)
        try:
            return opening.bring_along(self.file, index, entries, lambda: session().get("createdAt"))
        except Altered:
            raise journal_problems.keeps_altering(self.folder.journal) from None

    def _recover_lost(self, documents: dict[str, dict[str, Any]]) -> None:
        """Known by the position of a document. What only a document holds is merged like all that others write."""
        if not all(self.has(raw) for raw in documents.values()):
            lack = opening.recover_lost(self.folder, self._kept, self.state, documents)
            self._put_in(lack)

    def _put_in(self, lack: Lack) -> None:
        if lack.records:
            self._append(journals.lines(lack.records))
            self._note_altered(lack)

    # --- mending ------------------------------------------------------------------------------------------

    def _mend(self, lines: list[journals.Lined]) -> None:
        """Whoever altered the journal may go on while we mend it."""
        for _ in range(TRIES):
            try:
                with self.lock, disk.explained(self.folder.journal):
                    again = self._go_on(self._mending.mend(self.file, self.state, lines))
                return self._append(again) if again else None
            except Altered:
                continue
        raise journal_problems.keeps_altering(self.folder.journal)

    def _go_on(self, mended: Repaired | None) -> list[journals.Lined]:
        """Go on with the journal that was mended; the lines that are yet to be appended."""
        if mended is None:
            self.gone = journal_problems.gone(self.folder)
            raise self.gone
        before, self.file, along = self.file, mended.journal, 0
        has_more = mended.anew and self._has_others(before)
        if before is not self.file:
            before.close()
        if mended.anew:
            self._list_lost(mended.lack)
            along = self._bring_along(lambda: self.state.session) if has_more else 0
            self._adopt(mended.journal, anew=True)
            opening.fill_lines(self.state, mended.journal, None)
        elif before is not self.file:
            self._take_over(mended.journal)
        self._apply(mended.lines)
        self._note_altered(replace(mended.lack, put_back=mended.lack.put_back + along))
        if mended.anew:
            self.secure()  # what damaged it may do so again, and we may die before the next save
        return mended.again

    def _has_others(self, before: Journal) -> bool:
        """Whether the file that had the journal's name was overwritten before it lost that, and so has what we never
        knew. Else it has what we appended a moment ago, which is said again."""
        is_another = not os.path.samestat(os.fstat(before.fd), os.fstat(self.file.fd))
        return is_another and before.checksum_at(self.state.pos) != self.state.sum

    def _take_over(self, journal: Journal) -> None:
        """Go on with another file that holds the same."""
        self.state.read_record = journal.read_record
        journal.ours = marks.of(journal.path)
        journals.keep(journal, self.folder.id, self._kept)

    def _note_altered(self, lack: Lack) -> None:
        self._put_back += lack.put_back
        self._tell_anew("journal-altered", journal_problems.altered(self.folder.journal, self._put_back))
        self._note_lost()

    def _note_lost(self) -> None:
        """Tell of messages that are listed as lost, also by a process before this one, and did not come back."""
        journal = self.folder.journal
        try:
            count = recovery.count(journal, self.state.find)
        except (DagentdError, atomic.Changed):  # the list is not to be used just now; what was told stands
            return
        self._tell_anew(
            "journal-lost", journal_problems.lost(journal, recovery.list_of(journal), count) if count else None
        )

    def _list_lost(self, lack: Lack) -> None:
        """Before the index, which knows them, is begun anew. Without room for the list, the log has it."""
        try:
            recovery.add(self.folder.journal, lack.lost)
        except (DagentdError, atomic.Changed):
            _log.error("%s: messages that no file has any more: %s", self.folder.journal, ", ".join(lack.lost))

    def _tell_anew(self, kind: str, error: DagentdError | None) -> None:
        self.problems.pop(kind, None)
        if error is not None:
            self.note(kind, error)
            _log.warning("%s: %s", self.folder.journal, error.message)


class ReadOnlyJournal(SessionJournal):
    """The same for one who may not write: what is on disk is read and merged in memory only."""

    @property
    def read_only(self) -> bool:
        return True

    def _open(self, first: Found, written: Sequence[Record]) -> None:
        path = self.folder.journal
        self.file = Journal.open_read(path) if path.exists() else Journal.open_read(Path(os.devnull))
        self.state = recovery.read_state(self.file, self._index.journal(path))
        self._note_lines()
        if not self.state.pos:
            self._append(journals.lines(opening.first_records(self.folder, first.documents(), clock.stamp())))
        opening.fill_lines(self.state, self.file, first.documents().get("chat"))

    def _put(self, lines: list[journals.Lined]) -> None:
        self._apply(journals.placed(lines, self.state.pos))
