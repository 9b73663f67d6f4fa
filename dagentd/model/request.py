"""A request to a model: composed from a session's documents, and what each part of it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dagentd.model import budget as budgets
from dagentd.model import conversation, sections
from dagentd.model.budget import Budget
from dagentd.model.conversation import Said, Turn
from dagentd.model.documents import AgentDescription, Checkpoint, Context
from dagentd.model.jsontext import escaped

_BETWEEN = "\n\n"


@dataclass(frozen=True)
class Parts:
    agent: AgentDescription
    context: Context | None
    checkpoint: Checkpoint | None
    shared_checkpoint: Checkpoint | None  # the task's dev checkpoint, for a qa or merge session
    messages: list[Said]  # in chat order, those that a request may have


@dataclass(frozen=True)
class Request:
    """Each part as it stands in the prompt; an absent one is empty."""

    agent: str
    context: str
    checkpoint: str
    shown: Sequence[Said]
    user_prompt: str

    @property
    def messages(self) -> list[Turn]:
        return conversation.turns(self.shown, self.user_prompt)

    @property
    def preamble(self) -> str:
        """The system prompt for a tool that sends `messages`: with the system messages, which those leave out, and
        without the conversation, which `system_prompt` holds as a whole."""
        return self._head(conversation.notices(self.shown))

    @property
    def system_prompt(self) -> str:
        return self._head(conversation.transcript(self.shown))

    def _head(self, *then: str) -> str:
        return _BETWEEN.join(filter(None, (self.agent, self.context, self.checkpoint, *then)))

    @property
    def messages_json(self) -> str:
        return conversation.turns_json(self.shown, self.user_prompt)

    @property
    def system_prompt_json(self) -> str:
        """Of the conversation nothing is escaped again."""
        head, then = escaped(self._head()), conversation.transcript_json(self.shown)
        return f'"{escaped(_BETWEEN).join(filter(None, (head, then)))}"'


def compose(parts: Parts, user_message: str, recent_messages: int = 0) -> Request:
    own = sections.checkpoint(parts.checkpoint)
    shared = sections.checkpoint(parts.shared_checkpoint, of="dev")
    return Request(
        agent=sections.agent(parts.agent),
        context=sections.context(parts.context),
        checkpoint="\n\n".join(filter(None, (own, shared))),
        shown=conversation.recent(parts.messages, user_message, recent_messages),
        user_prompt=user_message,
    )


@dataclass(frozen=True)
class Breakdown:
    parts: budgets.Parts
    limit: int
    needs_compaction: bool

    @classmethod
    def of(
        cls, request: Request, count: Callable[[str], int], *, factor: float, chat_tokens: int, budget: Budget
    ) -> Breakdown:
        """`count` is multiplied by `factor`. `chat_tokens` is the size of all that is in chat, with the internal
        messages that no request shows and that compaction can free."""
        agent, context, checkpoint, prompt = (
            math.ceil(factor * count(text))
            for text in (request.agent, request.context, request.checkpoint, request.user_prompt)
        )
        messages = math.ceil(factor * conversation.transcript_tokens(request.shown, count))
        due = budget.needs_compaction(budgets.Parts(agent, context, checkpoint, chat_tokens))
        return cls(budgets.Parts(agent, context, checkpoint, messages, prompt), budget.limit, due)

    @property
    def total(self) -> int:
        return self.parts.total

    @property
    def over_limit(self) -> bool:
        """The whole request is to be below the limit, whatever makes it large."""
        return self.total >= self.limit

    def raw(self) -> dict[str, int | bool]:
        return {
            "agentDescTokens": self.parts.agent_description,
            "contextTokens": self.parts.context,
            "checkpointTokens": self.parts.checkpoint,
            "messagesTokens": self.parts.messages,
            "userPromptTokens": self.parts.user_prompt,
            "total": self.total,
            "limit": self.limit,
            "needsCompaction": self.needs_compaction,
        }
