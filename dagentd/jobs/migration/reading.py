"""What is there to migrate: the files of a feature, read, recognised and converted, and what its sessions know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from dagentd.adapters import files
from dagentd.errors import CorruptFile, DagentdError
from dagentd.formats import legacy as formats
from dagentd.formats.shape import Converted, Newer
from dagentd.model import jsontext
from dagentd.model.documents import position_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.store import layout, legacy, withdrawn
from dagentd.store.legacy import Content, LegacyFile
from dagentd.store.store import Store
from dagentd.store.withdrawing import barred, migrations

Unit = tuple[LegacyFile, ...]  # what one session is made from: one file, or the documents that lie there without it


@dataclass(frozen=True)
class Found:
    unit: Unit
    contents: list[Content]  # of each file, as it was before any migration
    current: list[bytes]  # of each file as it is: a migration that a crash ended may have begun to rewrite it
    converted: Converted

    def documents(self) -> dict[str | None, dict[str, Any] | None]:
        """What the files of lone documents hold in today's shape; the memory has none but its own."""
        new = self.converted
        return {
            None: None,
            "chat": {"messages": new.messages, **new.chat},
            "checkpoint": new.checkpoint,
            "context": new.context,
            "agent-description": new.agent_description,
            "memory": None,
        }


@dataclass(frozen=True)
class Known:
    """By a file's path within the feature, the hash it had when it was migrated or taken back."""

    sessions: dict[str, str] = field(default_factory=dict)  # the ids of all sessions, by themselves
    migrated: dict[str, dict[str, Any]] = field(default_factory=dict)
    barred: dict[str, str] = field(default_factory=dict)


def units(feature: FeatureFolder) -> list[Unit]:
    def together(file: LegacyFile) -> object:
        return (file.path.parent, file.session_id) if file.document else file.path

    return [tuple(group) for _, group in groupby(sorted_units(legacy.in_feature(feature)), together)]


def sorted_units(found: list[LegacyFile]) -> list[LegacyFile]:
    """The documents of one session side by side; else as they were found."""
    lone = [each for each in found if each.document]
    return [*sorted(lone, key=lambda each: (str(each.path.parent), str(each.session_id))), *found[len(lone) :]]


def known_of(store: Store, feature: FeatureFolder) -> Known:
    known = Known()
    for session_id, fields in _documents(store, feature):
        known.sessions[session_id] = session_id
        known.migrated.update({each["path"]: {**each, "sessionId": session_id} for each in migrations(fields)})
        known.barred.update({each["path"]: each["sha256"] for each in barred(fields)})
    return known


def _documents(store: Store, feature: FeatureFolder) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of a session that was taken back, what its last record says."""
    for folder in layout.sessions(feature):
        try:
            yield folder.id, store.document(folder) or _fields(store, folder)
        except (FileNotFoundError, DagentdError):  # importing finds out what it knows
            yield folder.id, {}
    yield from ((folder.id, words) for folder, words in withdrawn.in_feature(feature))


def _fields(store: Store, folder: SessionFolder) -> dict[str, Any]:
    """By its document, if that is all that the journal says: another program that wrote it may never have known what
    was migrated or taken back."""
    raw = layout.read_object(folder.document("session"))
    position = position_of(raw)
    if not os.path.lexists(folder.journal) or (position and position.pos == os.lstat(folder.journal).st_size):
        return raw
    with store.use(folder) as session:
        return session.fields


def is_done(unit: Unit, known: Known) -> bool:
    """Whether it was migrated just as it is; cheaper than reading what it says."""
    held = [known.migrated.get(file.source.path, {}).get("sha256") for file in unit]
    return None not in held and [legacy.hash_of(file.path) for file in unit] == held


def read(unit: Unit, settle: float) -> Found | None:
    """None for what is none of ours. CorruptFile for what cannot be understood, Newer for what only a newer version
    can."""
    if unit[0].begun:
        return _begun(unit)
    contents = [legacy.read(file.path, settle) for file in unit]
    pairs = [(file, content) for file, content in zip(unit, contents, strict=True) if file.document != "memory"]
    shapes = {formats.recognise(content.raw, file.source) for file, content in pairs}
    if None in shapes:
        return None
    current = [content.data for content in contents]
    if unit[0].document is None:
        new = _converted(contents[0].raw, unit[0], shapes.pop() or "")
        return Found(unit, [Content(contents[0].data)], current, new)
    originals = [_original(file, content) for file, content in zip(unit, contents, strict=True)]
    before = Found(unit, originals, current, _together(unit, originals))
    if all(now in versions for now, versions in zip(current, _versions(before), strict=True)):
        return before
    return Found(unit, contents, current, _together(unit, contents))


def _begun(unit: Unit) -> Found:
    """What is in the session already; the files are its documents by now, and are left to it."""
    originals = [legacy.read(file.path.with_name(f"{file.path.name}.backup"), 0) for file in unit]
    current = [files.read(file.path, files.CHAT_LIMIT) for file in unit]
    return Found(unit, originals, current, _together(unit, originals))


def _versions(found: Found) -> Iterator[list[bytes]]:
    """What each file may hold while it is being migrated: what it did, or that in today's shape."""
    documents = found.documents()
    for file, first in zip(found.unit, found.contents, strict=True):
        shaped = documents[file.document]
        yield [first.data, *([jsontext.pretty(shaped)] if shaped is not None else [])]


def _original(file: LegacyFile, content: Content) -> Content:
    """The first backup, if there is one: the file may be what a migration that was interrupted made of it."""
    path = file.path.with_name(f"{file.path.name}.backup")
    try:
        return legacy.read(path, 0)
    except (FileNotFoundError, DagentdError):
        return content


def _together(unit: Unit, contents: list[Content]) -> Converted:
    documents = {str(file.document): content.raw for file, content in zip(unit, contents, strict=True)}
    return _converted(documents, unit[0], "L5")


def _converted(raw: Any, file: LegacyFile, shape: str) -> Converted:
    try:
        return formats.convert(raw, shape, file.source)
    except Newer as error:
        raise NewerFormat(str(error), path=file.path, hint="Update dagentd; the file was left as it is.") from None
    except Undecodable as error:
        raise CorruptFile(str(error), path=file.path, hint="Mend the file or move it away.") from None


class NewerFormat(CorruptFile):
    """A file that only a newer dagentd understands."""
