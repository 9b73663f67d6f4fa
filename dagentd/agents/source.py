"""An agent's file, open: what it is to the kept one is told by its bytes alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from dagentd.adapters.files import disk, fileio
from dagentd.agents import compressed, finding
from dagentd.agents.conversation import Facts, Transcript
from dagentd.agents.finding import Found
from dagentd.agents.keeping import Part, common, skip
from dagentd.errors import NotAllowed, from_oserror
from dagentd.model.scrubbed_text import Spans, masked

_PIECE = 1 << 20
_TAIL = 1 << 16  # bytes by which a transcript that grew is known again
_HEAD = 64 << 20  # bytes in which a transcript says where it was begun, if it does at all


class Source:
    """Refused if it is a link, lies behind one that came since it was found, is no file, or another user's."""

    def __init__(self, found: Found) -> None:
        path, self.found = found.path, found
        with disk.explained(path):
            self._fd = fileio.descriptor(path, found.root)
        self.path = path
        self._packed = isinstance(found.what, Transcript) and found.what.compressed
        self.status = os.fstat(self._fd)
        if (reason := finding.refusal(self.status)) is not None:
            os.close(self._fd)
            raise NotAllowed(reason, path=path, hint="Move it away; nothing else is held up by it.")

    def close(self) -> None:
        os.close(self._fd)

    @property
    def is_packed(self) -> bool:
        return self._packed

    def opened(self, start: int = 0) -> BinaryIO:
        """Its content from there on."""
        stream = os.fdopen(os.dup(self._fd), "rb")
        if not self._packed:
            stream.seek(start)
            return stream
        stream.seek(0)
        content = compressed.unpacked(stream, self.path, "The agent may know why.")
        skip(content, start)
        return content

    def pieces(self, start: int, most: int) -> Iterator[bytes]:
        with self._told(), self.opened(start) as stream:
            while most > 0 and (piece := stream.read(min(_PIECE, most))):
                most -= len(piece)
                yield piece

    def lines(self) -> Iterator[bytes]:
        """Its first whole lines."""
        with self._told(), self.opened() as stream:
            rest, read = b"", 0
            while read < _HEAD and (piece := stream.read(_TAIL)):
                *whole, rest = (rest + piece).split(b"\n")
                read += len(piece)
                yield from whole

    def follows(self, part: Part, *, trusted: bool, scrubbed: Spans = ()) -> bool:
        """Whether one of both is a beginning of the other. Of a file that is known to be the part's own, only its end
        is compared: a line appended to 200 MB costs what it costs in a small one."""
        if trusted and not self._packed and not part.is_sealed:
            return self._ends_alike(part, scrubbed)
        with self._told(), self.opened() as mine, part.opened() as kept:
            return any(common(mine, kept, scrubbed)[1:])

    def _ends_alike(self, part: Part, scrubbed: Spans) -> bool:
        with fileio.opened(part.path) as kept:
            end = min(os.fstat(kept.fileno()).st_size, self.status.st_size)
            start = max(0, end - _TAIL)
            mine = masked(os.pread(self._fd, end - start, start), start, scrubbed)
            return os.pread(kept.fileno(), end - start, start) == mine

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise from_oserror(error, self.path) from error


def first_folder(source: Source) -> str | None:
    """Where the conversation of a transcript was begun."""
    found = source.found
    assert isinstance(found.what, Transcript)
    reader = found.agent.reader(found.what, None)
    for line in source.lines():
        for event in reader.feed(line):
            if isinstance(event, Facts) and event.cwd is not None:
                return event.cwd
    return None
