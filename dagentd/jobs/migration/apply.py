"""Migrating one session, backed up, read back and compared; and taking migrations back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import Conflict, CorruptFile, DagentdError
from dagentd.formats.legacy import shape_at
from dagentd.jobs.migration.sources import File, Found
from dagentd.model import times
from dagentd.model.project import FeatureFolder, Project, SessionFolder
from dagentd.store.layout import layout, legacy_files
from dagentd.store.layout.closed_folders import closed
from dagentd.store.layout.links import Link
from dagentd.store.layout.rolled_back import barred, migrations
from dagentd.store.sessions.maker import Imported, Importer
from dagentd.store.sessions.open_sessions import OpenSessions
from dagentd.store.sessions.removal import Rollback
from dagentd.store.sessions.session import Session

# Migrating one session: backed up, brought in, read back and compared, and only then noted as done.


def apply(importer: Importer, temps: Temps, found: Found, keep: int, settle: float) -> int:
    """How many messages were new. `Changed` if another program wrote to a file meanwhile: look again."""
    feature, documents = found.unit[0].feature, found.documents()
    by_app = found.unit[0].document is None and legacy_files.is_backed_up(found.unit[0].path, found.contents[0].data)
    for file, content, now in zip(found.unit, found.contents, found.current, strict=True):
        if content.data == now:
            legacy_files.back_up(file.path, content.data, keep, temps)
        if (shaped := documents[file.document]) is not None and not file.begun:
            legacy_files.rewrite(file.path, now, shaped, temps)
    imported = importer.bring_in(feature, found.converted, found.unit[0], by_app)
    try:
        if imported.made:
            _complete(importer, temps, found, imported.session, keep)
        if not (imported.made and _missing(imported.session) is None):  # one that was made before a failure has none
            imported.session.reconcile()  # so that the documents are there to be compared
        _verify(importer, found, imported, settle)
        _note(imported.session, found)
    finally:
        imported.session.leave()
    return len(imported.added)


def _complete(importer: Importer, temps: Temps, found: Found, session: Session, keep: int) -> None:
    """Linked like any new session; what it is linked in can be put back to the byte."""
    link = Link.of(session.folder.feature, session.id, found.converted.fields)
    legacy_files.back_up_before(link.path, link.change, keep, temps)
    importer.complete(session, found.converted)


# --- verifying ------------------------------------------------------------------------------------------------


def _verify(importer: Importer, found: Found, imported: Imported, settle: float) -> None:
    """The four points of the format's own notes: the new files are there, content and order are kept, times make
    sense, and there is a backup of what was read."""
    folder = imported.session.folder
    if (name := _missing(imported.session)) is not None:
        raise _wrong(found, f"the {name} document of {folder.id} was not written")
    if not importer.shows(imported.session, imported.added):
        _verify_read(importer, found, imported, settle)
    if not all(times.parse(raw["timestamp"]) for raw in found.converted.messages):
        raise _wrong(found, "a time was not converted")
    for file, content in zip(found.unit, found.contents, strict=True):
        if not legacy_files.is_backed_up(file.path, content.data):
            raise _wrong(found, "there is no backup")


def _missing(session: Session) -> str | None:
    return next((name for name in ("session", "chat") if not session.folder.document(name).exists()), None)


def _verify_read(importer: Importer, found: Found, imported: Imported, settle: float) -> None:
    """Content and order by what the chat says, whoever wrote it; a message may have left it already."""
    folder = imported.session.folder
    shown = {raw["id"]: raw for raw in legacy_files.read_back(folder.document("chat"), settle)["messages"]}
    wanted = {raw["id"]: raw for raw in found.converted.messages if raw["id"] in imported.added}
    if [one for one in shown if one in wanted] != [one for one in wanted if one in shown]:
        raise _wrong(found, f"the messages are in another order in {folder.id}")
    if any(shown[one] != raw for one, raw in wanted.items() if one in shown):
        raise _wrong(found, f"a message is not the same in {folder.id}")
    if lost := importer.lacking(imported.session, [one for one in imported.added if one not in shown]):
        raise _wrong(found, f"{len(lost)} messages are not in {folder.id}")


def _wrong(found: Found, what: str) -> Conflict:
    return Conflict(
        f"its migration could not be verified: {what}", path=found.unit[0].path,
        hint="The original and its backup are untouched. `dagentd migrate --rollback` takes it back.",
    )  # fmt: skip


# --- noting ---------------------------------------------------------------------------------------------------


def _note(session: Session, found: Found) -> None:
    """The source with its hash: as long as it is the same, nothing is to be done. Of one that grew, the time is still
    that of the first migration: they are taken back in the order in which sessions were linked."""
    now, sources = clock.stamp(), {file.source.path for file in found.unit}
    since = {each["path"]: each.get("at", now) for each in migrations(session.fields)}
    entries = [
        {"path": path, "sha256": content.sha256, "messages": _count(found, file.document), "at": since.get(path, now)}
        for file, content in zip(found.unit, found.contents, strict=True)
        for path in (file.source.path,)
    ]
    kept = [each for each in migrations(session.fields) if each["path"] not in sources]
    changes: dict[str, Any] = {"migratedFrom": [*kept, *entries]}
    bars = barred(session.fields)
    if any(each["path"] in sources for each in bars):
        changes["barred"] = [each for each in bars if each["path"] not in sources]
    session.set(**changes)


def _count(found: Found, document: str | None) -> int:
    return len(found.converted.messages) if document in (None, "chat") else 0


# Taking migrations back: what came of a source leaves, and what nobody used since is as it was before.

_USED = "the session holds more than was migrated: it stays, and what was migrated left its chat"

Entry = dict[str, Any]


def take_back(
    sessions: OpenSessions, rollback: Rollback, feature: FeatureFolder, under: Path | None = None
) -> list[File]:
    """Everything, or what came from files under a path. The last comes first: what several sessions are linked in is
    then put back step by step."""
    rollback.resume(feature)
    found, unread = list[tuple[SessionFolder, list[Entry]]](), list[File]()
    for folder in layout.sessions(feature):
        try:
            found += [(folder, entries)] if (entries := _chosen(sessions, folder, under)) else []
        except DagentdError as error:
            unread.append(_unread(folder, error))
    last_first = sorted(found, key=lambda each: min(str(entry.get("at")) for entry in each[1]), reverse=True)
    return unread + [file for folder, entries in last_first for file in _taken_back(rollback, folder, entries)]


def unseen(project: Project, under: Path | None) -> list[File]:
    """The folders that may not be looked into: that nothing was found there is not that there is nothing."""
    return [
        File(str(error.path), None, None, 0, "failed", error=error.message, hint=error.hint)
        for error in closed(project)
        if under is None or under.is_relative_to(str(error.path)) or Path(str(error.path)).is_relative_to(under)
    ]


def _chosen(sessions: OpenSessions, folder: SessionFolder, under: Path | None) -> list[Entry]:
    """Documents that lay there without a session document belong together: if one is meant, all are."""
    every = migrations(_fields(sessions, folder))
    chosen = [entry for entry in every if under is None or (folder.feature.path / entry["path"]).is_relative_to(under)]
    if any(_is_document(folder, entry) for entry in chosen):
        chosen += [entry for entry in every if entry not in chosen and _is_document(folder, entry)]
    return chosen


def _is_document(folder: SessionFolder, entry: Entry) -> bool:
    return str(entry["path"]).endswith(f"_{folder.id}.json")


def _fields(sessions: OpenSessions, folder: SessionFolder) -> dict[str, Any]:
    try:
        return sessions.document(folder) or layout.read_object(folder.document("session"))
    except (FileNotFoundError, CorruptFile):  # reconciling says what is wrong with it
        return {}


def _unread(folder: SessionFolder, error: DagentdError) -> File:
    """Where it came from cannot be read, which is not that it came from nowhere."""
    path = error.path or str(folder.document("session"))
    return File(path, None, folder.id, 0, "failed", error=error.message, hint=error.hint)


def _taken_back(rollback: Rollback, folder: SessionFolder, entries: list[Entry]) -> list[File]:
    paths = [entry["path"] for entry in entries]
    try:
        ended = rollback.withdraw(folder, paths)
    except DagentdError as error:
        return [_line(folder, each, error=error.message, hint=error.hint, action="failed") for each in entries]
    if ended:
        return [_line(folder, each, action="rolledBack") for each in entries]
    return [_line(folder, each, action="kept", note=_USED) for each in entries]


def _line(folder: SessionFolder, entry: Entry, **more: Any) -> File:
    count = entry.get("messages")
    path = str(folder.feature.path / entry["path"])
    return File(path, shape_at(str(entry["path"])), folder.id, count if isinstance(count, int) else 0, **more)
