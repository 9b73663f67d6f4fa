"""What another program left in a session's files, as it was found."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Doc:
    """A document as it was found. `pos` is the journal position it carries, if the journal has that position;
    `ours` says that it carries one at all: the app keeps it when it adds, and drops it when it builds anew."""

    raw: dict[str, Any]
    source: str  # its path within the feature, for the ids of entries that have none
    pos: int | None = None
    ours: bool = False
    mark: str = ""  # by which the file is known again
    leftover: bool = False  # of a file that lost its name: what it lacks may have been taken in long ago


@dataclass(frozen=True)
class Outside:
    """The documents of one session that are not as we left them, read together."""

    chat: Doc | None = None
    checkpoint: Doc | None = None
    session: Doc | None = None
    remade: bool = False  # the app took the session for missing and has just made documents of it anew
    brought: Collection[str] = ()  # ids that are in chat only because this one was glanced at before
