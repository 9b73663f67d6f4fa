"""L5: `sessions/{chat,checkpoint,context,agent-description}_{sid}.json` with no session document beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dagentd.formats import memory_document, moments, shape
from dagentd.formats.chat_entries import Reading
from dagentd.formats.shape import Converted, Source, began, created, listed, refuse_newer
from dagentd.model import agent_types, ids
from dagentd.model.documents import version_of
from dagentd.model.jsontext import Undecodable, kind

# A context of the earlier shape, nested by project, feature and task, in today's flat one.


def current_context(raw: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
    """The context with today's names where there are any; the rest stays. The daemon builds a newer one anyway."""
    parts = {name: dict(raw[name]) for name in ("project", "feature", "task") if isinstance(raw.get(name), dict)}
    flat: dict[str, Any] = {key: session[key] for key in ("featureId", "taskId", "taskState") if key in session}
    for old, new in _ABOUT.items():
        if (about := _objects(parts.get("task", {}).get(old))) is not None:
            flat[new] = about
    for (part, old), (new, read) in _NAMES.items():
        value = read(parts.get(part, {}).get(old))
        if value is not None and new not in raw:
            del parts[part][old]
            flat[new] = value
    others = {key: value for key, value in raw.items() if key not in parts}
    if isinstance(raw.get("tokens"), (int, float)):
        others["tokens"] = {"total": raw["tokens"]}
    return {**others, **flat, **{name: rest for name, rest in parts.items() if rest}}


def _objects(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) and value and all(isinstance(each, dict) for each in value) else None


