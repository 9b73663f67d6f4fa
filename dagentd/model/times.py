"""Timestamps: ISO 8601 UTC with milliseconds and Z."""

from __future__ import annotations

from datetime import UTC, datetime

NEVER = datetime.min.replace(tzinfo=UTC)


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def of_seconds(since_1970: float) -> str:
    return iso(datetime.fromtimestamp(since_1970, UTC))


def parse(text: object) -> datetime | None:
    """The moment, or None for what is no timestamp. Without a zone it is UTC."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def later(one: object, other: object) -> bool:
    """Whether timestamp `one` is after `other`; an unreadable one is never later."""
    first, second = parse(one), parse(other)
    return first is not None and (second is None or first > second)
