"""The ledger: every call of a model and every compaction, and what was learned from them about token counts."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import DagentdError, LimitReached
from dagentd.model import times
from dagentd.model.calibration import Calibration
from dagentd.model.spend import DAY, Call, Caps, Spend, again_at, refusal, spent
from dagentd.store.ledger_file import LedgerFile, Record

_log = logging.getLogger(__name__)


class Ledger:
    """Safe for several threads, and for a command beside the daemon. Without a path it lives as long as the process."""

    def __init__(self, path: Path | None) -> None:
        self._file = LedgerFile(path)
        self._in_memory = path is None
        self._time = _Time()
        self._lock = threading.RLock()
        self._unreadable = ""  # why, as it was told last
        self._forget()

    def _forget(self) -> None:
        self._calls: dict[str, Call] = {}
        self._learned = Calibration()
        self._compactions: list[Record] = []

    # --- entering -----------------------------------------------------------------------------------------

    def begin(self, about: Record, model: str, wanted: int, caps: Caps, *, forced: bool) -> str:
        """Enter a call that may cost `wanted` tokens before it is made: after a crash it counts in full. LimitReached
        if it may not be made."""
        with self._alone() as add:
            calls = self._known_calls()
            if why := refusal(calls, self._time.now(), model, wanted, caps, forced=forced):
                raise LimitReached(why, hint="`dagentd status` shows what was spent.")
            name = uuid.uuid4().hex[:12]
            add({"t": "call", "id": name, **self._time.stamp(), **about, "model": model, "wanted": wanted})
        return name

    def end(
        self, name: str, outcome: str, *, failed: bool, given: int = 0, answered: int = 0, cost: float | None = None,
        counted: int = 0, retry_after: float | None = None,
    ) -> None:  # fmt: skip
        """How it ended. `counted` is our own count of what was `given`, from which the calibration learns."""
        told = {"input": given, "output": answered, "cost": cost, "counted": counted, "retryAfter": retry_after}
        known = {key: value for key, value in told.items() if value}
        with self._alone() as add:
            add({"t": "end", "id": name, "at": clock.stamp(), "outcome": outcome, "failed": failed, **known})

    def compacted(self, about: Record) -> None:
        """A compaction: method, model, tokens before and after, outcome. It has happened, also if this fails."""
        try:
            with self._alone() as add:
                add({"t": "compaction", "at": clock.stamp(), **about})
        except DagentdError as error:
            _log.warning("%s", error)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Callable[[Record], None]]:
        """Who waits here for another process lets all others ask meanwhile."""
        with self._file.alone() as add, self._lock:
            self._catch_up()
            yield self._take if self._in_memory else add
            self._catch_up()
            self._file.begin_anew(self._worth_keeping)

    def _worth_keeping(self, records: list[Record]) -> tuple[list[Record], list[Record]]:
        """What was learned and the calls that still count must stay; compactions may."""
        since = self._time.now() - DAY
        recent = {name for name, call in self._calls.items() if call.at > since}
        calls = [each for each in records if each.get("t") in ("call", "end") and each.get("id") in recent]
        learned = {"t": "learned", "at": clock.stamp(), "factors": self._learned.dump()}
        still = ({key: value for key, value in each.items() if key != "counted"} for each in calls)
        return [learned, *still], [each for each in records if each.get("t") == "compaction"]

    # --- asking -------------------------------------------------------------------------------------------

    def spend(self) -> Spend:
        """Of the last day."""
        return spent(self.calls(), self._time.now())

    def rests(self, model: str) -> str | None:
        """What it failed of last, for as long as that bars it."""
        calls = self.calls()
        last = [call for call in calls if call.model == model and call.failed is not None][-1:]
        return last[0].why if last and again_at(calls, model) > self._time.now() else None

    def calls(self) -> list[Call]:
        with self._lock:
            self._look()
            return self._known_calls()

    def _known_calls(self) -> list[Call]:
        """One of the future was made while the clock was ahead: it counts from now on, and not until then."""
        now = self._time.now()
        for name, call in self._calls.items():
            if call.at > now:
                self._calls[name] = replace(call, at=now)
        return list(self._calls.values())

    def of_session(self, project: str, session_id: str) -> list[Record]:
        with self._lock:
            self._look()
            wanted = (project, session_id)
            return [each for each in self._compactions if (each.get("project"), each.get("session")) == wanted]

    def calibration(self) -> Calibration:
        with self._lock:
            self._look()
            return self._learned

    # --- reading ------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Who only asks goes on with what is known: without the file no call is made, but sessions are served."""
        try:
            self._catch_up()
            self._unreadable = ""
        except (DagentdError, OSError) as error:
            if str(error) != self._unreadable:
                self._unreadable = str(error)
                _log.warning("the ledger cannot be read: %s", error)

    def _catch_up(self) -> None:
        anew, records = self._file.news()
        if anew:
            self._forget()
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        kind, name = record.get("t"), str(record.get("id", ""))
        if kind == "call":
            self._calls[name] = Call(self._time.of(record), str(record.get("model")), _number(record.get("wanted")))
        elif kind == "end" and name in self._calls:
            self._end(name, record)
        elif kind == "compaction":
            self._compactions.append(record)
        elif kind == "learned":
            self._learned = Calibration.load(record.get("factors"))

    def _end(self, name: str, record: Record) -> None:
        call, given = self._calls[name], _number(record.get("input"))
        failed, cost, after = record.get("failed") is True, record.get("cost"), record.get("retryAfter")
        used = given + _number(record.get("output"))
        self._calls[name] = replace(
            call, tokens=used if used or record.get("outcome") != "answered" else call.tokens, failed=failed,
            why=str(record.get("outcome", "")),
            cost=float(cost) if isinstance(cost, int | float) else 0.0,
            retry_after=float(after) if isinstance(after, int | float) else None,
        )  # fmt: skip
        self._learned = self._learned.after(call.model, _number(record.get("counted")), given)


class _Time:
    """When calls were made, by a clock that nobody sets: neither a jump ahead nor one back frees a cap or bars a model.
    Seconds as those since 1970, but within one run of the machine they only pass. Of calls before that run only the
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


@lru_cache(maxsize=4)
def ledger(path: Path) -> Ledger:
    """One for each file and process: it keeps what it has read."""
    return Ledger(path)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
