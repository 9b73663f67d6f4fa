"""The form that every legacy shape is converted to, the types of sessions that older documents name, and the rules
for the document around the entries."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, get_args

from dagentd.formats import moments
from dagentd.model import ids
from dagentd.model.ids import AgentType
from dagentd.model.jsontext import Undecodable, kind

# The types of sessions that the older documents name, and the agent, task state and id that each has today.

TYPES = {"pm-feature": "pm", "dev-task": "dev", "qa-task": "qa", "merge": "merge", "harness": "harness"}
AGENTS = get_args(AgentType)

AGENT_IN = {
    "planning": "pm", "in_dev": "dev", "dev_complete": "dev", "in_qa": "qa", "qa_complete": "qa",
    "ready_for_merge": "merge", "merged": "merge",
}  # fmt: skip


def kind_fields(agent: str, feature: str, task: str | None, state: str | None = None) -> dict[str, Any]:
    """Of the session document: a session that has no task is its feature's."""
    if task is None:
        return {"type": "feature", "agentType": agent, "featureId": feature}
    state = state or ids.usual_state(agent)
    return {"type": "task", "agentType": agent, "featureId": feature, "taskId": task, "taskState": state}


def canonical_id(agent: str, feature: str, task: str | None) -> str:
    if task is None:
        return ids.feature_session(agent, feature)
    return ids.task_session(agent, feature, task, ids.usual_state(agent))


def task_of(raw: dict[str, Any], otherwise: str | None) -> str | None:
    """The task that a document names, if that could be part of an id; else the one in whose folder it lies."""
    given = raw.get("taskId")
    return given if ids.is_safe(given) else otherwise


def named_in(session_id: str) -> str | None:
    """The agent at the beginning of an id, as both the old and the canonical ones have it."""
    first = session_id.split("-", 1)[0]
    return first if first in AGENTS else None


# What every legacy shape is converted to, and the rules for the document around its entries.

KNOWN_FORMAT = 3  # the canonical one; none of the legacy shapes says a number
_FORMAT_KEYS = ("formatVersion", "schemaVersion")

# Fields of a document that have a place of their own, or are computed: they are not carried over as they are.
_OWN = {
    "id", "sessionId", "type", "agentType", "featureId", "taskId", "taskState", "status", "createdAt", "startedAt",
    "updatedAt", "files", "stats", "migratedFrom", "dagentd", "entries", "messages", "version", *_FORMAT_KEYS,
}  # fmt: skip


class Newer(Undecodable):
    """The file says that it is of a later format than this dagentd knows: it is refused, untouched."""


@dataclass(frozen=True)
class Source:
    """A legacy file and what its place says. `path` is within the feature, with '/': derived ids depend on it. `listed`
    are the task and the state in which a task.json has the session."""

    path: str
    feature_id: str
    task_id: str | None = None
    session_id: str | None = None
    listed: tuple[str, str] | None = None


@dataclass(frozen=True)
class Rejected:
    """An entry that is no message; `index` counts all entries of the file from 0."""

    index: int
    reason: str


@dataclass(frozen=True)
class Converted:
    """A session in canonical form. `fields` are those of its session document but for its id and what is computed;
    `chat` holds what the chat document has beside its messages, `stats` what was counted before."""

    format: str
    session_id: str
    fields: dict[str, Any]
    messages: list[dict[str, Any]]
    rejected: list[Rejected]
    alias: str | None = None
    stats: Any = None
    chat: dict[str, Any] = field(default_factory=dict)
    checkpoint: dict[str, Any] | None = None
    context: dict[str, Any] | None = None
    agent_description: dict[str, Any] | None = None


def document(raw: Any, entries: str) -> dict[str, Any]:
    """The file as an object; a bare list is that of its entries."""
    if isinstance(raw, list):
        return {entries: raw}
    if not isinstance(raw, dict):
        raise Undecodable(f"must hold an object, not {kind(raw)}")
    return raw


def listed(raw: dict[str, Any], *names: str) -> list[Any]:
    """The entries under the first of these names that has any; null and missing are none."""
    name = next((name for name in names if raw.get(name) is not None), None)
    found = raw[name] if name else []
    if not isinstance(found, list):
        raise Undecodable(f"has a wrong {name!a}: it must be a list, not {kind(found)}")
    return found


def carried(raw: dict[str, Any]) -> dict[str, Any]:
    """The other fields of the document. A migrated session is active: the status it had is only told."""
    others = {key: value for key, value in raw.items() if key not in _OWN}
    status = raw.get("status")
    return others if status in (None, "active") else {**others, "originalStatus": status}


def created(raw: dict[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
    """When the session began: as the document says, else with its first message; nothing if nobody knows."""
    first = messages[0]["timestamp"] if messages else None
    stamp = began(raw) or (moments.canonical(first) if first != moments.UNKNOWN else None)
    return {"createdAt": stamp} if stamp else {}


def began(raw: dict[str, Any]) -> str | None:
    return moments.canonical(raw.get("createdAt")) or moments.canonical(raw.get("startedAt"))


def refuse_newer(raw: Any, *keys: str) -> None:
    for key in (*keys, *_FORMAT_KEYS) if isinstance(raw, dict) else ():
        if (number := _number(raw[key]) if key in raw else 0) >= KNOWN_FORMAT + 1:
            raise Newer(f"is of format {number}, and this dagentd knows those up to {KNOWN_FORMAT}")


def _number(version: Any) -> float:
    """The first number of "4.1" or "v4"; what is no version counts as an old one."""
    if isinstance(version, str):
        found = re.match(r"v?(\d{1,9})", version, re.ASCII)
        return int(found[1]) if found else 0
    return version if isinstance(version, (int, float)) and not isinstance(version, bool) else 0
