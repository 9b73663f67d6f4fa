"""Asking a model once: what is asked, what it answers, and in how many ways that fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "auth",
    "cut",
    "dead",
    "garbled",
    "lost",
    "model",
    "other",
    "overloaded",
    "rate",
    "refused",
    "server",
    "slow",
    "stopped",
    "too long",
]


@dataclass(frozen=True)
class Question:
    """`schema` is the JSON schema of the answer; `seconds` is all the time there is."""

    model: str
    system: str
    prompts: tuple[str, ...]  # the user's and the assistant's in turn, the user's first and last
    schema: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Answer:
    """`given` and `answered` are tokens as the API reports them; `cost` only where somebody else computed it."""

    text: str
    given: int = 0
    answered: int = 0
    cost: float | None = None


class CallFailed(Exception):
    """No answer that could be used: "dead" was never asked, "lost" may have answered.

    What it used all the same is in `given` and `answered`."""

    def __init__(
        self, kind: Kind, message: str, *, retry_after: float | None = None, given: int = 0, answered: int = 0
    ) -> None:
        super().__init__(message)
        self.kind, self.retry_after, self.given, self.answered = kind, retry_after, given, answered
