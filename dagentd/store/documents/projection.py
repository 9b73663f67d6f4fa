"""One projection file: what we know to be on disk, and how it is read and replaced beside careless writers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, backups, fileio, marks
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import DagentdError
from dagentd.model import jsontext
from dagentd.model.documents import Chat, Checkpoint, Document
from dagentd.model.jsontext import Undecodable

_MODELS: dict[str, type[Document]] = {"chat": Chat, "checkpoint": Checkpoint}
PAUSED = 1.0  # seconds in which a program that paused between truncating and writing may still write
GONE_FOR = 2.0  # seconds: a file that vanished is not made again sooner, or `git worktree remove` would fail


@dataclass
class Late:
    """A file that lost its name and may still be written to: when to read it again, from when on it has settled,
    and until when to hope for sense."""

    old: atomic.Replaced
    due: float
    settled: float
    until: float


@dataclass
class Projection:
    name: str
    path: Path
    temps: Temps = field(default_factory=Temps)
    digest: bytes | None = None  # of the bytes on disk, as we last read or wrote them; None: no file
    as_known: marks.Mark | None = None  # of a file that held what we know, when it was last read
    written: Any = None  # what the bytes on disk were made from
    extra: dict[str, Any] = field(default_factory=dict)  # the document as read, for the fields that are others'
    unreadable: str | None = None  # why the bytes that we know make no sense
    vanished: float | None = None  # when a file that we knew was found missing
    refused: DagentdError | None = None  # why it can be neither read nor written
    replaced: list[Late] = field(default_factory=list)

    def look(self) -> bytes | None:
        """The bytes on disk if they are not what we know. A file that nobody touched since is not read again."""
        self.refused = None
        mark = marks.untouched(self.path)
        if mark is not None and mark == self.as_known:
            return None
        self.as_known = None
        try:
            data = fileio.read(self.path, fileio.CHAT_LIMIT)
        except FileNotFoundError:
            if self.digest is not None:
                self.digest, self.written, self.vanished = None, None, clock.monotonic()
                self.unreadable = None
            return None
        except DagentdError as error:
            self.refused = error
            return None
        self.vanished = None
        if fileio.digest(data) != self.digest:
            return data
        self.as_known = mark
        return None

    def parse(self, data: bytes) -> dict[str, Any]:
        """The document, checked for its shape; Undecodable if it has none."""
        raw = jsontext.decode_object(data)
        if self.name in _MODELS:
            _MODELS[self.name].parse(raw)
        return raw

    def accept(self, data: bytes, raw: dict[str, Any]) -> None:
        """These bytes have been merged: they may be replaced."""
        self.digest, self.written, self.unreadable = fileio.digest(data), None, None
        marks.settled(self.path)
        self.extra = {key: value for key, value in raw.items() if key != "messages"}

    def ours(self, digest: bytes, written: int, extra: dict[str, Any]) -> None:
        """The file is just as we wrote it before this process began."""
        self.digest, self.written, self.extra = digest, written, extra

    def stable_for(self, data: bytes) -> float:
        """Since how long exactly these unreadable bytes are there, in a file that nobody wrote to: one that is written
        over and over is found empty again and again."""
        return marks.age(self.path, (fileio.digest(data), marks.of(self.path)))

    def give_up(self, data: bytes, why: str) -> None:
        """These bytes make no sense and nobody writes them: they may be replaced, and are kept under another name."""
        self.digest, self.written, self.unreadable = fileio.digest(data), None, why
        marks.settled(self.path)

    def publish(
        self, chunks: Iterable[bytes], made_from: Any, settle: float, sync: bool, beside: Collection[Path] = ()
    ) -> Path | None:
        """Replace the file; call `late_writes` next. The first that makes sense is synced: a first rename without that
        was an empty file after power loss in 9 of 10 trials. `Changed` if the file is not as we know it. Where
        unreadable bytes are kept that were in its place: sense may yet come from a program that paused after
        truncating."""
        first, moved = self.digest is None or self.unreadable is not None, list[Path]()
        with backups.replacing(self.path, "corrupt") if self.unreadable is not None else nullcontext(moved) as moved:
            done = atomic.publish(
                self.path, chunks, expect=self.digest, sync=sync or first, temps=self.temps, beside=beside
            )
        self.digest, self.written, self.vanished, self.unreadable = done.digest, made_from, None, None
        if done.replaced is not None:
            now = clock.monotonic()
            settled = now + (max(settle, PAUSED) if moved else settle)
            self.replaced.append(Late(done.replaced, now, settled, now + 10))
        return moved[0] if moved else None

    def late_writes(self, now: float, take: Callable[[bytes], None]) -> None:
        """Take in what was written into files that lost their name. Each is read at once and again when it has
        settled, then closed; one that is being written just then gets another turn, and so does one that cannot be
        read, or that `take` fails on."""
        due = [each for each in self.replaced if each.due <= now]
        for late in due:
            late.due = now + 1
        for late in due:
            data = late.old.read()
            news = fileio.digest(data) != late.old.seen
            if news and now < late.until and not self.readable(data):
                late.due = now + 0.05
                continue
            if news and data:
                take(data)
                late.old.seen = fileio.digest(data)
            late.due = late.settled
            if now >= late.settled:
                self.replaced.remove(late)
                late.old.close()

    def readable(self, data: bytes) -> bool:
        try:
            self.parse(data)
        except Undecodable:
            return False
        return True

    def close(self) -> None:
        """Let go of replaced files; those with something that could not be taken in stay for the next start."""
        for late in self.replaced:
            if fileio.digest(late.old.read()) == late.old.seen:
                late.old.close()
            else:
                late.old.leave()
        self.replaced = []
