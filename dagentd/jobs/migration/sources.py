"""The files to migrate: read, recognised and converted, what is said of each, and which are known already."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from dagentd.adapters.files import fileio, marks
from dagentd.adapters.files.marks import Mark
from dagentd.errors import CorruptFile, DagentdError
from dagentd.formats import legacy as formats
from dagentd.formats.shape import Converted, Newer, Rejected
from dagentd.model import jsontext
from dagentd.model.documents import position_of
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.store.layout import layout, legacy_files, rolled_back
from dagentd.store.layout.legacy_files import Content, LegacyFile
from dagentd.store.layout.rolled_back import barred, migrations
from dagentd.store.sessions.open_sessions import OpenSessions

# What a migration says of each file: what would be done, or was, and why not.

# create: a session is made of it; add: it goes into a session that is there; rewrite: it is put in today's shape where
# it is; none: nothing is to be done; barred: it was taken back; refused: it is of a newer format; paused: its session
# is. A rollback has `rolledBack`, or `kept` where the session was used since and stays.
Action = Literal["create", "add", "rewrite", "none", "barred", "refused", "paused", "failed", "rolledBack", "kept"]

DUE: tuple[Action, ...] = ("create", "add", "rewrite")
WRONG: tuple[Action, ...] = ("refused", "failed")


@dataclass(frozen=True)
class File:
    """`messages` are those that the file holds, `added` those that were new to the session; `error` says why something
    was not done and `hint` what to do, `note` what else there is to know."""

    path: str
    format: str | None
    session_id: str | None
    messages: int
    action: Action
    rejected: list[Rejected] = field(default_factory=list)
    added: int | None = None
    error: str | None = None
    hint: str = ""
    note: str | None = None

    def raw(self) -> dict[str, Any]:
        given = {"added": self.added, "error": self.error, "hint": self.hint or None, "note": self.note}
        return {
            "path": self.path,
            "format": self.format,
            "sessionId": self.session_id,
            "messages": self.messages,
            "rejected": [vars(each) for each in self.rejected],
            "action": self.action,
            **{key: value for key, value in given.items() if value is not None},
        }

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> File:
        """Read back what `raw` gave, as it comes from the daemon."""
        rejected = [Rejected(**each) for each in raw["rejected"]]
        more = (raw.get("added"), raw.get("error"), raw.get("hint", ""), raw.get("note"))
        return cls(raw["path"], raw["format"], raw["sessionId"], raw["messages"], raw["action"], rejected, *more)


# What is there to migrate: the files of a feature, read, recognised and converted, and what its sessions know.

Unit = tuple[LegacyFile, ...]  # what one session is made from: one file, or the documents that lie there without it


@dataclass(frozen=True)
class Found:
    unit: Unit
    contents: list[Content]  # of each file, as it was before any migration
    current: list[bytes]  # of each file as it is: a migration that a crash ended may have begun to rewrite it
    converted: Converted

    def documents(self) -> dict[str | None, dict[str, Any] | None]:
        """The contents of lone documents in today's shape, by the name of each; the memory has none but its own."""
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

    return [tuple(group) for _, group in groupby(sorted_units(legacy_files.in_feature(feature)), together)]


def sorted_units(found: list[LegacyFile]) -> list[LegacyFile]:
    """The documents of one session side by side; else as they were found."""
    lone = [each for each in found if each.document]
    return [*sorted(lone, key=lambda each: (str(each.path.parent), str(each.session_id))), *found[len(lone) :]]


def known_of(sessions: OpenSessions, feature: FeatureFolder) -> Known:
    known = Known()
    for session_id, fields in _documents(sessions, feature):
        known.sessions[session_id] = session_id
        known.migrated.update({each["path"]: {**each, "sessionId": session_id} for each in migrations(fields)})
        known.barred.update({each["path"]: each["sha256"] for each in barred(fields)})
    return known


