"""The life of a session: states with their history and reasons, and what they tell of how it was used."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from dagentd.model.agx import Raw, changed, moment, section, stamp, units

STATES = ("created", "active", "paused", "completed", "archived")
_HISTORY = 200  # entries that are kept: the first says how it began, the others are the last
_DAYS = 90  # whose active time is kept


def state_of(raw: Raw) -> str:
    held = section(raw, "lifecycle").get("state")
    return held if isinstance(held, str) else "created"


def moved(raw: Raw, state: str, reason: str, now: datetime, *, count: bool = True) -> Raw:
    """The session in another state; the same document if it is in it already. `count` is whether statistics are
    wanted: a stretch of work that ends here is added to them."""
    if state_of(raw) == state:
        return raw
    ended = _stretch(raw, now) if count else None
    history = [*_history(raw), {"state": state, "timestamp": stamp(now), "reason": reason}]
    if len(history) > _HISTORY:
        history = [history[0], *history[1 - _HISTORY :]]
    raw = changed(raw, "lifecycle", state=state, stateHistory=history)
    return _counted(raw, *ended) if ended else raw


def since(raw: Raw) -> datetime | None:
    """When it came into the state it is in."""
    history = _history(raw)
    last = history[-1] if history else {}
    return moment(last.get("timestamp")) if last.get("state") == state_of(raw) else None


def last_used(raw: Raw) -> datetime | None:
    """The latest of all that tells of use."""
    told = (
        raw.get("lastAccessed"),
        raw.get("created"),
        section(raw, "tmux").get("lastAttached"),
        section(raw, "claude").get("lastInteraction"),
    )
    return max((found for each in told if (found := moment(each))), default=None)


def _history(raw: Raw) -> list[Raw]:
    held = section(raw, "lifecycle").get("stateHistory")
    return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else []


def _stretch(raw: Raw, now: datetime) -> tuple[datetime, datetime] | None:
    """The time of work that ends now, if one was under way."""
    begun = since(raw)
    return (begun, max(begun, now)) if state_of(raw) == "active" and begun is not None else None


def _counted(raw: Raw, begin: datetime, end: datetime) -> Raw:
    held = section(raw, "statistics")
    length = (end - begin).total_seconds()
    number = _number(held.get("sessionCount")) + 1
    total = (units.seconds(held.get("totalDuration")) or 0) + length
    days = _days(held)
    days.update(_by_day(begin, end))
    kept = dict(sorted(days.items())[-_DAYS:])
    return changed(
        raw,
        "statistics",
        sessionCount=number,
        totalDuration=units.duration(total),
        averageSessionLength=units.rounded(total / number),
        lastSessionDuration=units.duration(length),
        mostActiveDay=max(days, key=lambda day: (days[day], day), default=None),
        activeByDay={day: units.duration(spent) for day, spent in kept.items()},
    )


def _days(held: Raw) -> Counter[str]:
    """Seconds of work of each day. Another program's most active day comes without its time: a session of the usual
    length was at least spent on it."""
    known = held.get("activeByDay")
    days = Counter({day: units.seconds(text) or 0 for day, text in known.items()} if isinstance(known, dict) else {})
    best = held.get("mostActiveDay")
    if isinstance(best, str) and best not in days:
        days[best] = max(units.seconds(held.get("averageSessionLength")) or 0, *days.values(), 0)
    return days


def _by_day(begin: datetime, end: datetime) -> Counter[str]:
    """The last days of a stretch, for as many as are kept."""
    begin = max(begin.astimezone(UTC), end.astimezone(UTC) - timedelta(days=_DAYS))
    days: Counter[str] = Counter()
    while begin < end:
        midnight = (begin + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        days[begin.date().isoformat()] += int((min(midnight, end) - begin).total_seconds())
        begin = midnight
    return days


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
