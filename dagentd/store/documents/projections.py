"""The documents behind a journal: chat, checkpoint and session, read when others wrote them, written behind commits."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk, fileio, marks
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, from_oserror
from dagentd.model.documents import position_of
from dagentd.model.project import SessionFolder
from dagentd.store.documents import rendering
from dagentd.store.documents.document_writer import DocumentWriter
from dagentd.store.documents.first_look import FirstLook
from dagentd.store.documents.intake import Intake
from dagentd.store.documents.projection import Projection
from dagentd.store.journal import journal_problems
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.waiting import pause

_SELDOM = 1.0  # seconds between two saves of the index
_LONG = 60.0  # after one that the disk did not allow


def places(folder: SessionFolder) -> dict[str, Path]:
    """The documents that are projections, and the newest app's memory, which is one where that app is in use."""
    found = {name: folder.document(name) for name in ("session", "chat", "checkpoint")}
    return {**found, "memory": folder.conventional("memory")}


class Projections:
    def __init__(self, folder: SessionFolder, settle: float, temps: Temps, memory: bool = False) -> None:
        """`memory`: the newest app is in use here."""
        self.folder, self._memory = folder, memory
        self._settle = settle
        self._files = {name: Projection(name, path, temps) for name, path in places(folder).items()}
        self._io = threading.RLock()
        self._next_probe = self._next_look = 0.0
        self._failures = 0
        self.idle = False  # only the index is behind, and what would be sealed
        self._next_save = clock.monotonic() + _SELDOM

    # --- opening ------------------------------------------------------------------------------------------

    def first_look(self) -> FirstLook:
        return FirstLook(self.folder, self._files, self._settle)

    def attach(self, journal: AppendableJournal, first: FirstLook) -> None:
        self._journal = journal
        state, shown = journal.state, journal.state.pos
        if (digest := first.digest("chat")) and state.shown == (digest.hex(), state.chat_pos):
            self._files["chat"].ours(digest, state.chat_pos, first.chat_extra())
        else:
            shown = self._shown_before(first)
        self._intake = Intake(self.folder, self._files, self._settle, journal, shown)
        self._output = DocumentWriter(self.folder, self._files, self._settle, journal, self._memory)
        if not journal.read_only:
            self._intake.take_leftovers()
        self._know_again(first)
        self._miss(first)
        self.look()
        self._try(clock.monotonic(), self._write)

    def _shown_before(self, first: FirstLook) -> int:
        """How far the chat had come that was on disk before this process began. It says so itself, unless its writer
        built a new one; the session document is written behind it, so what that is made from was shown. What was
        acknowledged after that and never shown, because we died, cannot have been cleared by one who read the chat;
        nor can what nothing says was shown."""
        documents, state = first.documents(), self._journal.state
        for raw in (documents[name] for name in ("chat", "session") if name in documents):
            if (position := position_of(raw)) and self._journal.has(raw):
                return position.pos
        return state.shown[1] if state.shown else 0

    def _miss(self, first: FirstLook) -> None:
        """Where one document is missing and others are there, git may be removing the session just now. One that was
        taken back with its migration has none, and is made again on request."""
        if self._journal.state.shown is not None and any(first.digest(name) for name in self._files):
            for each in self._output.behind():
                each.vanished = clock.monotonic() if first.digest(each.name) is None else None

    def _know_again(self, first: FirstLook) -> None:
        """Know again what was taken in before this process began and is still there as it was."""
        for name, mark in self._journal.state.seen.items():
            if (data := first.again(name, mark)) is not None:
                self._files[name].accept(data, first.documents()[name])

    # --- reading ------------------------------------------------------------------------------------------

    def reconcile(self) -> None:
        """Take in what others wrote and make what is missing, without waiting for a commit."""
        self._journal.try_again()
        self.look_settled()
        vanished = [each.vanished for each in self._files.values() if each.vanished is not None]
        if vanished and self._stays(max(vanished)):
            for each in self._files.values():
                each.vanished = None
        self._output.due = 0.0
        self.tend(clock.monotonic())

    def _stays(self, since: float) -> bool:
        """Git removes the files of a folder one after the other: a moment after the first, the others are gone too."""
        while (left := since + self._settle - clock.monotonic()) > 0:
            pause(left)
        try:
            atomic.check_there(self.there())
        except FileNotFoundError:
            return False
        return True

    def look_settled(self) -> None:
        """Take in what others wrote. Bytes that make no sense yet are read again until they do, or have stayed the
        same for the settle time."""
        while not self.look() and not self._journal.read_only:
            if not all(marks.is_worth_waiting(each.path) for each in self._files.values()):
                return
            pause(self._settle / 4)

    def look(self) -> bool:
        """Take in what others wrote; False if something is being written just now."""
        with self._io:
            whole = {each.name: data for each in self._files.values() if (data := each.look()) is not None}
            self._note_refused()
            understood = {name: self._intake.understand(name, data) for name, data in whole.items()}
            read = {name: raw for name, raw in understood.items() if raw is not None}
            changed = self._intake.merge_documents({name: (raw, whole[name]) for name, raw in read.items()})
            for name, raw in read.items():
                each = self._files[name]
                each.accept(whole[name], raw)
                if not changed and self._is_current(name, raw):
                    each.written = self._output.mark(name)
            return len(read) == len(whole)

    def glance(self, held: Sequence[bytes]) -> bool:
        """Take in what is new in the chat, as soon as it is whole: it may be cleared in the next moment. What it lacks
        is judged when it has settled, and our own is not written into the midst of it. Whether anything was new."""
        with self._io:
            chat = self._files["chat"]
            now = chat.look()
            found = [each for each in held if fileio.digest(each) != chat.digest and each != now]
            found += [now] if now is not None else []
            taken = [self._intake.take_additions(chat.path, each) for each in found]
            if not any(taken):
                return False
            self._output.due = max(self._output.due, clock.monotonic() + self._settle)
            return True

    def _is_current(self, name: str, raw: dict[str, Any]) -> bool:
        """Whether a document that had nothing new in it may stay as it is. It may lack what stays in ours, or say what
        the journal refused: a decision struck, another id, messages in another order."""
        pos = self._intake.valid(raw)
        if pos is None or pos < self._output.mark(name):
            return False
        with self._journal.lock:
            return rendering.says_the_same(name, raw, self._journal.state, self.folder, self._output.has_memory)

    def _note_refused(self) -> None:
        for each in self._files.values():
            if each.refused:
                self._journal.note(f"refused-{each.name}", each.refused)
            else:
                self._journal.problems.pop(f"refused-{each.name}", None)

    def take_in_copy(self, path: Path) -> None:
        with self._io:
            self._intake.take_in_copy(path)

    def take_in_journal(self, path: Path) -> None:
        with self._io:
            self._intake.take_in_journal(path)

    def take_news(self) -> int:
        return self._intake.take_news()

    def session_document(self) -> dict[str, Any]:
        with self._journal.lock:
            extra = self._files["session"].extra
            return rendering.session_document(self._journal.state, self.folder, extra, self._output.has_memory)

    # --- what is due --------------------------------------------------------------------------------------

    def there(self) -> list[Path]:
        """The files that must be there, or the session is being removed."""
        return self._output.there()

    def tend(self, now: float) -> float | None:
        """Do what is due; the time at which there is more to do, None if there is nothing."""
        with self._io:
            if self._journal.gone:
                self.close()
                return None
            # Each on its own: one that cannot be read holds up none of the others.
            late = [self._try(now, partial(self._intake.take_late, each, now)) for each in self._files.values()]
            well = all(late) and self._appendable(now)
            if self._refused_for_now() and now >= self._next_look:  # nobody may come to look
                self._try(now, self.look)
                self._next_look = now + self._longer() if self._refused_for_now() else 0.0
            readable = not self._refused_for_now()
            if self._output.behind():
                well = well and now >= self._output.due and self._try(now, self._write)
            self._save(now)
            if well and readable:
                self._failures = 0
                self._journal.problems.pop("documents", None)
            return self._next_due()

    def _appendable(self, now: float) -> bool:
        """A journal that cannot be appended holds the documents back, and nobody may come to add to it."""
        if self._journal.file.broken and now >= self._next_probe:
            self._journal.try_again()
            if self._journal.file.broken:
                self._next_probe = now + self._longer()
        return not self._journal.file.broken

    def _refused_for_now(self) -> bool:
        """For want of a descriptor, or by a disk that failed: that may pass without a word. Not for what a file is, or
        who may read it."""
        why = [each.refused for each in self._files.values() if each.refused is not None]
        return not self._journal.read_only and any(not isinstance(each, NotAllowed | CorruptFile) for each in why)

    @property
    def failing(self) -> bool:
        """The documents cannot be written just now."""
        return self._failures > 0

    def _next_due(self) -> float | None:
        due = [late.due for each in self._files.values() for late in each.replaced]
        due += [self._next_probe] if self._journal.file.broken else []
        due += [self._next_look] if self._refused_for_now() else []
        due += [self._output.due] if self._output.behind() else []
        unsaved = self._is_unsaved()
        self.idle = unsaved and not due
        return min([*due, *([self._next_save] if unsaved else [])], default=None)

    def _try(self, now: float, work: Callable[[], object]) -> bool:
        try:
            work()
            return True
        except FileNotFoundError:
            if self._output.waits_for_sign():
                self._failures += 1  # so that nobody who stops waits for it
            else:
                self._failed(now, journal_problems.gone(self.folder))
        except OSError as error:
            self._failed(now, from_oserror(error, self._refused_by(error)))
        except DagentdError as error:
            self._failed(now, error)
        return False

    def _refused_by(self, error: OSError) -> Path:
        """The document that may not be opened; else their folder, because the name of a temp file says nothing."""
        named = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | os.PathLike) else None
        return next((each.path for each in self._files.values() if each.path == named), self.folder.path)

    def _failed(self, now: float, error: DagentdError) -> None:
        """The journal holds everything; the documents follow when the disk allows."""
        self._output.due = now + self._longer()
        if disk.is_missing(self.folder.path):
            self._journal.gone = journal_problems.gone(self.folder)
        self._journal.note("documents", error)

    def _longer(self) -> float:
        """For how many seconds to wait after one more failure."""
        self._failures += 1
        return min(60.0, 2.0**self._failures / 10)

    def _write(self) -> None:
        for each, pos in self._output.write():
            if pos is None:
                self.look()
                continue
            if each.name == "chat":
                self._intake.shown(pos)
            self._intake.take_late(each, clock.monotonic())

    def _save(self, now: float) -> None:
        """Let the index follow now and then: it costs nearly as much as the messages did, so whoever opens a session
        or imports into it does not wait for it. Closing saves too."""
        if now < self._next_save or not self._is_unsaved():
            return
        self._journal.check_touched()
        with self._journal.lock:
            with contextlib.suppress(DagentdError):  # damaged, it is begun anew, and who comes next reads again
                self._journal.state.save(self._journal.file.ours)
            self._journal.seal(everything=self._journal.departed)
            self._next_save = clock.monotonic() + (_LONG if self._is_unsaved() else _SELDOM)

    def _is_unsaved(self) -> bool:
        journal = self._journal
        return not journal.read_only and (bool(journal.state.entries.fresh) or journal.departed)

    def close(self) -> None:
        with self._io:
            for each in self._files.values():
                each.close()

    def still(self) -> contextlib.AbstractContextManager[Any]:
        """While this lasts, no document is read or written."""
        return self._io
