"""Sessions that were taken back with their migration: only the journal is left of one, and it is served no more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters import files
from dagentd.errors import DagentdError
from dagentd.model import records
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder

STATUS = "rolledBack"
_MARK = STATUS.encode()
_TAIL = 1 << 12
_JOURNAL = re.compile(r"history_(.+)\.jsonl")
_FILE = re.compile(r"\.(json|jsonl|dagentd-tmp)(\.|$)")


def is_withdrawn(folder: SessionFolder) -> bool:
    """By its journal alone: a crash may have left documents of it, which must not be taken for news."""
    return last_words(folder.journal) is not None


def left_behind(feature: FeatureFolder, session_id: str) -> SessionFolder | None:
    """Where the journal of a session is that was taken back."""
    return next((folder for folder in _journals(feature) if folder.id == session_id and is_withdrawn(folder)), None)


def in_feature(feature: FeatureFolder) -> Iterator[tuple[SessionFolder, dict[str, Any]]]:
    """All that were taken back, with what their last record says."""
    for folder in _journals(feature):
        if (words := last_words(folder.journal)) is not None:
            yield folder, words


def _journals(feature: FeatureFolder) -> Iterator[SessionFolder]:
    """Wherever one may be."""
    nodes = feature.path / "nodes"
    for place, task in ((feature.sessions_dir, None), *((nodes / name / "sessions", name) for name in _names(nodes))):
        for name in _names(place):
            if match := _JOURNAL.fullmatch(name):
                yield SessionFolder(match[1], place, "prefixed", feature, task)
            elif not _FILE.search(name):
                yield SessionFolder(name, place / name, "folder", feature, task)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:  # not there, or no folder
        return []


def last_words(journal: Path) -> dict[str, Any] | None:
    """What the last record of a journal sets, if that takes the session back."""
    try:
        line = _last_line(journal)
        if _MARK not in line:  # spares parsing nearly all
            return None
        record, more = records.parse(line)
    except (OSError, Undecodable):
        return None
    changes = record.body.get("set")
    ended = record.t == "session" and not more and isinstance(changes, dict) and changes.get("status") == STATUS
    return changes if ended else None


def first_words(journal: Path) -> dict[str, Any]:
    """What the first record of a journal sets."""
    try:
        with files.opened(journal) as lines:
            changes = records.parse(lines.readline())[0].body.get("set")
    except (OSError, DagentdError, Undecodable):
        return {}
    return changes if isinstance(changes, dict) else {}


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
