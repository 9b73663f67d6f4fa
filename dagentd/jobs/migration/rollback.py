"""Taking migrations back: what came of a source leaves, and what nobody used since is as it was before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagentd.errors import CorruptFile, DagentdError
from dagentd.formats.legacy import shape_at
from dagentd.jobs.migration.report import File
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.store import layout
from dagentd.store.store import Store
from dagentd.store.withdrawing import migrations

_USED = "the session holds more than was migrated: it stays, and what was migrated left its chat"

Entry = dict[str, Any]


def rollback(store: Store, feature: FeatureFolder, under: Path | None = None) -> list[File]:
    """Everything, or what came from files under a path. The last comes first: what several sessions are linked in is
    then put back step by step."""
    store.withdrawer.resume(feature)
    found, unread = list[tuple[SessionFolder, list[Entry]]](), list[File]()
    for folder in layout.sessions(feature):
        try:
            found += [(folder, entries)] if (entries := _chosen(store, folder, under)) else []
        except DagentdError as error:
            unread.append(_unread(folder, error))
    last_first = sorted(found, key=lambda each: min(str(entry.get("at")) for entry in each[1]), reverse=True)
    return unread + [file for folder, entries in last_first for file in _taken_back(store, folder, entries)]


def _chosen(store: Store, folder: SessionFolder, under: Path | None) -> list[Entry]:
    """Documents that lay there without a session document belong together: if one is meant, all are."""
    every = migrations(_fields(store, folder))
    chosen = [entry for entry in every if under is None or (folder.feature.path / entry["path"]).is_relative_to(under)]
    if any(_is_document(folder, entry) for entry in chosen):
        chosen += [entry for entry in every if entry not in chosen and _is_document(folder, entry)]
    return chosen


def _is_document(folder: SessionFolder, entry: Entry) -> bool:
    return str(entry["path"]).endswith(f"_{folder.id}.json")


def _fields(store: Store, folder: SessionFolder) -> dict[str, Any]:
    try:
        return store.document(folder) or layout.read_object(folder.document("session"))
    except (FileNotFoundError, CorruptFile):  # reconciling says what is wrong with it
        return {}


def _unread(folder: SessionFolder, error: DagentdError) -> File:
    """Where it came from cannot be read, which is not that it came from nowhere."""
    path = error.path or str(folder.document("session"))
    return File(path, None, folder.id, 0, "failed", error=error.message, hint=error.hint)


def _taken_back(store: Store, folder: SessionFolder, entries: list[Entry]) -> list[File]:
    paths = [entry["path"] for entry in entries]
    try:
        ended = store.withdrawer.withdraw(folder, paths)
    except DagentdError as error:
        return [_line(folder, each, error=error.message, hint=error.hint, action="failed") for each in entries]
    if ended:
        return [_line(folder, each, action="rolledBack") for each in entries]
    return [_line(folder, each, action="kept", note=_USED) for each in entries]


def _line(folder: SessionFolder, entry: Entry, **more: Any) -> File:
    count = entry.get("messages")
    path = str(folder.feature.path / entry["path"])
    return File(path, shape_at(str(entry["path"])), folder.id, count if isinstance(count, int) else 0, **more)
