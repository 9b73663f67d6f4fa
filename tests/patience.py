"""How long tests wait for what must happen. Nobody measures here how long it takes, so a limit only says that
something hangs, and it grows with the load of the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

_SECONDS = 60.0


def stretch() -> float:
    """How many processes share a processor, now or in the last minute."""
    running = float(os.getloadavg()[0])
    if os.path.exists("/proc/loadavg"):
        with open("/proc/loadavg") as file:
            running = max(running, float(file.read().split()[3].split("/")[0]))
    return max(1.0, running / (os.cpu_count() or 1))


def patience(seconds: float = _SECONDS) -> float:
    return seconds * stretch()


def until(condition: Callable[[], Any], what: str = "it", seconds: float = _SECONDS) -> Any:
    """What the condition gives once it is true; an error if that takes too long."""
    start = time.monotonic()
    while not (found := condition()):
        waited = time.monotonic() - start
        assert waited < seconds or waited < patience(seconds), f"{what} did not happen within {waited:.0f} s"
        time.sleep(0.01)
    return found
