"""A request to a model: composed from a session's documents, and what each part of it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dagentd.model import budget as budgets
from dagentd.model import conversation, sections
from dagentd.model.budget import Budget
from dagentd.model.conversation import Turn
from dagentd.model.documents import AgentDescription, Checkpoint, Context, Message


@dataclass(frozen=True)
class Parts:
    agent: AgentDescription
    context: Context | None
    checkpoint: Checkpoint | None
    shared_checkpoint: Checkpoint | None  # the task's dev checkpoint, for a qa or merge session
    messages: list[Message]  # in chat order


@dataclass(frozen=True)
class Request:
    """Each part as it stands in the prompt; an absent one is empty."""

    agent: str
    context: str
    checkpoint: str
    conversation: tuple[str, ...]
    user_prompt: str
    messages: list[Turn]

    @property
    def preamble(self) -> str:
        """The system prompt for a tool that sends `messages`: `system_prompt` holds the conversation too, and
        begins with exactly these characters."""
        return "\n\n".join(filter(None, (self.agent, self.context, self.checkpoint)))

    @property
    def system_prompt(self) -> str:
        return "\n\n".join(filter(None, (self.preamble, "\n".join(self.conversation))))


def compose(parts: Parts, user_message: str, recent_messages: int = 0) -> Request:
    shown = conversation.recent(conversation.said(parts.messages), user_message, recent_messages)
    own = sections.checkpoint(parts.checkpoint)
    shared = sections.shared_checkpoint(parts.shared_checkpoint)
    return Request(
        agent=sections.agent(parts.agent),
        context=sections.context(parts.context),
        checkpoint="\n\n".join(filter(None, (own, shared))),
        conversation=conversation.transcript(shown),
        user_prompt=user_message,
        messages=conversation.turns(shown, user_message),
    )


@dataclass(frozen=True)
class Breakdown:
    agent_desc_tokens: int
    context_tokens: int
    checkpoint_tokens: int
    messages_tokens: int
    user_prompt_tokens: int
    limit: int
    needs_compaction: bool

    @classmethod
    def of(
        cls, request: Request, count: Callable[[str], int], *, factor: float, chat_tokens: int, budget: Budget
    ) -> Breakdown:
        """`count` is multiplied by `factor`. `chat_tokens` is the size of all that is in chat, with the internal
        messages that no request shows and that compaction can free."""
        agent, context, checkpoint, messages, prompt = (
            math.ceil(factor * sum(map(count, texts)))
            for texts in (
                [request.agent],
                [request.context],
                [request.checkpoint],
                request.conversation,
                [request.user_prompt],
            )
        )
        occupied = budgets.Parts(agent, context, checkpoint, chat_tokens)
        return cls(agent, context, checkpoint, messages, prompt, budget.limit, budget.needs_compaction(occupied))

    @property
    def total(self) -> int:
        fixed = self.agent_desc_tokens + self.context_tokens + self.checkpoint_tokens
        return fixed + self.messages_tokens + self.user_prompt_tokens

    def raw(self) -> dict[str, int | bool]:
        return {
            "agentDescTokens": self.agent_desc_tokens,
            "contextTokens": self.context_tokens,
            "checkpointTokens": self.checkpoint_tokens,
            "messagesTokens": self.messages_tokens,
            "userPromptTokens": self.user_prompt_tokens,
            "total": self.total,
            "limit": self.limit,
            "needsCompaction": self.needs_compaction,
        }
