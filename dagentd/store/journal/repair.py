"""A journal that another program cut, replaced, removed or appended to: with what file to go on, and what is new."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, beneath, disk, fileio, marks
from dagentd.errors import DagentdError
from dagentd.model import jsontext, records
from dagentd.model.documents import Chat
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import DOCUMENTS, SessionFolder
from dagentd.model.records import Record
from dagentd.store.journal import journal as journals
from dagentd.store.journal import recovery
from dagentd.store.journal.index import Index
from dagentd.store.journal.journal import Altered, Journal, Line, Lined
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.journal.recovery import Lack, Remains, lacking
from dagentd.store.journal.state import State
from dagentd.waiting import NotYet

_STILL = 0.05  # seconds in which a program that copies a file writes the next part of it
_REMOVAL = 2.0  # seconds in which a program that removes a session's folder has removed the files in it


@dataclass(frozen=True)
class Repaired:
    journal: Journal  # to go on with: the same one, or another file
    lines: list[Line] = field(default_factory=list)  # that the state has not seen
    again: list[Lined] = field(default_factory=list)  # of our append, what is to be appended behind these
    anew: bool = False  # the journal has other records than it had: the state is to be read again
    lack: Lack = field(default_factory=lambda: Lack([]))  # what it lacked


class JournalRepair:
    """`lines` are those of our append: it is synced, but not in the file that now has the journal's name, or not
    alone. `Altered` if somebody alters it while we mend."""

    def __init__(self, folder: SessionFolder, kept: KeptJournals) -> None:
        self._folder, self._kept = folder, kept
        self._missed: float | None = None  # since when the journal's name is gone
        self._overwritten: tuple[float, marks.Mark | None] | None = None  # since when, and how it was at the last look

    def mend(self, journal: Journal, state: State, lines: list[Lined]) -> Repaired | None:
        """None if the session was deleted; `NotYet` while it may be that it is."""
        ours = journals.placed(lines, journal.size - sum(len(data) for _, data in lines))
        try:
            found = beneath.status(self._folder.journal)
        except FileNotFoundError:
            stays = self._put_back(journal, b"".join(data for _, data in lines))
            return Repaired(stays, ours) if stays is not None else None
        self._missed = None
        same = os.path.samestat(found, os.fstat(journal.fd))
        if same and found.st_size > journal.size and journal.checksum_at(state.pos) == state.sum:
            held = _read_on(journal, state)
            again = journals.lines(_lacking(lines, [line.record for line in held], state))
            return Repaired(journal, held, again)
        return self._join(journal, state, lines, ours, same)

    def _put_back(self, journal: Journal, wanted: bytes) -> Journal | None:
        """Only the journal's name is gone: link it again. All documents gone too: the session was deleted, or its
        worktree was, and nothing of it is made again. Git removes the files of a folder one by one, and fails if one
        comes back: let it finish. What was wanted is not there until then, and is wanted again."""
        if not any(self._folder.document(name).exists() for name in DOCUMENTS):
            return None
        now = clock.monotonic()
        self._missed = now if self._missed is None else self._missed
        if now < self._missed + _REMOVAL:
            journal.drop_end(wanted)
            journal.repeat_to_twin(journal.size)
            raise NotYet(_REMOVAL / 10)
        self._missed = None
        held = self._kept.with_inode(self._folder.id, os.fstat(journal.fd))
        if held is not None:
            try:
                disk.link(held, self._folder.journal)
            except FileExistsError:
                raise Altered("made by somebody else") from None
            disk.sync_folder(self._folder.path)
        else:
            data = fileio.read_fd(journal.fd, journal.size)
            atomic.publish(self._folder.journal, [data], expect=None, sync=True)
            journal = Journal.open(self._folder.journal)
        return journal

    def _join(self, old: Journal, state: State, lines: list[Lined], ours: list[Line], same: bool) -> Repaired:
        """Another content is under the journal's name: a restored backup, an editor's save, a cut."""
        if same and not ours:
            self._await_rest()
        found = Journal.open(self._folder.journal)
        try:
            if not same and (lack := _continues(found, old, state)) is not None:
                return Repaired(found, ours, lack=lack)
            remains = Remains(self._kept, self._folder.id, self._shown(), old)
            again, lack = _bring_up(found, state, lines, remains)
            if same and old.twin is not None:  # it has served; two files that differ would count as two sessions
                old.size = found.size
                old.repeat_to_twin(0)
        except BaseException:
            found.close()
            raise
        return Repaired(found, again=again, anew=True, lack=lack)

    def _shown(self) -> list[Any]:
        """By the chat on disk, which alone has what left a moment ago, until it is written anew."""
        try:
            data = fileio.read(self._folder.document("chat"), fileio.CHAT_LIMIT)
            return Chat.parse(jsontext.decode_object(data)).messages
        except (OSError, DagentdError, Undecodable):
            return []

    def _await_rest(self) -> None:
        """Whoever overwrites a file has emptied it first, and writes over what we would append meanwhile."""
        mark, now = marks.of(self._folder.journal), clock.monotonic()
        since, before = self._overwritten or (now, None)
        if mark != before and now < since + _REMOVAL:
            self._overwritten = since, mark
            raise NotYet(_STILL)
        self._overwritten = None


def _read_on(journal: Journal, state: State) -> list[Line]:
    """Somebody else appended, and it stays. Whatever of it is taken in is synced, and is in the second file: where
    that fails, all is read again next time. If it is half a line, the first of ours may be glued to it, and the next
    must not be."""
    journal.size = os.fstat(journal.fd).st_size
    try:
        disk.sync_data(journal.fd, journal.path)
        journal.repeat_to_twin(state.pos)
        held = [line for group in journal.groups(state.pos) for line in group]
    except BaseException:
        journal.size = state.pos
        raise
    journal.glued = journal.whole < journal.size
    return held


def _lacking(lines: list[Lined], present: list[Record], state: State, *, mended: bool = False) -> list[Record]:
    """Of our append, what is not there; each message says where it stands, as those behind it may be there. What is
    no message means something only behind those it is about, and is said again; also where the journal was `mended` to
    what was known before."""
    last = state.entries.before(None, 1)
    before = last[0].id if last else None
    meanings, words = [_meaning(each) for each in present], [each.message for each in present]
    result: list[Record] = []
    for record, _ in lines:
        raw = record.body["message"] if record.t == "message" else None
        if raw and _meaning(record) in meanings and record.message not in words:
            result.append(records.edit(raw, record.message, record.at))  # part of its line was taken out
        elif _meaning(record) not in meanings or ((result or mended) and raw is None):
            placed = raw is not None and "after" not in record.body
            result.append(records.message(raw, record.message, record.at, before) if raw and placed else record)
        before = raw["id"] if raw else before
    return result


def _meaning(record: Record) -> object:
    raw = record.body.get("message")
    return raw.get("id") if record.t == "message" and isinstance(raw, dict) else (record.t, record.body)


def _continues(found: Journal, old: Journal, state: State) -> Lack | None:
    """An older copy of the same journal: append what it lacks, and every offset stays what it was."""
    known, held = fileio.read_fd(old.fd, old.size), fileio.read_fd(found.fd, found.size)
    if not known.startswith(held):
        return None
    found.append(known[len(held) :])
    return Lack([], sum(entry.edited > len(held) for entry in state.entries.everything()))


def _bring_up(found: Journal, known: State, lines: list[Lined], remains: Remains) -> tuple[list[Lined], Lack]:
    """Append what is known to a journal that lacks it; what of our append is not there, and what it lacked."""
    found.drop_end(b"".join(data for _, data in lines))
    scratch = recovery.read_state(found, Index(None).journal(found.path))
    later = {record.body["message"]["id"] for record, _ in lines if record.t == "message"}
    # What is lacking may be in the end that is cut.
    lack = lacking(known, scratch, remains.message, clock.stamp(), later=later)
    found.cut_tail()
    found.append(journals.joined(lack.records))
    present = [line.record for group in found.groups() for line in group] if lines else []
    return journals.lines(_lacking(lines, present, known, mended=bool(lack.records))), lack
