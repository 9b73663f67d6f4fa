"""Sessions that were taken back with their migration: only the journal is left of one, and it is served no more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters.files import beneath, fileio
from dagentd.errors import DagentdError
from dagentd.model import jsontext, records
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder

STATUS = "rolledBack"
_MARK = STATUS.encode()
_TAIL = 1 << 12
_JOURNAL = re.compile(r"history_(.+)\.jsonl")
_FILE = re.compile(r"\.(json|jsonl|dagentd-tmp)(\.|$)")


def is_rolled_back(folder: SessionFolder) -> bool:
    """By its journal: a crash may have left documents of it, which must not be taken for news."""
    return last_words(folder.journal) is not None and not _is_made_again(folder)


def _is_made_again(folder: SessionFolder) -> bool:
    """Whether another program has made the session since. What we left says so, and holds nothing that the journal
    does not; and no session document was there before the migration that it would be."""
    session, chat = (_document(folder.conventional(name)) for name in ("session", "chat"))
    if session is None:
        return False
    said = chat.get("messages") if chat is not None and "dagentd" in chat else None
    held = {str(each.get("id")) for each in said if isinstance(each, dict)} if isinstance(said, list) else set()
    return "dagentd" not in session or not held <= _said(folder.journal)


def _document(path: Path) -> dict[str, Any] | None:
    """None if it is not there. One that cannot be read is not ours: those are whole at every moment."""
    try:
        return jsontext.decode_object(fileio.read(path, fileio.CHAT_LIMIT))
    except FileNotFoundError:
        return None
    except (OSError, DagentdError, Undecodable):
        return {}


def _said(journal: Path) -> set[str]:
    with fileio.opened(journal) as lines:
        return {str(raw.get("id")) for raw in map(_message, lines) if isinstance(raw, dict)}


def _message(line: bytes) -> object:
    try:
        return records.parse(line)[0].body.get("message")
    except Undecodable:
        return None


def left_behind(feature: FeatureFolder, session_id: str) -> SessionFolder | None:
    """Where the journal of a session is that was taken back."""
    return next((folder for folder in _journals(feature) if folder.id == session_id and is_rolled_back(folder)), None)


def in_feature(feature: FeatureFolder) -> Iterator[tuple[SessionFolder, dict[str, Any]]]:
    """All that were taken back, with what their last record says."""
    for folder in _journals(feature):
        if (words := last_words(folder.journal)) is not None and not _is_made_again(folder):
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
        return sorted(name for name in beneath.names(folder) if name != beneath.TREE)
    except OSError:  # not there, or no folder
        return []


def last_words(journal: Path) -> dict[str, Any] | None:
    """Read what the last record sets, if that takes the session back. This is asked at every listing, so of a message
    that is last only the end is read, whatever its size: a record that takes back says so at its end. What follows the
    last line break was cut off by a crash."""
    try:
        fd = fileio.descriptor(journal)
        try:
            size = os.fstat(fd).st_size
            end = size if os.pread(fd, 1, size - 1) == b"\n" else fileio.line_start(fd, size)
            if _MARK not in os.pread(fd, min(end, _TAIL), max(0, end - _TAIL)):
                return None
            start = fileio.line_start(fd, end)
            line = os.pread(fd, end - start, start)
        finally:
            os.close(fd)
        if not line.startswith(b'{"t": "session"'):  # spares parsing nearly all
            return None
        record, more = records.parse(line)
    except (OSError, Undecodable):
        return None
    changes = record.body.get("set")
    ended = record.t == "session" and not more and isinstance(changes, dict) and changes.get("status") == STATUS
    return changes if ended else None


def first_words(journal: Path) -> dict[str, Any]:
    """The fields that the first record of a journal sets."""
    try:
        with fileio.opened(journal) as lines:
            changes = records.parse(lines.readline())[0].body.get("set")
    except (OSError, DagentdError, Undecodable):
        return {}
    return changes if isinstance(changes, dict) else {}


def barred(session: dict[str, Any]) -> list[dict[str, str]]:
    """The sources whose migration was taken back."""
    return [each for each in _listed(session, "barred") if {"path", "sha256"} <= each.keys()]


def migrations(session: dict[str, Any]) -> list[dict[str, str]]:
    """The files that a session says it was migrated from; another program may have written anything there."""
    return [each for each in _listed(session, "migratedFrom") if {"path", "sha256"} <= each.keys()]


def _listed(session: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = session.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
