"""Asking a model once: what is asked, what it answers, and in how many ways that fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "auth", "cut", "dead", "garbled", "lost", "model", "other", "overloaded", "rate", "refused", "server", "slow",
    "stopped", "too long",
]  # fmt: skip


@dataclass(frozen=True)
class Question:
    """`stable` stands before `prompt` and is the same in questions to come, so that it may be cached; `seconds` is all
    the time there is."""

    model: str
    system: str
    prompt: str
    seconds: float
    stable: str = ""


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
