"""The types of sessions that the older documents name, and the agent, task state and id that each has today."""

from __future__ import annotations

from typing import Any, get_args

from dagentd.model import ids
from dagentd.model.ids import AgentType

TYPES = {"pm-feature": "pm", "dev-task": "dev", "qa-task": "qa", "merge": "merge", "harness": "harness"}
AGENTS = get_args(AgentType)

# The harness has no state of its own: most of its talk about a task is while that is in development.
_STATES = {"pm": "planning", "dev": "in_dev", "qa": "in_qa", "merge": "ready_for_merge", "harness": "in_dev"}


def fields(agent: str, feature: str, task: str | None) -> dict[str, Any]:
    """Of the session document: a session that has no task is its feature's."""
    if task is None:
        return {"type": "feature", "agentType": agent, "featureId": feature}
    return {
        "type": "task", "agentType": agent, "featureId": feature, "taskId": task, "taskState": _STATES[agent],
    }  # fmt: skip


def canonical_id(agent: str, feature: str, task: str | None) -> str:
    if task is None:
        return ids.feature_session(agent, feature)
    return ids.task_session(agent, feature, task, _STATES[agent])


def task_of(raw: dict[str, Any], otherwise: str | None) -> str | None:
    """The task that a document names, if that could be part of an id; else the one in whose folder it lies."""
    given = raw.get("taskId")
    return given if ids.is_safe(given) else otherwise


def named_in(session_id: str) -> str | None:
    """The agent at the beginning of an id, as both the old and the canonical ones have it."""
    first = session_id.split("-", 1)[0]
    return first if first in AGENTS else None
