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
from dagentd.store.documents.projection import GONE_FOR, Projection
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.waiting import right_of_way

_APART = 0.1  # seconds between two writes of one session's documents
_REST = 9  # times as long as a write took is left until the next
_LOOK = "Look at it, then delete it."


class DocumentWriter:
    """Never called by two threads at once."""

    def __init__(
        self,
        folder: SessionFolder,
        files: dict[str, Projection],
        settle: float,
        journal: AppendableJournal,
        memory: bool,
    ) -> None:
        """`memory`: the newest app, which has one, is in use here."""
        self._memory = memory
        self._folder, self._files, self._settle = folder, files, settle
        self._journal = journal
        self._moved = inf  # when the feature was seen without its sign
        self.due = 0.0  # when to write next

    def mark(self, name: str) -> int:
        """The position that a document is made from: another number means another document."""
        state = self._journal.state
        return {"chat": state.chat_pos, "session": state.pos}.get(name, state.checkpoint_pos)

    def behind(self) -> list[Projection]:
        """In the order in which they are written: a session document that is there already comes last, so that its
        position says what the others show. A checkpoint only if there is one, as the newest app's memory where that app
        is in use; nothing while the journal cannot be appended: they must not run ahead of it."""
        if self._journal.read_only or self._journal.file.broken:
            return []
        wanted = {"session", "chat"}
        if self._journal.state.checkpoint is not None:
            wanted |= {"checkpoint", "memory"} if self.has_memory else {"checkpoint"}
        every = [self._files[name] for name in self._files if name in wanted]
        behind = [each for each in every if each.written != self.mark(each.name) and not each.refused]
        return sorted(behind, key=lambda each: each.name == "session" and each.digest is not None)

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

    def write(self) -> Iterator[tuple[Projection, int | None]]:
        """Write what is behind, and give each with the position that it shows: what came to its place meanwhile is to
        be taken in at once. Without a position one that somebody else has just written, which ends it. A long chat is
        written so seldom that writing takes a tenth of the time at most."""
        started = clock.monotonic()
        for each in self.behind():
            if each.vanished is not None and not self._folder.path.is_dir():
                raise FileNotFoundError(self._folder.path)
            if each.vanished is not None and started < each.vanished + GONE_FOR:
                self.due = each.vanished + GONE_FOR
            elif (pos := self._publish(each)) is not None:
                yield each, pos
            else:
                self.due = clock.monotonic() + self._settle / 5
                yield each, None
                return
        if self.due <= started:
            self.due = started + max(_APART, _REST * (clock.monotonic() - started))

    def _publish(self, each: Projection) -> int | None:
        """The position that it shows; None if it is not as we know it. A chat may be the last to have what left: that
        is secured first, or put back where the journal was overwritten."""
        if each.name == "chat" and each.digest is not None and self._journal.departed:
            self._journal.check_touched()
            self._journal.secure()
        with self._journal.lock:
            state = self._journal.state
            chunks = rendering.document(each.name, state, self._folder, each.extra, self.has_memory)
            mark, pos = self.mark(each.name), state.pos
        why, chunks = each.unreadable, right_of_way.behind(chunks)
        beside = self.there() if each.digest is None else []
        try:
            moved = each.publish(chunks, mark, self._settle, rendering.holds_more(each.name, each.extra), beside)
        except atomic.Changed:
            return None
        if moved is not None:
            told = DagentdError(f"{why}; it was set aside and made again from the journal", path=moved, hint=_LOOK)
            self._journal.problems.pop(f"corrupt-{each.name}", None)  # that it was there
            self._journal.note(f"corrupt-{each.name}", told)
        if each.name == "chat":
            self._journal.state.shown = (each.digest.hex(), mark) if each.digest else None
        return pos
