"""How long a session was worked in: the time from one sign of use to the next, counted when the next one comes. Where
none came for long nobody was there, so a night or a weekend for which a session stays open counts nothing."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from dagentd.model.agx import Raw, changed, lifecycle, section, units

_IDLE = timedelta(hours=2)  # an editor gives no sign and a commit does; what is longer is a night or a weekend
_DAYS = 90  # whose active time is kept
_NONE = timedelta(0)


def counted(before: Raw, after: Raw) -> Raw:
    """`after` with what its change tells of use. What another program did was counted by that one."""
    was, now = (lifecycle.state_of(raw) == "active" for raw in (before, after))
    begin, end = lifecycle.last_used(before), lifecycle.last_used(after)
    gap = end - begin if begin is not None and end is not None else _NONE
    if now and not (was and gap <= _IDLE):
        return _begun(after)
    if was and begin is not None and end is not None and _NONE < gap <= _IDLE:
        return _worked(after, begin, end)
    return after


def _begun(raw: Raw) -> Raw:
    held = section(raw, "statistics")
    number, total = _number(held.get("sessionCount")) + 1, units.seconds(held.get("totalDuration")) or 0
    fields = {"sessionCount": number, "averageSessionLength": _average(total, number)}
    return changed(raw, "statistics", **fields, lastSessionDuration="0s")


def _worked(raw: Raw, begin: datetime, end: datetime) -> Raw:
    held, spent = section(raw, "statistics"), int((end - begin).total_seconds())
    number = max(_number(held.get("sessionCount")), 1)
    total = (units.seconds(held.get("totalDuration")) or 0) + spent
    days = _days(held)
    days.update(_by_day(begin, end))
    return changed(
        raw,
        "statistics",
        sessionCount=number,
        totalDuration=units.duration(total),
        averageSessionLength=_average(total, number),
        lastSessionDuration=units.duration((units.seconds(held.get("lastSessionDuration")) or 0) + spent),
        mostActiveDay=max(days, key=lambda day: (days[day], day), default=None),
        activeByDay={day: units.duration(time) for day, time in sorted(days.items())[-_DAYS:]},
    )


def _average(total: int, number: int) -> str:
    return units.rounded(total / number) if number > 1 else units.duration(total)


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
    begin, end = begin.astimezone(UTC), end.astimezone(UTC)
    midnight = end.replace(hour=0, minute=0, second=0, microsecond=0)
    days = Counter({end.date().isoformat(): int((end - max(begin, midnight)).total_seconds())})
    if begin < midnight:
        days[begin.date().isoformat()] += int((midnight - begin).total_seconds())
    return days


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
