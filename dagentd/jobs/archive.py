"""Archiving sessions by themselves: when their feature or their task has come to its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dagentd.errors import DagentdError
from dagentd.model import times
from dagentd.model.feature import Dag, Feature, Task
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from dagentd.waiting import apart

_TASK_ENDS = ("completed", "merged")
_TIMES = ("completedAt", "updatedAt")


@dataclass(frozen=True)
class End:
    """The end of a feature or a task, in words that are the same each time; and when it was."""

    what: str
    at: datetime


@dataclass(frozen=True)
class Ends:
    """Of a feature, and of its tasks by id; and the files that say so."""

    feature: End | None
    tasks: Mapping[str, End]
    looked_at: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def of(self, task: object) -> End | None:
        return self.feature or (self.tasks.get(task) if isinstance(task, str) else None)


def plan(end: End | None, session: Mapping[str, Any], active_at: datetime | None) -> dict[str, Any]:
    """The fields to set in a session. It is archived once for each end: `archivedFor` says which was the last, so that
    one who goes on after it is left alone, and so is a session that was last active after it."""
    known = session.get("archivedFor")
    if end is None:
        return {"archivedFor": None} if known else {}
    if known == end.what:
        return {}
    settled = session.get("status") == "archived" or (active_at is not None and active_at > end.at)
    return {"archivedFor": end.what, **({} if settled else {"status": "archived"})}


def archive_ended(
    store: Store, feature: FeatureFolder, settings: Settings, known: Callable[[FeatureFolder], Ends] | None = None
) -> list[str]:
    """Do so in one feature; the ids of the sessions that were archived. Its ends are read if they are not `known`."""
    if not settings.archive.auto or store.read_only:
        return []
    try:
        ends = (known or ends_of)(feature)
    except (DagentdError, Undecodable):  # which reconciling says; nobody knows whether it ended
        return []
    paused = store.pauses.now()
    folders = [folder for folder in layout.sessions(feature) if not paused.covers(folder.id)]
    archived = []
    for folder in folders:
        with apart():
            archived += [folder.id] if _archive(store, folder, ends) else []
    return archived


def _archive(store: Store, folder: SessionFolder, ends: Ends) -> bool:
    """Most have nothing to be done, which their small document tells."""
    try:
        held = store.sessions.held(folder)
        shown = held.fields if held is not None else layout.read_object(folder.document("session"))
        if not plan(ends.of(shown.get("taskId", folder.task_id)), shown, None):
            return False
        with store.sessions.use(folder) as session:
            fields = session.fields
            changes = plan(ends.of(fields.get("taskId", folder.task_id)), fields, _active_at(session))
            if changes:
                session.set(**changes)
        return "status" in changes
    except (FileNotFoundError, DagentdError):  # it is a problem of its own already
        return False


def _active_at(session: Session) -> datetime | None:
    """When something was last said. Not when its document changed: taking it in from an older format changes it."""
    last = [raw.get("timestamp") for raw in session.history(limit=1)[0]]
    moments = [times.parse(each) for each in (*last, session.fields.get("createdAt")) if isinstance(each, str)]
    return max((each for each in moments if each is not None), default=None)


def ends_of(feature: FeatureFolder) -> Ends:
    path = feature.path / "feature.json"
    document = Feature.parse(_optional(path))
    if document.ended:
        return Ends(End(f"feature {document.status}", _moment(document.raw(), path)), {}, (path,))
    dag, nodes = feature.path / "dag.json", feature.path / "nodes"
    tasks = {name: feature.task_dir(name) / "task.json" for name in layout.folder_names(nodes)}
    ends = _of_dag(dag) | {name: end for name, task in tasks.items() if (end := _of_task(task)) is not None}
    return Ends(None, ends, (path, dag, nodes, *tasks.values()))


def _of_dag(path: Path) -> dict[str, End]:
    nodes = Dag.parse(_optional(path)).nodes
    ended = [node for node in nodes if isinstance(node.id, str) and node.status in _TASK_ENDS]
    return {node.id: End(f"task {node.status}", _moment(node.raw(), path)) for node in ended}


def _of_task(path: Path) -> End | None:
    task = Task.parse(_optional(path))
    return End(f"task {task.status}", _moment(task.raw(), path)) if task.status in _TASK_ENDS else None


def _moment(raw: dict[str, Any], path: Path) -> datetime:
    """When a document says that it ended, else when its file was last written."""
    told = [moment for key in _TIMES if isinstance(raw.get(key), str) and (moment := times.parse(raw[key]))]
    return told[0] if told else datetime.fromtimestamp(os.stat(path).st_mtime, UTC)


def _optional(path: Path) -> dict[str, Any]:
    try:
        return layout.read_object(path)
    except FileNotFoundError:
        return {}
