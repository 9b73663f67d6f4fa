"""The types of sessions that the older documents name, and the agent, task state and id that each has today."""

from __future__ import annotations

from typing import Any, get_args

from dagentd.model import ids
from dagentd.model.ids import AgentType

TYPES = {"pm-feature": "pm", "dev-task": "dev", "qa-task": "qa", "merge": "merge", "harness": "harness"}
AGENTS = get_args(AgentType)

AGENT_IN = {
    "planning": "pm", "in_dev": "dev", "dev_complete": "dev", "in_qa": "qa", "qa_complete": "qa",
    "ready_for_merge": "merge", "merged": "merge",
}  # fmt: skip


def fields(agent: str, feature: str, task: str | None, state: str | None = None) -> dict[str, Any]:
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
