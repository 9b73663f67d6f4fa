"""When calls were made, by a clock that nobody sets: neither a jump ahead nor one back frees a cap or bars a model."""

from __future__ import annotations

from typing import Any

from dagentd.adapters import clock
from dagentd.model import times


class LedgerTime:
    """Seconds as those since 1970, but within one run of the machine they only pass. Of calls before that run only the
    wall clock of then is known."""

    def __init__(self) -> None:
        self._begun = clock.now().timestamp() - clock.uptime()

    def now(self) -> float:
        return self._begun + clock.uptime()

    def stamp(self) -> dict[str, Any]:
        """The fields of a record that `of` reads."""
        return {"at": clock.stamp(), "boot": clock.boot(), "uptime": round(clock.uptime(), 3)}

    def of(self, record: dict[str, Any]) -> float:
        uptime, at = record.get("uptime"), times.parse(record.get("at"))
        if record.get("boot") == clock.boot() and isinstance(uptime, int | float):
            return self._begun + uptime
        return at.timestamp() if at else 0.0