def _documents(sessions: OpenSessions, feature: FeatureFolder) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of a session that was taken back, what its last record says."""
    for folder in layout.sessions(feature):
        try:
            yield folder.id, sessions.document(folder) or _fields(sessions, folder)
        except (FileNotFoundError, DagentdError):  # importing finds out what it knows
            yield folder.id, {}
    yield from ((folder.id, words) for folder, words in rolled_back.in_feature(feature))


def _fields(sessions: OpenSessions, folder: SessionFolder) -> dict[str, Any]:
    """By its document, if that is all that the journal says: another program that wrote it may never have known what
    was migrated or taken back."""
    raw = layout.read_object(folder.document("session"))
    position = position_of(raw)
    if not os.path.lexists(folder.journal) or (position and position.pos == os.lstat(folder.journal).st_size):
        return raw
    with sessions.use(folder) as session:
        return session.fields


def is_done(unit: Unit, known: Known) -> bool:
    """Whether it was migrated just as it is; cheaper than reading what it says."""
    held = [known.migrated.get(file.source.path, {}).get("sha256") for file in unit]
    return None not in held and [legacy_files.hash_of(file.path) for file in unit] == held


def read_sources(unit: Unit, settle: float) -> Found | None:
    """None for what is none of ours. CorruptFile for what cannot be understood, Newer for what only a newer version
    can."""
    if unit[0].begun:
        return _begun(unit)
    contents = [legacy_files.read(file.path, settle) for file in unit]
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
    """The originals of what is in the session already; the files are its documents by now, and are left to it."""
    originals = [legacy_files.read(file.path.with_name(f"{file.path.name}.backup"), 0) for file in unit]
    current = [fileio.read(file.path, fileio.CHAT_LIMIT) for file in unit]
    return Found(unit, originals, current, _together(unit, originals))


def _versions(found: Found) -> Iterator[list[bytes]]:
    """The contents that each file may have while it is being migrated: those it had, or those in today's shape."""
    documents = found.documents()
    for file, first in zip(found.unit, found.contents, strict=True):
        shaped = documents[file.document]
        yield [first.data, *([jsontext.pretty(shaped)] if shaped is not None else [])]


def _original(file: LegacyFile, content: Content) -> Content:
    """The first backup, if there is one: the file may be what a migration that was interrupted made of it."""
    path = file.path.with_name(f"{file.path.name}.backup")
    try:
        return legacy_files.read(path, 0)
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


# What is known of legacy files that were looked at: as long as one does not change, it is not read again.

Marks = tuple[Mark | None, ...]
_Key = tuple[Path, ...]


@dataclass
class _OfFeature:
    files: dict[_Key, tuple[Marks, list[File]]] = field(default_factory=dict)
    told: dict[_Key, list[File]] = field(default_factory=dict)  # of what went wrong


class Seen:
    """For as long as the daemon runs."""

    def __init__(self) -> None:
        self._features: dict[Path, _OfFeature] = {}

    def is_new(self, feature: FeatureFolder) -> bool:
        """Whether nothing was looked at there before."""
        return feature.path not in self._features

    def forget(self, feature: FeatureFolder) -> None:
        self._features.pop(feature.path, None)

    def unchanged(self, unit: Unit) -> list[File] | None:
        """The report of the last time, if the files are as they were then."""
        known = self._of(unit).files.get(_key(unit))
        return known[1] if known is not None and known[0] == marks_of(unit) else None

    def note(self, unit: Unit, before: Marks, said: list[File]) -> None:
        """`before` is how it was when it was read. What was done is not to be done again."""
        after = [replace(file, action="none", added=None) if file.action in DUE else file for file in said]
        self._of(unit).files[_key(unit)] = before, after

    def is_news(self, unit: Unit, said: list[File]) -> bool:
        """Whether it was not told before; what goes wrong in the same way again is no news."""
        told, key = self._of(unit).told, _key(unit)
        before, told[key] = told.get(key), said
        return said != before

    def _of(self, unit: Unit) -> _OfFeature:
        return self._features.setdefault(unit[0].feature.path, _OfFeature())


def marks_of(unit: Unit) -> Marks:
    return tuple(marks.of(file.path) for file in unit)


def _key(unit: Unit) -> _Key:
    return tuple(file.path for file in unit)
