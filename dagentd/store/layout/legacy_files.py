"""Files of older formats: where they lie in a feature, read with patience, kept before anything is made of them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dagentd.adapters.files import atomic, backups, beneath, disk, fileio
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import CorruptFile, DagentdError
from dagentd.formats import legacy
from dagentd.formats.shape import Source
from dagentd.model import ids, jsontext
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import DOCUMENTS, FeatureFolder, SessionFolder
from dagentd.store.documents.document_edits import Change
from dagentd.store.layout import layout, links
from dagentd.store.layout.rolled_back import first_words, last_words

_DOCUMENT = re.compile(r"(session|chat|checkpoint|context|agent-description|memory)_(.+)\.json")
_LONE = ("chat", "checkpoint", "context", "agent-description")


@dataclass(frozen=True)
class LegacyFile:
    """`session_id` is what its name says, where it says one; `document` which of a session's documents it is; `begun`:
    its migration did not come to its end, and what it held is in its backup; `listed`: the task and the state in which
    a task.json has the session."""

    path: Path
    feature: FeatureFolder
    task_id: str | None = None
    session_id: str | None = None
    document: str | None = None
    begun: bool = False
    listed: tuple[str, str] | None = None

    @property
    def source(self) -> Source:
        name = self.path.relative_to(self.feature.path).as_posix()
        return Source(name, self.feature.id, self.task_id, self.session_id, self.listed)


@dataclass(frozen=True)
class Content:
    """`raw` is let go when it has been converted: a long chat is many objects."""

    data: bytes
    raw: Any = None

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


# --- finding --------------------------------------------------------------------------------------------------


def in_feature(feature: FeatureFolder) -> list[LegacyFile]:
    """All that may be of an older format. Documents of a session that has no session document come first: what else
    goes into that session must find it made. Of a task, its planning comes before its work."""
    tasks = [name for name in layout.folder_names(feature.path / "nodes") if ids.is_safe(name)]
    folders = [(feature.sessions_dir, None), *((feature.task_dir(task) / "sessions", task) for task in tasks)]
    found = _with_states(feature, [each for place in folders for each in _lone_documents(feature, *place)])
    named = {each.document(name) for each in layout.sessions(feature) for name in DOCUMENTS}
    single = [each for folder, task in folders for each in _single_files(feature, folder, task)]
    found += [each for each in single if each.path not in named]
    names = legacy.OF_FEATURE | (legacy.OF_FLAT_FEATURE if feature.shape == "flat" else {})
    found += [LegacyFile(feature.path / name, feature) for name in names]
    for task in tasks:
        folder = feature.task_dir(task)
        found += [LegacyFile(folder / name, feature, task) for name in legacy.OF_TASK]
    return [each for each in found if _is_there(each.path)]


def _lone_documents(feature: FeatureFolder, folder: Path, task: str | None) -> Iterator[LegacyFile]:
    """The newer app's memory is one of them, but not by itself."""
    names = _names(folder)
    matches = [match for name in names if (match := _DOCUMENT.fullmatch(name)) and ids.is_safe(match[2])]
    held = {match[2] for match in matches if match[1] in _LONE}
    whole = {match[2] for match in matches if match[1] == "session"}
    for session_id in sorted(held):
        place = SessionFolder(session_id, folder, "prefixed", feature, task)
        mine = [match for match in matches if match[2] == session_id and match[1] in (*_LONE, "memory")]
        kept = [match for match in mine if f"{match[0]}.backup" in names]
        begun = bool(kept) and _is_begun(place)
        if begun or (session_id not in whole and not _has_journal(place)):
            for match in kept if begun else mine:
                yield LegacyFile(folder / match[0], feature, task, session_id, match[1], begun)


def _with_states(feature: FeatureFolder, lone: list[LegacyFile]) -> list[LegacyFile]:
    known = links.listed(feature) if lone else {}
    return [replace(each, listed=known.get(str(each.session_id))) for each in lone]


def _has_journal(place: SessionFolder) -> bool:
    """One that was taken back does not count: its documents are again what they were."""
    return os.path.lexists(place.journal) and last_words(place.journal) is None


def _is_begun(place: SessionFolder) -> bool:
    """Whether it was made by a migration and does not say yet from what."""
    if not _has_journal(place):
        return False
    try:
        said = layout.read_object(place.document("session"))
    except FileNotFoundError:
        said = first_words(place.journal)
    except DagentdError:
        return False
    return said.get("migratedFrom") == []


def _single_files(feature: FeatureFolder, folder: Path, task: str | None) -> Iterator[LegacyFile]:
    for name in _names(folder):
        stem, suffix = os.path.splitext(name)
        if suffix == ".json" and ids.is_safe(stem) and not _DOCUMENT.fullmatch(name):
            yield LegacyFile(folder / name, feature, task, stem)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(beneath.names(folder))
    except OSError:  # not there, or a problem of its own
        return []


def _is_there(path: Path) -> bool:
    try:
        beneath.status(path)
    except OSError:
        return False
    return True


# --- reading --------------------------------------------------------------------------------------------------


def read(path: Path, settle: float) -> Content:
    """FileNotFoundError if it is not there. An older app may be writing it."""
    try:
        return fileio.read_when_settled(
            path, lambda data: Content(data, jsontext.decode(data)), settle, fileio.CHAT_LIMIT
        )
    except Undecodable as error:
        hint = "Mend the file or move it away; it was left as it is."
        raise CorruptFile(str(error), path=path, hint=hint) from None


def read_back(path: Path, settle: float) -> Any:
    """Read a document back that we have just written; with patience if another program writes it too."""
    try:
        return jsontext.decode_own(fileio.read(path, fileio.CHAT_LIMIT))
    except ValueError:
        return read(path, settle).raw


def hash_of(path: Path) -> str:
    return hashlib.sha256(fileio.read(path, fileio.CHAT_LIMIT)).hexdigest()


# --- keeping --------------------------------------------------------------------------------------------------


def back_up(path: Path, data: bytes, keep: int, temps: Temps) -> None:
    """Keep what we read of a file; what is written to it meanwhile comes in its turn."""
    with disk.explained(path):
        backups.back_up(path, keep, data, temps)


def back_up_before(path: Path, change: Change, keep: int, temps: Temps) -> None:
    """The same for a document that is about to be changed, if there is one and it will be."""
    try:
        data = fileio.read(path)
    except FileNotFoundError:
        return
    before = layout.decoded(path, data)
    if change(before) != before:
        back_up(path, data, keep, temps)


def rewrite(path: Path, data: bytes, raw: dict[str, Any], temps: Temps) -> None:
    """Put a document of an older shape in today's. `Changed` if it is not as it was read."""
    wanted = jsontext.pretty(raw)
    if wanted != data:
        with disk.explained(path):
            done = atomic.publish(path, [wanted], expect=fileio.digest(data), sync=True, temps=temps)
            if done.replaced is not None:
                done.replaced.close()


def is_backed_up(path: Path, data: bytes) -> bool:
    """Whether one of its backups holds just this."""
    return any(fileio.holds(held, data) for held in backups.of(path))


def backup_with(path: Path, sha256: str) -> bytes | None:
    """The content of a file's backup, found by its hash."""
    for held in backups.of(path):
        data = fileio.read(held, fileio.CHAT_LIMIT)
        if hashlib.sha256(data).hexdigest() == sha256:
            return data
    return None
