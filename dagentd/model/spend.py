"""The cost of calls of a model, and when the next one may be made: caps, backoff and breaker, from the calls before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HOUR, DAY = 3600.0, 86400.0

_BREAKER = 3  # failures in a row of one model, after which only one call an hour is made to see
_FIRST_PAUSE = 30.0  # seconds after a failure, doubled with each in a row
_LONGEST_PAUSE = 6 * HOUR  # also where the API asks for a month
_CHEAP_PROMPT = 100_000  # tokens up to which the price below holds; above it is five times that
_PRICES = {  # dollars for a million tokens, in and out
    "claude-haiku-5-5": (0.10, 0.50, 5),
    "claude-haiku-4-5": (1.00, 5.00, 1),
}


@dataclass(frozen=True)
class Call:
    """One call as the ledger has it. `tokens` are those that the API reported, or until then those that it may cost;
    `failed` is None while it runs, or if nobody learned how it ended."""

    at: float  # seconds since 1970
    model: str
    tokens: int
    cost: float = 0.0
    failed: bool | None = None
    why: str = ""  # it failed, in a word
    retry_after: float | None = None


@dataclass(frozen=True)
class Caps:
    calls_per_hour: int
    tokens_per_day: int


@dataclass(frozen=True)
class Spend:
    calls: int
    tokens: int
    cost: float


def cost(model: str, given: int, answered: int) -> float | None:
    """In dollars; None for a model whose price nobody told us."""
    found = next((prices for name, prices in _PRICES.items() if model.startswith(name)), None)
    if found is None:
        return None
    into, out, above = found
    return (into * given + out * answered) / 1e6 * (above if given > _CHEAP_PROMPT else 1)


def spent(calls: Iterable[Call], now: float, within: float = DAY) -> Spend:
    """A call of the future is one whose clock was ahead: it counts."""
    recent = [call for call in calls if call.at > now - within]
    return Spend(len(recent), sum(call.tokens for call in recent), sum(call.cost for call in recent))


def refusal(
    calls: Sequence[Call], now: float, model: str, wanted: int, caps: Caps, *, forced: bool = False
) -> str | None:
    """Why no call may be made now; None if it may. Who asks for it by name passes backoff and breaker, never the
    caps."""
    if spent(calls, now, HOUR).calls >= caps.calls_per_hour:
        return f"{caps.calls_per_hour} calls were made in the last hour (compaction.max_calls_per_hour)"
    if spent(calls, now).tokens + wanted > caps.tokens_per_day:
        return f"{caps.tokens_per_day} tokens a day would be exceeded (compaction.max_tokens_per_day)"
    if forced or now >= (due := again_at(calls, model)):
        return None
    return f"{model} failed before and is tried again in {_in_words(due - now)}"


def again_at(calls: Sequence[Call], model: str) -> float:
    """When a model may be called again after its last calls failed."""
    failed: list[Call] = []
    for call in reversed([call for call in calls if call.model == model and call.failed is not None]):
        if not call.failed:
            break
        failed.append(call)
    if not failed:
        return 0.0
    pause = HOUR if len(failed) >= _BREAKER else _FIRST_PAUSE * 2 ** (len(failed) - 1)
    return failed[0].at + min(max(pause, failed[0].retry_after or 0.0), _LONGEST_PAUSE)


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
