"""Sessions that were taken back with their migration: only the journal is left of one, and it is served no more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dagentd.model import records
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder

STATUS = "rolledBack"
_TAIL = 1 << 16
_JOURNAL = re.compile(r"history_(.+)\.jsonl")


def is_withdrawn(folder: SessionFolder) -> bool:
    """Only one without a session document is looked at closely: they are few."""
    return not os.path.lexists(folder.conventional("session")) and last_words(folder.journal) is not None


def left_behind(feature: FeatureFolder, session_id: str) -> SessionFolder | None:
    """Where the journal of a session is that was taken back."""
    place = feature.sessions_dir
    prefixed = SessionFolder(session_id, place, "prefixed", feature)
    folders = (prefixed, SessionFolder(session_id, place / session_id, "folder", feature))
    return next((each for each in folders if is_withdrawn(each)), None)


def in_feature(feature: FeatureFolder) -> Iterator[tuple[SessionFolder, dict[str, Any]]]:
    """All that were taken back, with what their last record says."""
    place = feature.sessions_dir
    for name in sorted(os.listdir(place)) if place.is_dir() else []:
        match = _JOURNAL.fullmatch(name)
        found = left_behind(feature, match[1] if match else name)
        if found is not None and found.journal.relative_to(place).parts[0] == name:
            yield found, last_words(found.journal) or {}


def last_words(journal: Path) -> dict[str, Any] | None:
    """What the last record of a journal sets, if that takes the session back."""
    try:
        line = _last_line(journal)
        record, more = records.parse(line)
    except (OSError, Undecodable):
        return None
    changes = record.body.get("set")
    ended = record.t == "session" and not more and isinstance(changes, dict) and changes.get("status") == STATUS
    return changes if ended else None


def _last_line(path: Path) -> bytes:
    """Without what follows the last line break: that was cut off by a crash."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        end, data = os.fstat(fd).st_size, b""
        while end and data[:-1].count(b"\n") < 2:
            start = max(0, end - _TAIL)
            data, end = os.pread(fd, end - start, start) + data, start
    finally:
        os.close(fd)
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)[-1] if b"\n" in data else b""
