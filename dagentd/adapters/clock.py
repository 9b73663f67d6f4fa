"""Time, at one edge: tests put another clock here."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from dagentd.model import times


def now() -> datetime:
    return datetime.now(UTC)


def stamp() -> str:
    return times.iso(now())


def monotonic() -> float:
    return time.monotonic()
