"""The life of a session: its states with their history, when it was last used, and how long it was worked in."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from dagentd.agx import values
from dagentd.agx.values import Raw, changed, moment, section_of, stamp
from dagentd.model.ids import AgxState

STATES: tuple[str, ...] = get_args(AgxState)
_HISTORY = 200  # entries that are kept: the first says how it began, the others are the last


def state_of(raw: Raw) -> str:
    held = section_of(raw, "lifecycle").get("state")
    return held if isinstance(held, str) else "created"


def moved(raw: Raw, state: str, reason: str, now: datetime) -> Raw:
    """The session in another state; the same document if it is in it already."""
    if state_of(raw) == state:
        return raw
    history = [*_history(raw), {"state": state, "timestamp": stamp(now), "reason": reason}]
    if len(history) > _HISTORY:
        history = [history[0], *history[1 - _HISTORY :]]
    return changed(raw, "lifecycle", state=state, stateHistory=history)


def reason(raw: Raw) -> str | None:
    """Why it is in the state it is in."""
    history = _history(raw)
    return str(history[-1].get("reason")) if history else None


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
        section_of(raw, "tmux").get("lastAttached"),
        section_of(raw, "claude").get("lastInteraction"),
    )
    return max((found for each in told if (found := moment(each))), default=None)


def _history(raw: Raw) -> list[Raw]:
    held = section_of(raw, "lifecycle").get("stateHistory")
    return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else []


# How long a session was worked in: the time from one sign of use to the next, counted when the next one comes. Where
# none came for long nobody was there, so a night or a weekend for which a session stays open counts nothing.

_IDLE = timedelta(hours=2)  # an editor gives no sign and a commit does; what is longer is a night or a weekend
_DAYS = 90  # whose active time is kept
_NONE = timedelta(0)


def count_activity(before: Raw, after: Raw) -> Raw:
    """`after` with what its change tells of use. What another program did was counted by that one."""
    was, now = (state_of(raw) == "active" for raw in (before, after))
    begin, end = last_used(before), last_used(after)
    gap = end - begin if begin is not None and end is not None else _NONE
    if now and not (was and gap <= _IDLE):
        return _begun(after)
    if was and begin is not None and end is not None and _NONE < gap <= _IDLE:
        return _worked(after, begin, end)
    return after


def _begun(raw: Raw) -> Raw:
    held = section_of(raw, "statistics")
    number, total = _number(held.get("sessionCount")) + 1, values.duration_seconds(held.get("totalDuration")) or 0
    fields = {"sessionCount": number, "averageSessionLength": _average(total, number)}
    return changed(raw, "statistics", **fields, lastSessionDuration="0s")


def _worked(raw: Raw, begin: datetime, end: datetime) -> Raw:
    held, spent = section_of(raw, "statistics"), int((end - begin).total_seconds())
    number = max(_number(held.get("sessionCount")), 1)
    total = (values.duration_seconds(held.get("totalDuration")) or 0) + spent
    days = _days(held)
    days.update(_by_day(begin, end))
    return changed(
        raw,
        "statistics",
        sessionCount=number,
        totalDuration=values.format_duration(total),
        averageSessionLength=_average(total, number),
        lastSessionDuration=values.format_duration(
            (values.duration_seconds(held.get("lastSessionDuration")) or 0) + spent
        ),
        mostActiveDay=max(days, key=lambda day: (days[day], day), default=None),
        activeByDay={day: values.format_duration(time) for day, time in sorted(days.items())[-_DAYS:]},
    )


def _average(total: int, number: int) -> str:
    return values.rounded(total / number) if number > 1 else values.format_duration(total)


def _days(held: Raw) -> Counter[str]:
    """Seconds of work of each day. Another program's most active day comes without its time: a session of the usual
    length was at least spent on it."""
    known = held.get("activeByDay")
    days = Counter(
        {day: values.duration_seconds(text) or 0 for day, text in known.items()} if isinstance(known, dict) else {}
    )
    best = held.get("mostActiveDay")
    if isinstance(best, str) and best not in days:
        days[best] = max(values.duration_seconds(held.get("averageSessionLength")) or 0, *days.values(), 0)
    return days


def _by_day(begin: datetime, end: datetime) -> Counter[str]:
    begin, end = begin.astimezone(UTC), end.astimezone(UTC)
    midnight = end.replace(hour=0, minute=0, second=0, microsecond=0)
    days = Counter({end.date().isoformat(): int((end - max(begin, midnight)).total_seconds())})
    if begin < midnight:
        days[begin.date().isoformat()] += int((midnight - begin).total_seconds())
    return days


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
