"""Writing the documents behind a journal: which are behind it, in which order, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk
from dagentd.errors import DagentdError
from dagentd.model.project import SessionFolder
from dagentd.store.documents import rendering
from dagentd.store.documents.intake import Intake
from dagentd.store.documents.projection import GONE_FOR, Projection
from dagentd.store.journal.session_journal import SessionJournal
from dagentd.waiting import right_of_way

_APART = 0.1  # seconds between two writes of one session's documents
_REST = 9  # times as long as a write took is left until the next
_LOOK = "Look at it, then delete it."


class DocumentWriter:
    """Never called by two threads at once."""

    def __init__(
        self, folder: SessionFolder, files: dict[str, Projection], settle: float, journal: SessionJournal,
        intake: Intake, memory: bool,
    ) -> None:  # fmt: skip
        """`memory`: the newest app, which has one, is in use here."""
        self._memory = memory
        self._folder, self._files, self._settle = folder, files, settle
        self._journal, self._intake = journal, intake
        self._moved = inf  # when the feature was seen without its sign
        self.due = 0.0  # when to write next

    def mark(self, name: str) -> int:
        """The position that a document is made from: another number means another document."""
        state = self._journal.state
        return {"chat": state.chat_pos, "session": state.pos}.get(name, state.checkpoint_pos)

    def behind(self) -> list[Projection]:
        """In the order in which they are written: a session document that is there already comes last, so that its
        position says what the others show. Nothing while the journal cannot be appended: they must not run ahead of
        it."""
        if self._journal.read_only or self._journal.file.broken:
            return []
        behind = [each for each in self._files.values() if each.written != self.mark(each.name) and not each.refused]
        return sorted(filter(self._wanted, behind), key=lambda each: each.name == "session" and each.digest is not None)

    def _wanted(self, each: Projection) -> bool:
        """A checkpoint only if there is one; the newest app's memory only where that app is in use."""
        if each.name == "memory" and not self.has_memory:
            return False
        return each.name not in ("checkpoint", "memory") or self._journal.state.checkpoint is not None

    @property
    def has_memory(self) -> bool:
        return self._memory or self._files["memory"].digest is not None

    def there(self) -> list[Path]:
        """The files that must be there, or the session is being removed."""
        shown = [each.path for each in self._files.values() if each.digest is not None]
        return [self._folder.journal, *shown, *self._signs()]

    def _signs(self) -> list[Path]:
        """Done without if the feature is still there a while after it lost them: somebody removed but these."""
        return self._folder.feature.signs if clock.monotonic() < self._moved + GONE_FOR else []

    def waits_for_sign(self) -> bool:
        """Whether the feature is perhaps being moved or removed just now; nothing is written before that is clear."""
        lost = any(map(disk.is_missing, self._signs()))
        if lost:
            self._moved = min(self._moved, clock.monotonic())
            self.due = self._moved + GONE_FOR
        return lost

    def write(self) -> bool:
        """Write what is behind; False if somebody else has just written one of them, which is to be taken in first. A
        long chat is written so seldom that writing takes a tenth of the time at most."""
        started = clock.monotonic()
        for each in self.behind():
            if each.vanished is not None and not self._folder.path.is_dir():
                raise FileNotFoundError(self._folder.path)
            if each.vanished is not None and started < each.vanished + GONE_FOR:
                self.due = each.vanished + GONE_FOR
            elif not self._publish(each):
                self.due = clock.monotonic() + self._settle / 5
                return False
        if self.due <= started:
            self.due = started + max(_APART, _REST * (clock.monotonic() - started))
        return True

    def _publish(self, each: Projection) -> bool:
        """False if it is not as we know it. A chat of ours may be the last to have what left: that is secured first, or
        put back where the journal was overwritten."""
        if each.name == "chat" and each.written is not None and self._journal.departed:
            self._journal.check_touched()
            self._journal.secure()
        with self._journal.lock:
            mark, pos, chunks = self.mark(each.name), self._journal.state.pos, self._render(each)
        why, chunks = each.unreadable, right_of_way.behind(chunks)
        try:
            moved = each.publish(chunks, mark, self._settle, rendering.holds_more(each.name, each.extra), self.there())
        except atomic.Changed:
            return False
        if moved is not None:
            told = DagentdError(f"{why}; it was set aside and made again from the journal", path=moved, hint=_LOOK)
            self._journal.problems.pop(f"corrupt-{each.name}", None)  # that it was there
            self._journal.note(f"corrupt-{each.name}", told)
        if each.name == "chat":
            self._intake.shown(pos)
            self._journal.state.shown = (each.digest.hex(), mark) if each.digest else None
        self._intake.take_late(each, clock.monotonic())
        return True

    def _render(self, each: Projection) -> Iterator[bytes]:
        state = self._journal.state
        if each.name == "chat":
            return rendering.chat(state, each.extra)
        return rendering.other(each.name, state, self._folder, each.extra, self.has_memory)
