"""Taking in what others wrote into a session's documents: read, understood, merged into the journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import backups, disk, fileio, marks
from dagentd.adapters.files.atomic import left_beside
from dagentd.errors import DagentdError
from dagentd.formats import memory_document
from dagentd.model import records
from dagentd.model.documents import position_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store.documents.checkpoint_merge import (
    OutsideDocument,
    OutsideDocuments,
    base_checkpoint,
    merge_checkpoint,
)
from dagentd.store.documents.merge import merge
from dagentd.store.documents.projection import PAUSED, Projection
from dagentd.store.journal import journal_problems, recovery
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.store.journal.entries import Entry
from dagentd.waiting import pause

Read = tuple[dict[str, Any], bytes]  # a document, and the bytes that it was made from

_ANEW = 2.0  # seconds in which the app makes all documents of a session
_SHOWN = 1.0  # seconds on disk after which a message can have been cleared by a reader of the file


class Intake:
    """Never called by two threads at once."""

    def __init__(
        self,
        folder: SessionFolder,
        projections: dict[str, Projection],
        settle: float,
        journal: AppendableJournal,
        shown: int,
    ) -> None:
        """A chat that goes up to `shown` was on disk before this process began."""
        self._folder, self._files, self._settle, self._journal = folder, projections, settle, journal
        self._news = 0
        self._journals: dict[Path, marks.Mark] = {}  # of the same session elsewhere, as they were taken in
        self._anew_until = float("-inf")
        before = journal.state.glanced.values()
        self._brought = self._unjudged(shown)  # by a chat that was glanced at and not judged yet
        self._since = dict.fromkeys(self._brought, clock.monotonic())  # when others had written it
        self._shown: deque[tuple[float, int]] = deque([(float("-inf"), max([shown, *before]))], maxlen=64)

    def _unjudged(self, shown: int) -> set[str]:
        """Who glanced at it died before it was judged: no chat of ours is behind it."""
        state = self._journal.state
        return {one for one in state.glanced if (entry := state.find(one)) and entry.moved > shown}

    def shown(self, pos: int) -> None:
        """A chat that goes up to `pos` is on disk from now on."""
        long, find = self._shown_long(), self._journal.state.find
        self._since = {one: at for one, at in self._since.items() if (entry := find(one)) and entry.moved > long}
        self._shown.append((clock.monotonic(), pos))

    def _settled(self, entry: Entry) -> bool:
        latest = clock.monotonic() - _SHOWN
        stayed = len(entry.moves) == 1 and self._since.get(entry.id, latest) < latest
        return stayed or entry.moved <= self._shown_long()

    def _shown_long(self) -> int:
        """Up to where a chat was on disk for over a second."""
        latest = clock.monotonic() - _SHOWN
        return max((pos for at, pos in self._shown if at <= latest), default=0)

    def take_news(self) -> int:
        news, self._news = self._news, 0
        return news

    # --- understanding ------------------------------------------------------------------------------------

    def understand(self, name: str, data: bytes) -> dict[str, Any] | None:
        each = self._files[name]
        try:
            raw = each.parse(data)
        except Undecodable as error:
            # Empty is what a program leaves that is stopped between truncating and writing, on a busy machine for long.
            stable = each.stable_for(data) >= (self._settle if data else max(self._settle, PAUSED))
            if self._journal.read_only or stable:
                self._journal.note(f"corrupt-{name}", journal_problems.unreadable(each.path, str(error)))
            if stable and not self._journal.read_only:
                each.give_up(data, str(error))
            return None
        odd = name == "chat" and not all(isinstance(entry, dict) for entry in raw["messages"])
        if odd and not self._journal.read_only:
            with disk.explained(each.path):
                copy = backups.save_beside(each.path, "corrupt", data)
            told = "holds entries that are no messages; they are kept in a copy of the file"
            self._journal.note("odd-entries", DagentdError(told, path=copy, hint="Look at them."))
        return raw

    # --- sources ------------------------------------------------------------------------------------------

    def take_leftovers(self) -> None:
        """Temp files of a process that died: one may hold what another program had written into a document."""
        targets = {each.path: each for each in self._files.values()}
        apart = self._files["chat"].temps.left(targets)
        for temp, target in [*left_beside(self._folder.path), *apart]:
            if target in targets:
                try:
                    with disk.explained(temp):
                        self._take_leftover(targets[target], self._read_stable(targets[target], temp))
                        disk.remove(temp)
                except DagentdError as error:
                    self._journal.note("leftover", error)

    def _read_stable(self, each: Projection, temp: Path) -> bytes:
        """Bytes that make no sense may be in the middle of being written: by a program that opened the document before
        it became this leftover."""
        leftover = Projection(each.name, temp)
        while not leftover.readable(data := fileio.read(temp, fileio.CHAT_LIMIT)):
            if leftover.stable_for(data) >= self._settle or not marks.is_worth_waiting(temp):
                break
            pause(self._settle / 4)
        marks.settled(temp)
        return data

    def _take_leftover(self, each: Projection, data: bytes) -> None:
        """Of chat and checkpoint only what is new counts: what they lack may have been taken in long ago."""
        try:
            raw = each.parse(data)
        except Undecodable:
            return  # ours, torn by the crash, or kept as it is under another name
        if each.name == "chat":
            self._merge_docs(OutsideDocuments(chat=self._copy(each.path, raw)))
        elif each.name == "checkpoint":
            self._merge_docs(OutsideDocuments(checkpoint=replace(self._doc(each.name, raw, data), leftover=True)))
        else:
            self.merge_documents({each.name: (raw, data)})

    def take_additions(self, path: Path, data: bytes) -> bool:
        """Take in what is new in these bytes of a chat, which are forgotten if they make no sense: whoever is writing
        just now will be heard again."""
        try:
            raw = self._files["chat"].parse(data)
        except Undecodable:
            return False
        new = self._merge_docs(
            OutsideDocuments(chat=self._copy(path, raw)), partial(records.glanced, shown=self._shown_long())
        )
        self._brought |= self._written(new)
        return bool(new)

    def _written(self, new: list[Record]) -> set[str]:
        """The messages that these bring, which are in chat on disk from now on."""
        arrived = {record.body["message"]["id"] for record in new if record.t == "message"}
        self._since |= dict.fromkeys(arrived, clock.monotonic())
        return arrived

    def take_in_copy(self, path: Path) -> None:
        """Messages of a second chat of this session: unknown ones arrive, nothing leaves."""
        each = Projection("chat", path)
        data = each.look()
        try:
            raw = each.parse(data) if data is not None else None
        except Undecodable as error:
            self._journal.note(f"copy-{path.name}", journal_problems.unreadable(path, str(error)))
            return
        if raw is None:
            return
        told = "is a second chat of this session; its messages were taken in"
        self._journal.note(f"copy-{path.name}", DagentdError(told, path=path, hint="Remove it if nobody uses it."))
        self._merge_docs(OutsideDocuments(chat=self._copy(path, raw)))

    def take_in_journal(self, path: Path) -> None:
        """Messages of a second journal of this session, also those that left its chat; and with the first of them what
        its checkpoint says."""
        mark = marks.of(path)
        if mark is None or mark == self._journals.get(path) or self._journal.state.unknown:
            return
        try:
            known = recovery.read_other(path)
        except (FileNotFoundError, DagentdError) as error:
            if isinstance(error, DagentdError):
                self._journal.note(f"copy-{path.name}", error)
            return
        plan = partial(self._join, self._copy(path, {"messages": known.said}), known)
        self._news += int(self._journal.submit(lambda _: plan(), alone=True))
        self._journals[path] = mark

    def _join(self, said: OutsideDocument, known: recovery.Other) -> tuple[list[Record], int]:
        state, at = self._journal.state, clock.stamp()
        found = merge(state, OutsideDocuments(chat=said), at, self._settled)
        new = {record.body["message"]["id"] for record in found if record.t == "message"}
        if away := [one for one in known.left if one in new]:
            found.append(records.left(away, "external", at))
        doc = replace(said, raw=known.checkpoint or {}, leftover=True)
        if new and known.checkpoint and (merged := merge_checkpoint(state, doc, at)):
            found.append(records.checkpoint(merged, at))
        return found, len(found)

    def _copy(self, path: Path, raw: dict[str, Any]) -> OutsideDocument:
        return OutsideDocument(raw, self._folder.within_feature(path), None, ours=True)

    def take_late(self, each: Projection, now: float) -> None:
        def take(data: bytes) -> None:
            if not self._merge_bytes(each, data):
                backups.save_beside(each.path, "corrupt", data)

        each.late_writes(now, take)

    # --- merging ------------------------------------------------------------------------------------------

    def _merge_bytes(self, each: Projection, data: bytes) -> bool:
        try:
            raw = each.parse(data)
        except Undecodable:
            return False
        self.merge_documents({each.name: (raw, data)})
        return True

    def merge_documents(self, read: dict[str, Read]) -> bool:
        """Whether the journal has new records of it. Who brings an older folder brings its journal too, and what is
        merged is compared with records that are read from there: it is mended first."""
        if not read:
            return False
        self._journal.check_touched()
        docs = {name: self._doc(name, raw, data) for name, (raw, data) in read.items() if name != "memory"}
        if "memory" in read and "checkpoint" not in docs:  # of the newest app, which empties a chat after writing it
            docs["checkpoint"] = self._memory(*read["memory"])
        remade = self._remade(docs.get("session"))
        new = self._merge_docs(OutsideDocuments(**docs, remade=remade, brought=self._brought))
        if "chat" in docs:
            self._written(new)
            self._brought = set()
            self._journal.state.glanced = {}
        if "memory" in read and "checkpoint" in read:
            new += self._merge_docs(OutsideDocuments(checkpoint=self._memory(*read["memory"])))
        return bool(new)

    def _remade(self, session: OutsideDocument | None) -> bool:
        """The app makes the documents of a session one after the other, the session first, and we may look
        between: what one says holds for the others."""
        now = clock.monotonic()
        with self._journal.lock:
            created = self._journal.state.session.get("createdAt")
        if session and not session.ours and session.raw.get("createdAt") != created:
            self._anew_until = now + _ANEW
        return now < self._anew_until

    def _memory(self, raw: dict[str, Any], data: bytes) -> OutsideDocument:
        """A memory as the checkpoint that its writer would have written."""
        doc = self._doc("memory", raw, data)
        with self._journal.lock:
            base = base_checkpoint(self._journal.state, doc) or {}
        return replace(doc, raw=memory_document.as_checkpoint(raw, base))

    def _merge_docs(
        self, outside: OutsideDocuments, as_told: Callable[[Record], Record] = lambda each: each
    ) -> list[Record]:
        journal = self._journal
        if journal.state.unknown:
            return []

        def plan(_: dict[str, bytes]) -> tuple[list[Record], list[Record]]:
            found = [as_told(each) for each in merge(journal.state, outside, clock.stamp(), self._settled)]
            return found, found

        new: list[Record] = journal.submit(plan, alone=True)
        self._news += len(new)
        return new

    def _doc(self, name: str, raw: dict[str, Any], data: bytes) -> OutsideDocument:
        path = self._files[name].path
        source, mark = self._folder.within_feature(path), marks.of_content(path, fileio.digest(data))
        return OutsideDocument(raw, source, self.valid(raw), "dagentd" in raw, mark)

    def valid(self, raw: dict[str, Any]) -> int | None:
        found = position_of(raw)
        return found.pos if found and self._journal.has(raw) else None