def _text(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def _lines(value: Any) -> list[str] | None:
    """Objects as the one text that today's lists have; None if any has none."""
    lines = [_line(item) for item in value] if isinstance(value, list) else [None]
    return [line for line in lines if line is not None] if None not in lines else None


def _line(item: Any) -> str | None:
    """A commit as `abc1234 - subject`, a task as its id."""
    if not isinstance(item, dict):
        return item if isinstance(item, str) else None
    commit, subject = item.get("hash"), item.get("message", item.get("subject"))
    if isinstance(commit, str) and isinstance(subject, str):
        return f"{commit[:7]} - {subject.split(chr(10), 1)[0]}"
    task = item.get("id", item.get("taskId"))
    return task if isinstance(task, str) else None


_ABOUT = {"dependencies": "dependencyInfo", "dependents": "dependentInfo"}  # of which the lists keep only the ids
_NAMES: dict[tuple[str, str], tuple[str, Callable[[Any], Any]]] = {
    ("project", "structure"): ("projectStructure", _text),
    ("project", "claudeMd"): ("claudeMd", _text),
    ("project", "projectMd"): ("projectMd", _text),
    ("project", "recentCommits"): ("recentCommits", _lines),
    ("feature", "name"): ("featureName", _text),
    ("feature", "spec"): ("spec", _text),
    ("feature", "tasks"): ("tasks", _objects),
    ("task", "title"): ("taskTitle", _text),
    ("task", "description"): ("taskDescription", _text),
    ("task", "dependencies"): ("dependencies", _lines),
    ("task", "dependents"): ("dependents", _lines),
}


# A checkpoint of the earlier shape, with `completedItems` and `pendingItems`, in today's.

_LISTS = {
    "completed": ("completed", "completedItems"),
    "inProgress": ("inProgress", "inProgressItems"),
    "pending": ("pending", "pendingItems"),
    "blockers": ("blockers",),
    "decisions": ("decisions",),
}
_SUMMARY_NAMES = {name for names in _LISTS.values() for name in names}


def current_summary(raw: dict[str, Any]) -> dict[str, Any]:
    given = raw.get("summary")
    summary = given if isinstance(given, dict) else {}
    lists = {name: _joined([_items(summary.get(old)) for old in names]) for name, names in _LISTS.items()}
    others = {key: value for key, value in summary.items() if key not in _SUMMARY_NAMES}
    unread = {} if given is None or isinstance(given, dict) else {"originalSummary": given}
    return {**raw, "version": max(1, version_of(raw)), "summary": {**lists, **others}, **unread}


def _joined(found: list[list[Any]]) -> list[Any]:
    """A writer that serves readers of both shapes says the same twice."""
    first, *others = found
    return [*first, *(item for other in others if other != first for item in other)]


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


_COUNTED = ("createdAt", "updatedAt", "messageCount", "tokenCount")  # elsewhere today, or computed


def convert(raw: Any, source: Source) -> Converted:
    if not isinstance(raw, dict):
        raise Undecodable(f"must hold an object, not {kind(raw)}")
    names = ("chat", "checkpoint", "context", "agent-description", "memory")
    chat, checkpoint, context, agent, remembered = (_document(raw, name) for name in names)
    session_id = ids.checked(source.session_id or "")
    about = _about(chat or {}, checkpoint or {}, context or {}, agent or {})
    read = Reading(_chat_path(source.path), since=began(about)).read(listed(chat or {}, "messages", "entries"))
    fields = _fields(context or {}, agent or {}, source, session_id)
    fields |= {**created(about, read.messages), "status": "active"}
    return Converted(
        "L5",
        session_id,
        fields,
        read.messages,
        read.rejected,
        chat=_beside(chat or {}),
        checkpoint=_checkpoint(checkpoint, remembered),
        context=None if context is None else current_context(context, fields),
        agent_description=None if agent is None else _description(agent, fields),
    )


def _document(raw: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = raw.get(name)
    if found is not None and not isinstance(found, dict):
        raise Undecodable(f"{name} must hold an object, not {kind(found)}")
    refuse_newer(found, *(() if name == "checkpoint" else ("version",)))  # a checkpoint's counts compactions
    return found


def _about(*documents: dict[str, Any]) -> dict[str, Any]:
    """When the session was made, as the first document that knows says."""
    chat, *others = documents
    metadata = chat.get("metadata")
    stamps = (began(each) for each in (metadata if isinstance(metadata, dict) else {}, chat, *others))
    return {"createdAt": next(filter(None, stamps), None)}


def _chat_path(path: str) -> str:
    """Ids are derived from the chat's path, whichever of the documents led here."""
    return re.sub(r"(?<=sessions/)(chat|checkpoint|context|agent-description|memory)_", "chat_", path)


def _fields(context: dict[str, Any], agent: dict[str, Any], source: Source, session_id: str) -> dict[str, Any]:
    """The task knows best in which state its sessions are."""
    task, state = source.listed or (shape.task_of(context, source.task_id), None)
    named = shape.TYPES.get(str(context.get("type"))), shape.named_in(session_id)
    said = (agent.get("agentType"), *named, shape.AGENT_IN.get(str(state)))
    known = next((one for one in said if one in shape.AGENTS), "dev" if task else "pm")
    return shape.kind_fields(str(known), source.feature_id, task, state)


def _checkpoint(checkpoint: dict[str, Any] | None, remembered: dict[str, Any] | None) -> dict[str, Any] | None:
    """The memory is the newer one of both."""
    if checkpoint is None and remembered is None:
        return None
    earlier = current_summary(checkpoint or {})
    if remembered is None:
        return earlier
    return memory_document.as_checkpoint({key: value for key, value in remembered.items() if key != "dagentd"}, earlier)


def _beside(chat: dict[str, Any]) -> dict[str, Any]:
    others = {key: value for key, value in chat.items() if key not in ("messages", "entries", "metadata")}
    metadata = chat.get("metadata")
    if isinstance(metadata, dict):
        metadata = {key: value for key, value in metadata.items() if key not in _COUNTED}
    return {**others, "metadata": metadata} if metadata else others


def _description(raw: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """One that cannot be understood becomes the usual one, and keeps what it says in the fields that it has."""
    agent, at = fields["agentType"], moments.verbatim(raw.get("createdAt")) or fields.get("createdAt", moments.UNKNOWN)
    try:
        return agent_types.replaced_by({**raw, "agentType": agent}, agent, at).raw()
    except Undecodable:
        return {**raw, **agent_types.default(agent, at).raw()}
