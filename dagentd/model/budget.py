"""How full a request is: its parts in tokens against the limit, and when it must be compacted."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic.alias_generators import to_camel

WARNINGS = (0.75, 0.85, 0.90)  # the shares of the limit at which the user is told
_WORTH = 0.05  # the share of the limit that messages must have for compacting them to be worth it
_STEP = 0.05  # above the limit, the share after which to look again


@dataclass(frozen=True)
class Parts:
    """The sizes of the parts of a request, in tokens of the model: counted, or upper bounds."""

    agent_description: int = 0
    context: int = 0
    checkpoint: int = 0
    messages: int = 0
    user_prompt: int = 0

    @property
    def total(self) -> int:
        return self.agent_description + self.context + self.checkpoint + self.messages + self.user_prompt

    @property
    def fixed(self) -> Parts:
        """The parts that compaction cannot shrink."""
        return replace(self, checkpoint=0, messages=0)

    def listed(self) -> list[dict[str, Any]]:
        """Those that there are, as others are told of them, the biggest first."""
        return [{"part": to_camel(name), "tokens": size} for name, size in self.by_size() if size]

    def by_size(self) -> list[tuple[str, int]]:
        """Names and sizes, the biggest first."""
        return sorted(asdict(self).items(), key=lambda part: -part[1])


@dataclass(frozen=True)
class Budget:
    """`threshold` and `target` are shares of `limit`; `prompt_buffer` is kept free for the prompt to come."""

    limit: int
    threshold: float
    target: float
    prompt_buffer: int

    def load(self, parts: Parts) -> int:
        """The parts and the buffer, which the prompt uses once it is there."""
        return parts.total + max(0, self.prompt_buffer - parts.user_prompt)

    def share(self, parts: Parts) -> float:
        return self.load(parts) / self.limit

    def needs_compaction(self, parts: Parts) -> bool:
        return self.share(parts) > self.threshold

    def beyond_compaction(self, parts: Parts) -> bool:
        """The parts that stay are over the threshold by themselves: a call would cost and not help."""
        return self.needs_compaction(parts.fixed)

    def exact_matters(self, bounds: Parts) -> bool:
        """Whether counting could change what is done: not if even the upper bounds stay below the first warning."""
        return self.share(bounds) > min(self.threshold, *WARNINGS)


@dataclass(frozen=True)
class Full:
    """How full a session is, and what that asks for."""

    parts: Parts
    load: int
    limit: int
    level: float  # the highest of `WARNINGS` that is reached, 0 if none is
    to_next_level: int  # tokens
    due: bool  # it is to be compacted
    beyond: bool  # it would have to be, and that would not help

    @property
    def share(self) -> float:
        return self.load / self.limit


def fullness(budget: Budget, parts: Parts, *, undone: bool) -> Full:
    """Who undid a compaction wants the messages back: the next one by itself waits until the limit itself is reached.
    Where nearly all is made of parts that stay, compacting would come again with every message and not help."""
    load, share = budget.load(parts), budget.share(parts)
    over = share > (1.0 if undone else budget.threshold)
    level = max((each for each in WARNINGS if share >= each), default=0.0)
    steps = sorted({*WARNINGS, budget.threshold, 1.0})
    following = next((step for step in steps if step > share), share + _STEP)
    beyond = over and (budget.beyond_compaction(parts) or parts.messages < _WORTH * budget.limit)
    room = math.ceil(following * budget.limit) - load
    return Full(parts, load, budget.limit, level, room, over and not beyond, beyond)
