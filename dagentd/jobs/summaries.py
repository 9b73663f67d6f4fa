"""Summaries for lists: cheap, from documents that are small."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dagentd.errors import DagentdError
from dagentd.model.calibration import Calibration
from dagentd.model.feature import Dag, Feature, places
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.store.layout import layout
from dagentd.store.layout.closed_folders import closed as closed_folders

if TYPE_CHECKING:  # who only reads goes without the parts that write
    from dagentd.settings import Settings
    from dagentd.store.sessions.session import Session
    from dagentd.store.store import Store

_KEPT = ("type", "agentType", "taskId", "taskState", "status", "createdAt", "updatedAt", "stats")
_SAID_OVER = 3  # a checkpoint has its items twice, the second time with sources, and is sent once
_BYTES_PER_TOKEN = 4  # of typical text; a list must not load the vocabulary


def project(store: Store, worktrees: list[str]) -> dict[str, Any]:
    where = {"root": str(store.project.root), "readOnly": store.read_only, "worktrees": worktrees}
    held = store.pauses.now()
    paused = None if held.project is None else held.project.raw()
    return {**where, "paused": paused, "pausedSessions": sorted(held.sessions)}


def worktrees(store: Store) -> list[str]:
    """Whether or not there is a `.dagent` in them yet."""
    return [tree.name for tree in layout.checkouts(store.project) if tree.worktree != store.project.root]


def feature(store: Store, folder: FeatureFolder) -> dict[str, Any]:
    place = {"id": folder.id, "project": str(store.project.root), "worktree": str(folder.tree.worktree)}
    try:
        document = Feature.parse(_optional(folder, "feature.json")).raw()
        dag = Dag.parse(_optional(folder, "dag.json"))
    except (DagentdError, Undecodable) as error:
        return {**place, "error": str(error)}
    return {**document, **place, "dagSummary": dag.summary() if dag.nodes else None}


def whole_feature(store: Store, folder: FeatureFolder) -> dict[str, Any]:
    """With its tasks, as they are drawn. One without a readable graph of tasks has none."""
    known = feature(store, folder)
    try:
        dag = Dag.parse(_optional(folder, "dag.json"))
    except (DagentdError, Undecodable):
        return {**known, "tasks": []}
    return {**known, "tasks": dag.tasks(_places(folder))}


def _places(folder: FeatureFolder) -> dict[str, tuple[float, float]]:
    """Of the feature, or of all features of its tree. It is a picture: where it cannot be read, another is drawn."""
    for path in dict.fromkeys((folder.path / "layout.json", folder.tree.path / "layout.json")):
        try:
            return places(layout.read_object(path))
        except (OSError, DagentdError):
            continue
    return {}


def _optional(folder: FeatureFolder, name: str) -> dict[str, Any]:
    try:
        return layout.read_object(folder.path / name)
    except FileNotFoundError:
        return {}


def sessions(store: Store, settings: Settings) -> list[dict[str, Any]]:
    return [session(store, folder, settings) for folder in store.catalogue.folders()]


def session(store: Store, folder: SessionFolder, settings: Settings) -> dict[str, Any]:
    """From session.json alone where it can be read: a list must not read every chat."""
    tree = folder.feature.tree
    place = {"id": folder.id, "featureId": folder.feature.id, "worktree": str(tree.worktree)}
    place["project"] = str(store.project.root)
    try:
        raw = _document(store, folder)
    except DagentdError as error:
        return {**place, "error": str(error), "hint": error.hint}
    held = {key: raw[key] for key in _KEPT if key in raw} | counts(raw, folder)
    paused = store.pauses.shown(folder.id)
    return {**place, **held, **({"paused": paused} if paused else {}), **_size(folder, settings)}


def whole(store: Store, held: Session, settings: Settings) -> dict[str, Any]:
    """Its document, and what a user asks for first. `messages` is what is in chat, `total` what was ever said."""
    document, paused = held.document(), store.pauses.shown(held.id)
    wrong = [problem.raw() for problem in held.problems]
    return {
        **document,
        **counts(document, held.folder),
        **({"paused": paused} if paused else {}),
        **({"gone": True} if held.folder.gone else _size(held.folder, settings)),
        **({"problems": wrong} if wrong else {}),
    }


def counts(document: dict[str, Any], folder: SessionFolder) -> dict[str, int]:
    """How many messages are in chat, and how many there ever were; only what is known. The chat of a session that we
    did not write yet is counted."""
    own, stats = document.get("dagentd"), document.get("stats")
    if isinstance(own, dict) and isinstance(own.get("inChat"), int) and isinstance(own.get("total"), int):
        return {"messages": own["inChat"], "total": own["total"]}
    found = {"total": stats.get("totalMessages") if isinstance(stats, dict) else None}
    if not folder.gone:
        with contextlib.suppress(FileNotFoundError, DagentdError):
            listed = layout.read_object(folder.document("chat")).get("messages")
            found["messages"] = len(listed) if isinstance(listed, list) else None
    return {name: count for name, count in found.items() if isinstance(count, int)}


def closed(store: Store) -> list[dict[str, str | None]]:
    """Folders that should hold sessions and may not be looked into."""
    return [{"message": each.message, "path": each.path, "hint": each.hint} for each in closed_folders(store.project)]


def with_compactions(found: list[dict[str, Any]], under_way: Iterable[dict[str, str]]) -> list[dict[str, Any]]:
    """Those that are being compacted say since when."""
    since = {(each["worktree"], each["sessionId"]): each["since"] for each in under_way}
    keys = ((each.get("worktree"), each.get("id")) for each in found)
    return [each | ({"compacting": since[key]} if key in since else {}) for each, key in zip(found, keys, strict=True)]


def _document(store: Store, folder: SessionFolder) -> dict[str, Any]:
    try:
        if (known := store.sessions.document(folder)) is not None:
            return known
        return layout.read_object(folder.document("session"))
    except FileNotFoundError:
        with store.sessions.use(folder) as session:
            return session.document()


def _size(folder: SessionFolder, settings: Settings) -> dict[str, Any]:
    """Estimated from the sizes of the documents; `session.previewRequest` counts."""
    size = 0
    for name in ("chat", "context", "agent-description", "checkpoint"):
        with contextlib.suppress(OSError):
            size += folder.document(name).stat().st_size // (_SAID_OVER if name == "checkpoint" else 1)
    tokens = Calibration().tokens(size // _BYTES_PER_TOKEN, settings.compaction.model)
    limit = settings.budget.limit
    return {"tokens": tokens, "budget": {"limit": limit, "share": round(tokens / limit, 3), "estimated": True}}
