"""The usage of conversations: tokens and the agents' own dollars, each answer counted once, by day, model, worktree,
session or agent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Literal, get_args

from dagentd.agents.conversation import Usage
from dagentd.model import times

By = Literal["day", "model", "worktree", "session", "agent"]
BY: tuple[By, ...] = get_args(By)
_NUMBERS = ("input", "output", "cache_read", "cache_write", "reasoning")


@dataclass(frozen=True, slots=True)
class Use:
    """An answer, and whose it was. `session` is our id of the conversation."""

    usage: Usage
    agent: str
    session: str
    worktree: str


@dataclass(frozen=True, slots=True)
class Row:
    """A day, a model, … and what it took. `name` is empty where no line said it. `cost` is None where no agent said
    one: nothing is estimated."""

    name: str
    answers: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def plus(self, usage: Usage | Row) -> Row:
        numbers = {name: getattr(self, name) + getattr(usage, name) for name in _NUMBERS}
        answers = usage.answers if isinstance(usage, Row) else int(any(getattr(usage, name) for name in _NUMBERS))
        cost = self.cost if usage.cost is None else usage.cost + (self.cost or 0.0)
        return replace(self, answers=self.answers + answers, cost=cost, **numbers)

    def document(self) -> dict[str, Any]:
        tokens = {"input": self.input, "output": self.output, "cacheRead": self.cache_read}
        tokens |= {"cacheWrite": self.cache_write, "reasoning": self.reasoning}
        return {"name": self.name, "answers": self.answers, **tokens, "cost": self.cost}


def report(uses: Iterable[Use], by: By, zone: tzinfo) -> list[Row]:
    """Days in their order; all else by size, the largest first."""
    rows: dict[str, Row] = {}
    for use in once(uses):
        name = _name(use, by, zone)
        rows[name] = rows.get(name, Row(name)).plus(use.usage)
    if by == "day":
        return sorted(rows.values(), key=lambda row: row.name)
    return sorted(rows.values(), key=lambda row: (-row.tokens, row.name))


def total(rows: Iterable[Row]) -> Row:
    whole = Row("total")
    for row in rows:
        whole = whole.plus(row)
    return whole


def once(uses: Iterable[Use]) -> list[Use]:
    """Each answer once, where it was first seen: a fork has those of its origin, and an answer of several lines is told
    with each of them, at first with fewer tokens."""
    found: dict[str, Use] = {}
    for use in uses:
        first = found.get(use.usage.key)
        found[use.usage.key] = use if first is None else replace(first, usage=_larger(first.usage, use.usage))
    return list(found.values())


def _larger(one: Usage, other: Usage) -> Usage:
    """A cost is not made larger: a fork's says again what its origin had spent."""
    return replace(one, **{name: max(getattr(one, name), getattr(other, name)) for name in _NUMBERS})


def _name(use: Use, by: By, zone: tzinfo) -> str:
    if by == "day":
        moment = times.parse(use.usage.at)
        return moment.astimezone(zone).date().isoformat() if moment else ""
    return {"model": use.usage.model, "worktree": use.worktree, "session": use.session, "agent": use.agent}[by]
