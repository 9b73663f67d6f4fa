"""What a file holds at the very moment that it is heard of: its writer may empty it in the next one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dagentd.adapters import files, marks
from dagentd.errors import DagentdError

Hurry = Callable[[str], bool]  # whether an entry of this name is told at once, too

_LARGE = 4 << 20  # bytes; a larger file is read in its turn: the one who hears has more to hear
_MOST = 16 << 20  # bytes of one file that wait to be taken in, all its contents together


def peek(hurry: Hurry, folder: Path, name: str) -> bytes | None:
    """In the thread that hears. It passed two more before a chat was read, and on a busy machine up to 4 of 30 messages
    that were cleared 20 to 50 ms after they were added were lost by then. None of what is in no hurry or our own."""
    if not hurry(name) or marks.is_own(folder / name):
        return None
    try:
        return files.read(folder / name, _LARGE)
    except (OSError, DagentdError):
        return b""


def keep(held: list[bytes], data: bytes) -> None:
    """Beside what it held before, unless it only grew since. Of too much the oldest goes."""
    if data and data not in held:
        held[:] = [*(each for each in held if not data.startswith(_entries(each))), data]
        while sum(map(len, held)) > _MOST:
            del held[0]


def _entries(data: bytes) -> bytes:
    """Up to its last list, which is that of a chat, and without the end of that."""
    return data[: max(data.rfind(b"]"), 0)].rstrip() or data
