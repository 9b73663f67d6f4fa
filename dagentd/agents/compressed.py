"""Zstandard, as our sealed transcripts and Codex's cold ones have it: streams only, whatever their size."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from dagentd.errors import CorruptFile

_LEVEL = 3  # 9 takes four times as long for a tenth less
_WINDOW = 1 << 27  # bytes that a stream may ask us to hold: the limit of the command line tool
_HEADER = 18
_PIECE = 1 << 20
BACKUP = "Restore the file from a backup; what the agent still has is kept anew once it is moved away."


def pack(source: BinaryIO, size: int, write: Callable[[bytes], None]) -> None:
    """All of a stream of that size, in one frame that names it."""
    chunks = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).read_to_iter(source, size=size)
    for chunk in chunks:
        write(chunk)


class _Unpacked(io.RawIOBase):
    def __init__(self, source: BinaryIO, path: Path, hint: str) -> None:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        self._stream = decompressor.stream_reader(source, read_size=_PIECE, read_across_frames=True)
        self._path, self._hint = path, hint

    def read(self, size: int = -1) -> bytes:
        try:
            return self._stream.read(size)
        except zstandard.ZstdError as error:
            raise _damaged(error, self._path, self._hint) from None

    def close(self) -> None:
        self._stream.close()  # type: ignore[no-untyped-call]
        super().close()


def unpacked(source: BinaryIO, path: Path, hint: str = BACKUP) -> BinaryIO:
    """The content as a stream that can be read forward; several frames are one content. Closes the source with it.
    Reading raises CorruptFile of that path where there is no content."""
    return cast(BinaryIO, _Unpacked(source, path, hint))


def size_of(source: BinaryIO, path: Path) -> int:
    """How large the content of one that we packed is; CorruptFile if it is none."""
    try:
        return zstandard.frame_content_size(source.read(_HEADER))
    except zstandard.ZstdError as error:
        raise _damaged(error, path, BACKUP) from None


def _damaged(error: Exception, path: Path, hint: str) -> CorruptFile:
    return CorruptFile(f"cannot be unpacked: {error}", path=path, hint=hint)
