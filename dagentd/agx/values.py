"""Values of AGX's documents: plain objects that keep what we do not know, times, durations and sizes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from dagentd.model import times

# The vocabulary of AGX: its documents as plain objects that keep what we do not know, and what may be done to them.

Raw = dict[str, Any]


def stamp(moment: datetime) -> str:
    """AGX writes whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: object) -> datetime | None:
    """None for what is no time, and for one that no calendar of ours has in UTC."""
    found = times.parse(text)
    try:
        return None if found is None else found.astimezone(UTC)
    except OverflowError:
        return None


def section_of(raw: Raw, *names: str) -> Raw:
    """A part of a document; an empty one where it is not there or is something else."""
    for name in names:
        found = raw.get(name)
        raw = found if isinstance(found, dict) else {}
    return raw


def changed(raw: Raw, *names: str, **fields: Any) -> Raw:
    """The document with fields of one of its parts set. The order of what is there stays; what is new comes last."""
    if not names:
        return {**raw, **fields}
    held = raw.get(names[0])
    return {**raw, names[0]: changed(held if isinstance(held, dict) else {}, *names[1:], **fields)}


def overlaid(held: Raw, over: Raw) -> Raw:
    """Lay what we know over what was there; what we do not know stays."""
    result = {**held, **over}
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(held.get(key), dict):
            result[key] = overlaid(held[key], value)
    return result


# Durations (`30d`, `4h 23m`) and sizes (`100MB`), read and written as AGX does.

_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WRITTEN = ("d", "h", "m", "s")
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([wdhms])", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern}\s*)+", re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)(i?)B", re.ASCII | re.IGNORECASE)
_POWERS = "KMGT"


def duration_seconds(text: object) -> int | None:
    """How long a duration is; None for what is none."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text.strip()):
        return None
    return int(sum(Decimal(number) * _SECONDS[unit] for number, unit in _PART.findall(text)))


def format_duration(count: float) -> str:
    """Every unit that is not zero: a total that is added to must not lose its minutes."""
    rest, parts = max(0, int(count)), []
    for unit in _WRITTEN:
        number, rest = divmod(rest, _SECONDS[unit])
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"


def rounded(count: float) -> str:
    """For an average: whole minutes, if there is one."""
    return format_duration(round(count / 60) * 60 if count >= 60 else round(count))


def size_in_bytes(text: object) -> int | None:
    """`100MB` is in powers of 1000, `100MiB` in powers of 1024; None for what is no size."""
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or (match[3] and not match[2]):
        return None
    power = _POWERS.index(match[2].upper()) + 1 if match[2] else 0
    return int(Decimal(match[1]) * (1024 if match[3] else 1000) ** power)


def format_size(count: int) -> str:
    """`812B`, `2.4MB`, `100MB`."""
    value, unit = Decimal(max(0, count)), ""
    for power in _POWERS:
        if value < Decimal("999.95"):
            break
        value, unit = value / 1000, power
    return f"{value:.1f}".removesuffix(".0") + f"{unit}B"
