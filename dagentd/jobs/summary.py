"""Summaries for lists: cheap, from documents that are small."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dagentd.errors import DagentdError
from dagentd.jobs import pausing
from dagentd.model.calibration import Calibration
from dagentd.model.feature import Dag, Feature
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.settings import Settings
from dagentd.store import layout
from dagentd.store.store import Store

_KEPT = ("type", "agentType", "taskId", "taskState", "status", "createdAt", "updatedAt", "stats")
_SAID_OVER = 3  # a checkpoint has its items twice, the second time with sources, and is sent once
_BYTES_PER_TOKEN = 4  # of typical text; a list must not load the vocabulary


def project(store: Store, worktrees: list[str]) -> dict[str, Any]:
    where = {"root": str(store.project.root), "readOnly": store.read_only, "worktrees": worktrees}
    return {**where, "paused": pausing.of_project(store), "pausedSessions": sorted(store.pauses.now().sessions)}


def worktrees(store: Store) -> list[str]:
    return [tree.name for tree in layout.trees(store.project) if tree.worktree != store.project.root]


def feature(store: Store, folder: FeatureFolder) -> dict[str, Any]:
    place = {"id": folder.id, "project": str(store.project.root), "worktree": str(folder.tree.worktree)}
    try:
        document = Feature.parse(_optional(folder, "feature.json")).raw()
        dag = Dag.parse(_optional(folder, "dag.json"))
    except (DagentdError, Undecodable) as error:
        return {**place, "error": str(error)}
    return {**document, **place, "dagSummary": dag.summary() if dag.nodes else None}


def _optional(folder: FeatureFolder, name: str) -> dict[str, Any]:
    try:
        return layout.read_object(folder.path / name)
    except FileNotFoundError:
        return {}


def sessions(store: Store, settings: Settings) -> list[dict[str, Any]]:
    return [session(store, folder, settings) for folder in store.folders()]


def session(store: Store, folder: SessionFolder, settings: Settings) -> dict[str, Any]:
    """From session.json alone where it can be read: a list must not read every chat."""
    tree = folder.feature.tree
    place = {"id": folder.id, "featureId": folder.feature.id, "worktree": str(tree.worktree)}
    try:
        raw = _document(store, folder)
    except DagentdError as error:
        return {**place, "error": str(error), "hint": error.hint}
    held = {key: raw[key] for key in _KEPT if key in raw}
    return {**place, "project": str(store.project.root), **held, **paused(store, folder.id), **_size(folder, settings)}


def with_compactions(found: list[dict[str, Any]], under_way: Iterable[dict[str, str]]) -> list[dict[str, Any]]:
    """Those that are being compacted say since when."""
    since = {(each["worktree"], each["sessionId"]): each["since"] for each in under_way}
    keys = ((each.get("worktree"), each.get("id")) for each in found)
    return [each | ({"compacting": since[key]} if key in since else {}) for each, key in zip(found, keys, strict=True)]


def paused(store: Store, session_id: str) -> dict[str, Any]:
    """Only where it is."""
    held = pausing.of_session(store, session_id)
    return {} if held is None else {"paused": held}


def _document(store: Store, folder: SessionFolder) -> dict[str, Any]:
    try:
        if (known := store.document(folder)) is not None:
            return known
        return layout.read_object(folder.document("session"))
    except FileNotFoundError:
        with store.use(folder) as session:
            return session.document()


def _size(folder: SessionFolder, settings: Settings) -> dict[str, Any]:
    """Estimated from the sizes of the documents; `session.previewRequest` counts."""
    size = sum(_bytes(folder, name) for name in ("chat", "context", "agent-description"))
    size += _bytes(folder, "checkpoint") // _SAID_OVER
    tokens = Calibration().tokens(size // _BYTES_PER_TOKEN, settings.compaction.model)
    limit = settings.budget.limit
    return {"tokens": tokens, "budget": {"limit": limit, "share": round(tokens / limit, 3), "estimated": True}}


def _bytes(folder: SessionFolder, name: str) -> int:
    try:
        return folder.document(name).stat().st_size
    except OSError:
        return 0
