"""Who the agents are: the description of each type, until the user's own replaces it."""

from __future__ import annotations

from typing import Any

from dagentd.model.documents import AgentDescription
from dagentd.model.ids import AgentType, one_of
from dagentd.model.jsontext import Undecodable, kind
from dagentd.model.roles import ROLES, WORKTREE

_KEYS = ("roleInstructions", "role", "instructions", "toolInstructions", "allowedTools")


def default(agent_type: str, created_at: str) -> AgentDescription:
    role, tools = ROLES[one_of(agent_type, AgentType, "agentType")]
    return AgentDescription(
        agent_type=agent_type,
        role_instructions=role,
        tool_instructions=f"{tools}\n\n{WORKTREE}",
        created_at=created_at,
    )


def replaced_by(raw: dict[str, Any], agent_type: str, created_at: str) -> AgentDescription:
    """The user's `.dagent/agents/{role}.json`, canonical, as session-checkpoint-architecture has it or as the app has,
    with its instructions as one text; what it does not give stays the default."""
    if not any(key in raw for key in _KEYS):
        raise Undecodable(f"has none of {', '.join(_KEYS)}")
    if raw.get("agentType", agent_type) != agent_type:
        raise Undecodable(f"has a wrong 'agentType': this file is for {agent_type}")
    usual = default(agent_type, created_at)
    # Folded into the canonical fields; allowedTools stays as well, for the tools that enforce it.
    kept = {key: value for key, value in raw.items() if key not in ("role", "instructions")}
    given = {
        "agentType": agent_type,
        "roleInstructions": _role(raw) or usual.role_instructions,
        "toolInstructions": _tools(raw) or usual.tool_instructions,
        "createdAt": created_at,
    }
    return AgentDescription.parse({**kept, **given})


def _role(raw: dict[str, Any]) -> str:
    if isinstance(raw.get("instructions"), str):  # the app's: its `role` is a name
        return "\n\n".join(filter(None, (_text(raw, "roleInstructions"), _text(raw, "instructions"))))
    listed = "\n".join(f"- {text}" for text in _texts(raw, "instructions"))
    return "\n\n".join(filter(None, (_text(raw, "roleInstructions"), _text(raw, "role"), listed)))


def _tools(raw: dict[str, Any]) -> str:
    allowed, words = _texts(raw, "allowedTools"), _text(raw, "toolInstructions")
    sentence = f"Use only these tools: {', '.join(allowed)}." if allowed else ""
    # A session's own description, copied to be the user's, says it already.
    return words if sentence in words else "\n\n".join(filter(None, (sentence, words)))


def _text(raw: dict[str, Any], key: str) -> str:
    value = raw.get(key, "")
    if not isinstance(value, str):
        raise Undecodable(f"has a wrong {key!a}: it must be a text, not {kind(value)}")
    return value.strip()


def _texts(raw: dict[str, Any], key: str) -> list[str]:
    value = raw.get(key, [])
    if not isinstance(value, list):
        raise Undecodable(f"has a wrong {key!a}: it must be a list of texts, not {kind(value)}")
    for item in value:
        if not isinstance(item, str):
            raise Undecodable(f"has a wrong {key!a}: it must hold only texts, not {kind(item)}")
    return value
