"""Zstandard, as our sealed transcripts and Codex's cold ones have it: streams only, whatever their size."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, cast

import zstandard

from dagentd.errors import CorruptFile

_LEVEL = 3  # 9 takes four times as long for a tenth less
_WINDOW = 1 << 27  # bytes that a stream may ask us to hold: the limit of the command line tool
_HEADER = 18
_PIECE = 1 << 20

Broken = zstandard.ZstdError


def pack(source: BinaryIO, size: int, write: Callable[[bytes], None]) -> None:
    """All of a stream of that size, in one frame that names it."""
    chunks = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).read_to_iter(source, size=size)
    for chunk in chunks:
        write(chunk)


def unpacked(source: BinaryIO) -> BinaryIO:
    """The content as a stream that can be read forward; several frames are one content. Closes the source with it."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    return cast(BinaryIO, decompressor.stream_reader(source, read_size=_PIECE, read_across_frames=True))


def size_of(source: BinaryIO) -> int:
    """How large the content of one that we packed is; CorruptFile if it is none."""
    try:
        return zstandard.frame_content_size(source.read(_HEADER))
    except zstandard.ZstdError as error:
        hint = "Restore the file from a backup; it is the only copy."
        raise CorruptFile(f"cannot be unpacked: {error}", path=source.name, hint=hint) from None
