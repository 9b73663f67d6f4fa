"""The times in legacy files: Unix seconds and milliseconds, ISO 8601 with and without a zone, and nonsense."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from dagentd.model import times

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNKNOWN = times.iso(_EPOCH)  # where a file knows no time at all: never that of the migration, which would differ

# 1e11 seconds are in the year 5138, 1e11 milliseconds in 1973.
_SECONDS_BELOW = 1e11

_ZONED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_DIGITS = re.compile(r"\d{10,16}", re.ASCII)  # eight would be a date


def verbatim(value: object) -> str | None:
    """As it is if it is ISO with a zone, else in canonical form; None for what is no time."""
    if isinstance(value, str) and _ZONED.fullmatch(value) and times.parse(value):
        return value
    return canonical(value)


def canonical(value: object) -> str | None:
    """ISO 8601 UTC with milliseconds and Z; None for what is no time."""
    if isinstance(value, str):
        if _DIGITS.fullmatch(value):
            return _from_number(int(value))
        return _iso(times.parse(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_number(value: float) -> str | None:
    try:
        since = timedelta(seconds=value) if abs(value) < _SECONDS_BELOW else timedelta(milliseconds=value)
        return times.iso(_EPOCH + since)
    except (OverflowError, ValueError):  # infinite, not a number, or past the year 9999
        return None


def _iso(moment: datetime | None) -> str | None:
    try:
        return times.iso(moment) if moment else None
    except OverflowError:  # in UTC it is not in the years 1 to 9999
        return None
