"""Sessions to compose requests from."""

from __future__ import annotations

from typing import Any

from dagentd.model import conversation
from dagentd.model.documents import AgentDescription, Checkpoint, Context
from dagentd.model.request import Parts, Request, compose

AGENT = AgentDescription(agent_type="qa", role_instructions="You review.", tool_instructions="Use rg.")


def parts(context: Any = None, checkpoint: Any = None, shared: Any = None, messages: list[Any] | None = None) -> Parts:
    return Parts(
        agent=AGENT,
        context=None if context is None else Context.parse(context),
        checkpoint=None if checkpoint is None else Checkpoint.parse(checkpoint),
        shared_checkpoint=None if shared is None else Checkpoint.parse(shared),
        messages=[one for raw in messages or [] if (one := conversation.said(raw)) is not None],
    )


def talk(*messages: tuple[Any, Any], user: str = "now", recent: int = 0) -> Request:
    return compose(parts(messages=[{"role": role, "content": content} for role, content in messages]), user, recent)
