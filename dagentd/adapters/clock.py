"""Time, at one edge: tests put another clock here."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def now() -> datetime:
    return datetime.now(UTC)


def stamp() -> str:
    """As `times.iso` has any moment; this one is in UTC."""
    return now().isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def monotonic() -> float:
    return time.monotonic()


def uptime() -> float:
    """Seconds since the machine was started, also those that it slept: nobody can set them."""
    return time.clock_gettime(_UPTIME)


@cache
def boot() -> str:
    """Which start of the machine that is; where the system does not say, this process stands for it."""
    try:
        return _BOOT.read_text().strip()[:8]
    except OSError:
        return uuid.uuid4().hex[:8]
