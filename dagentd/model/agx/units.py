"""Durations (`30d`, `4h 23m`) and sizes (`100MB`), read and written as AGX does."""

from __future__ import annotations

import re
from decimal import Decimal

_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WRITTEN = ("d", "h", "m", "s")
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([wdhms])", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern}\s*)+", re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)(i?)B", re.ASCII | re.IGNORECASE)
_POWERS = "KMGT"


def seconds(text: object) -> int | None:
    """How long a duration is; None for what is none."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text.strip()):
        return None
    return int(sum(Decimal(number) * _SECONDS[unit] for number, unit in _PART.findall(text)))


def duration(count: float) -> str:
    """Every unit that is not zero: a total that is added to must not lose its minutes."""
    rest, parts = max(0, int(count)), []
    for unit in _WRITTEN:
        number, rest = divmod(rest, _SECONDS[unit])
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"


def rounded(count: float) -> str:
    """For an average: whole minutes, if there is one."""
    return duration(round(count / 60) * 60 if count >= 60 else round(count))


def size_in_bytes(text: object) -> int | None:
    """`100MB` is in powers of 1000, `100MiB` in powers of 1024; None for what is no size."""
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or (match[3] and not match[2]):
        return None
    power = _POWERS.index(match[2].upper()) + 1 if match[2] else 0
    return int(Decimal(match[1]) * (1024 if match[3] else 1000) ** power)


def size(count: int) -> str:
    """`812B`, `2.4MB`, `100MB`."""
    value, unit = Decimal(max(0, count)), ""
    for power in _POWERS:
        if value < Decimal("999.95"):
            break
        value, unit = value / 1000, power
    return f"{value:.1f}".removesuffix(".0") + f"{unit}B"
