"""The documents behind a journal: chat, checkpoint and session, read when others wrote them, written behind commits."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk, files
from dagentd.errors import DagentdError
from dagentd.formats import memory
from dagentd.model.documents import position_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store import opening, rendering
from dagentd.store.chronicle import Chronicle
from dagentd.store.entry import Entry
from dagentd.store.firstlook import FirstLook
from dagentd.store.merge import merge
from dagentd.store.outside import Doc, Outside
from dagentd.store.projection import GONE_FOR, Projection
from dagentd.store.summaries import base_checkpoint

_APART = 0.1  # seconds between two writes of one session's documents
_LONG = 0.05  # a write that takes longer is of a very long chat
_ANEW = 2.0  # seconds in which the app makes all documents of a session
_SHOWN = 1.0  # seconds on disk after which a message can have been cleared by a reader of the file


class Projections:
    def __init__(self, folder: SessionFolder, settle: float) -> None:
        self.folder = folder
        self._settle = settle
        self._files = {name: Projection(name, folder.document(name)) for name in ("session", "chat", "checkpoint")}
        self._files["memory"] = Projection("memory", folder.conventional("memory"))  # of the newer app, if there
        self._io = threading.RLock()
        self._next_write = 0.0
        self._failures = 0
        self._news = 0
        self._anew_until = float("-inf")
        self._shown: deque[tuple[float, int]] = deque(maxlen=64)

    # --- opening ------------------------------------------------------------------------------------------

    def first_look(self) -> FirstLook:
        return FirstLook(self.folder, self._files, self._settle)

    def attach(self, chronicle: Chronicle, first: FirstLook) -> None:
        self._chronicle = chronicle
        self._shown.append((float("-inf"), chronicle.state.pos))
        if (digest := first.digest("chat")) and chronicle.state.shown == (digest.hex(), chronicle.state.chat_pos):
            self._files["chat"].ours(digest, chronicle.state.chat_pos, first.chat_extra())
        if not chronicle.read_only:
            self._sweep()
        self.look()
        self._try(clock.monotonic(), self._write)

    def _sweep(self) -> None:
        """Temp files of a process that died: one may hold what another program had written into a document."""
        targets = {each.path: each for each in self._files.values()}
        for temp, target in files.leftovers(self.folder.path):
            if target in targets:
                try:
                    with disk.explained(temp):
                        self._take_leftover(targets[target], files.read(temp, files.CHAT_LIMIT))
                        disk.remove(temp)
                except DagentdError as error:
                    self._chronicle.note("leftover", error)

    def _take_leftover(self, each: Projection, data: bytes) -> None:
        """Of a chat only what is new counts: what it removes may have been taken in long ago."""
        try:
            raw = each.parse(data)
        except Undecodable:
            return  # ours, torn by the crash
        if each.name == "chat":
            self._merge_docs(Outside(chat=self._copy(each.path, raw)))
        else:
            self._merge({each.name: raw})

    # --- reading ------------------------------------------------------------------------------------------

    def reconcile(self) -> None:
        """Take in what others wrote and make what is missing, without waiting for a commit. Bytes that make no
        sense yet are read again until they do, or have stayed the same for the settle time."""
        self._chronicle.try_again()
        while not self.look() and not self._chronicle.read_only:
            time.sleep(self._settle / 4)
        for each in self._files.values():
            each.vanished = None
        self._next_write = 0.0
        self.tend(clock.monotonic())

    def look(self) -> bool:
        """Take in what others wrote; False if something is being written just now."""
        with self._io:
            whole = {each.name: data for each in self._files.values() if (data := each.look()) is not None}
            self._note_refused()
            read = {name: raw for name, data in whole.items() if (raw := self._understand(name, data)) is not None}
            changed = self._merge(read)
            for name, raw in read.items():
                each = self._files[name]
                each.accept(whole[name], raw)
                if not changed and (pos := self._valid(raw)) is not None and pos >= self._mark(name):
                    each.written = self._mark(name)
            return len(read) == len(whole)

    def _note_refused(self) -> None:
        for each in self._files.values():
            if each.refused:
                self._chronicle.note(f"refused-{each.name}", each.refused)
            else:
                self._chronicle.problems.pop(f"refused-{each.name}", None)

    def take_in_copy(self, path: Path) -> None:
        """Messages of a second chat of this session: unknown ones arrive, nothing leaves."""
        each = Projection("chat", path)
        data = each.look()
        try:
            raw = each.parse(data) if data is not None else None
        except Undecodable as error:
            self._chronicle.note(f"copy-{path.name}", opening.unreadable(path, str(error)))
            return
        if raw is None:
            return
        told = "is a second chat of this session; its messages were taken in"
        self._chronicle.note(f"copy-{path.name}", DagentdError(told, path=path, hint="Remove it if nobody uses it."))
        self._merge_docs(Outside(chat=self._copy(path, raw)))

    def _copy(self, path: Path, raw: dict[str, Any]) -> Doc:
        return Doc(raw, self.folder.within_feature(path), None, ours=True)

    def take_news(self) -> int:
        news, self._news = self._news, 0
        return news

    def session_document(self) -> dict[str, Any]:
        with self._chronicle.lock:
            return rendering.session_document(self._chronicle.state, self.folder, self._files["session"].extra)

    def _understand(self, name: str, data: bytes) -> dict[str, Any] | None:
        each = self._files[name]
        try:
            raw = each.parse(data)
        except Undecodable as error:
            if self._chronicle.read_only:
                self._chronicle.note(f"corrupt-{name}", opening.unreadable(each.path, str(error)))
            elif each.stable_for(data) >= self._settle:
                with disk.explained(each.path):
                    self._set_aside(each, data, str(error))
            return None
        odd = name == "chat" and not all(isinstance(entry, dict) for entry in raw["messages"])
        if odd and not self._chronicle.read_only:
            with disk.explained(each.path):
                copy = files.save_beside(each.path, "corrupt", data)
            told = "holds entries that are no messages; they are kept in a copy of the file"
            self._chronicle.note("odd-entries", DagentdError(told, path=copy, hint="Look at them."))
        return raw

    def _set_aside(self, each: Projection, data: bytes, why: str) -> None:
        """Move unreadable bytes out of the way, to be written anew."""
        moved = each.set_aside(data, self._settle)
        told = f"{why}; it was set aside and made again from the journal"
        self._chronicle.note(f"corrupt-{each.name}", DagentdError(told, path=moved, hint="Look at it, then delete it."))
        self._take_late_of(each, clock.monotonic())

    def _merge_bytes(self, each: Projection, data: bytes) -> bool:
        try:
            raw = each.parse(data)
        except Undecodable:
            return False
        self._merge({each.name: raw})
        return True

    def _merge(self, read: dict[str, dict[str, Any]]) -> bool:
        """Whether the journal has new records of it."""
        if not read:
            return False
        docs = {name: self._doc(name, raw) for name, raw in read.items() if name != "memory"}
        changed = self._merge_docs(Outside(**docs, remade=self._remade(docs.get("session")))) if docs else False
        if "memory" in read:
            changed |= self._merge_docs(Outside(checkpoint=self._memory(read["memory"])))
        return changed

    def _remade(self, session: Doc | None) -> bool:
        """The app makes the documents of a session one after the other, the session first, and we may look
        between: what one says holds for the others."""
        now = clock.monotonic()
        with self._chronicle.lock:
            created = self._chronicle.state.session.get("createdAt")
        if session and not session.ours and session.raw.get("createdAt") != created:
            self._anew_until = now + _ANEW
        return now < self._anew_until

    def _memory(self, raw: dict[str, Any]) -> Doc:
        """A memory as the checkpoint that its writer would have written."""
        doc = self._doc("memory", raw)
        with self._chronicle.lock:
            base = base_checkpoint(self._chronicle.state, doc) or {}
        return replace(doc, raw=memory.as_checkpoint(raw, base))

    def _merge_docs(self, outside: Outside) -> bool:
        chronicle = self._chronicle
        if chronicle.state.unknown:
            return False

        def plan(_: dict[str, bytes]) -> tuple[list[Record], int]:
            found = merge(chronicle.state, outside, clock.stamp(), self._settled)
            return found, len(found)

        count = int(chronicle.submit(plan, alone=True))
        self._news += count
        return count > 0

    def _doc(self, name: str, raw: dict[str, Any]) -> Doc:
        source = self.folder.within_feature(self._files[name].path)
        return Doc(raw, source, self._valid(raw), "dagentd" in raw)

    def _valid(self, raw: dict[str, Any]) -> int | None:
        found = position_of(raw)
        return found.pos if found and self._chronicle.has(raw) else None

    def _settled(self, entry: Entry) -> bool:
        latest = clock.monotonic() - _SHOWN
        return any(at <= latest and entry.moved <= pos for at, pos in self._shown)

    # --- writing ------------------------------------------------------------------------------------------

    def _mark(self, name: str) -> int:
        state = self._chronicle.state
        return {"chat": state.chat_pos, "session": state.pos}.get(name, state.checkpoint_pos)

    def dirty(self) -> list[Projection]:
        """Nothing while the journal cannot be appended: the documents must not run ahead of it."""
        if self._chronicle.read_only or self._chronicle.journal.broken:
            return []
        behind = [each for each in self._files.values() if each.written != self._mark(each.name) and not each.refused]
        return [each for each in behind if self._wanted(each)]

    def _wanted(self, each: Projection) -> bool:
        """A checkpoint only if there is one; the newer app's memory only where that app made it."""
        if each.name == "memory":
            return each.digest is not None
        return each.name != "checkpoint" or self._chronicle.state.checkpoint is not None

    def tend(self, now: float) -> float | None:
        """Do what is due; the time at which there is more to do, None if there is nothing."""
        with self._io:
            if self._chronicle.gone:
                self.close()
                return None
            well = self._try(now, lambda: self._take_late(now))
            if self.dirty():
                well = well and now >= self._next_write and self._try(now, self._write)
            if well:
                self._failures = 0
                self._chronicle.problems.pop("documents", None)
            return self._next_due()

    @property
    def failing(self) -> bool:
        """The documents cannot be written just now."""
        return self._failures > 0

    def _next_due(self) -> float | None:
        due = [late.due for each in self._files.values() for late in each.replaced]
        return min([*due, *([self._next_write] if self.dirty() else [])], default=None)

    def _try(self, now: float, work: Callable[[], None]) -> bool:
        try:
            work()
            return True
        except FileNotFoundError:
            self._failed(now, opening.gone(self.folder))
        except OSError as error:
            self._failed(now, disk.told(error, self.folder.path))
        except DagentdError as error:
            self._failed(now, error)
        return False

    def _take_late(self, now: float) -> None:
        for each in self._files.values():
            self._take_late_of(each, now)

    def _take_late_of(self, each: Projection, now: float) -> None:
        def take(data: bytes) -> None:
            if not self._merge_bytes(each, data):
                files.save_beside(each.path, "corrupt", data)

        each.late_writes(now, take)

    def _failed(self, now: float, error: DagentdError) -> None:
        """The journal holds everything; the documents follow when the disk allows."""
        self._failures += 1
        self._next_write = now + min(60.0, 2.0**self._failures / 10)
        if not self.folder.path.is_dir():
            self._chronicle.gone = opening.gone(self.folder)
        self._chronicle.note("documents", error)

    def _write(self) -> None:
        """Write what is behind. A long chat is written so seldom that writing takes a tenth of the time at most."""
        started = clock.monotonic()
        for each in self.dirty():
            if each.vanished is not None and started < each.vanished + GONE_FOR:
                self._next_write = each.vanished + GONE_FOR
            else:
                self._publish(each)
        if self._next_write <= started:
            taken = clock.monotonic() - started
            self._next_write = started + (_APART if taken < _LONG else 9 * taken)
        with self._chronicle.lock:
            self._chronicle.state.save()

    def _publish(self, each: Projection) -> None:
        with self._chronicle.lock:
            mark, pos, chunks = self._mark(each.name), self._chronicle.state.pos, self._render(each)
        try:
            each.publish(chunks, mark, self._settle, rendering.holds_more(each.name, each.extra))
        except files.Changed:
            self.look()
            self._next_write = clock.monotonic() + self._settle / 5
            return
        if each.name == "chat":
            self._shown.append((clock.monotonic(), pos))
            self._chronicle.state.shown = (each.digest.hex(), mark) if each.digest else None
        self._take_late_of(each, clock.monotonic())

    def _render(self, each: Projection) -> Iterator[bytes]:
        state = self._chronicle.state
        if each.name == "chat":
            return rendering.chat(state, each.extra)
        if each.name == "checkpoint":
            return rendering.checkpoint(state)
        if each.name == "memory":
            return rendering.memory_document(state, each.extra)
        return rendering.session(state, self.folder, each.extra)

    def close(self) -> None:
        for each in self._files.values():
            each.close()
