"""Files that another program may be writing just now, read when they make sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dagentd.adapters.files import fileio, marks
from dagentd.errors import CorruptFile
from dagentd.model.jsontext import Undecodable
from dagentd.waiting import pause

T = TypeVar("T")

_PAUSE = 0.05  # seconds


def read_when_settled(
    path: Path, understand: Callable[[bytes], T], settle: float, limit: int = fileio.DOCUMENT_LIMIT
) -> T:
    """A file as `understand` has it. Another program may be writing it: while that is an error, it is read again, until
    it has been the same for so many seconds, or is written all the time and never makes sense."""
    while True:
        data = fileio.read(path, limit)
        try:
            found = understand(data)
        except (CorruptFile, Undecodable):
            if marks.age(path, (fileio.digest(data), marks.of(path))) >= settle or not marks.is_worth_waiting(path):
                raise
        else:
            marks.settled(path)
            return found
        pause(min(settle / 5, _PAUSE))
