"""The ledger: every call of a model and every compaction, and what was learned from them about token counts."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk, fileio
from dagentd.errors import Conflict, DagentdError, LimitReached
from dagentd.model import jsontext, times
from dagentd.model.calibration import Calibration
from dagentd.model.spend import DAY, Call, Caps, Spend, again_at, refusal, spent

# A file of JSON lines that several processes add to, one after the other, and that is begun anew when it is long.

LONG = 2 << 20  # bytes
_PATIENCE = 5.0  # seconds: whoever holds it longer does not run
Record = dict[str, Any]


@dataclass
class LedgerFile:
    """Not safe for several threads. Without a path nothing is kept."""

    _path: Path | None
    _read: tuple[int, int] = (0, 0)  # inode, and how far we have read it
    _long: int = LONG  # more where even what must stay is long

    @contextlib.contextmanager
    def alone(self) -> Iterator[Callable[[Record], None]]:
        """Lock the file; the function given adds a record, durably, while nobody else can."""
        if self._path is None:
            yield lambda _: None
            return
        with disk.explained(self._path):
            fd = self._locked(self._path)
            try:
                yield lambda record: self._add(fd, record)
            finally:
                os.close(fd)

    def news(self) -> tuple[bool, list[Record]]:
        """The records added since this was last asked; and whether they are all, because the file is another one."""
        try:
            found = os.stat(self._path) if self._path else None
        except FileNotFoundError:
            found = None
        if found is None or self._path is None or (found.st_ino, found.st_size) == self._read:
            return False, []
        anew = found.st_ino != self._read[0] or found.st_size < self._read[1]
        start = 0 if anew else self._read[1]
        data = fileio.read(self._path, fileio.CHAT_LIMIT)[start:]
        whole = data[: data.rfind(b"\n") + 1]  # somebody may be writing the rest just now
        self._read = (found.st_ino, start + len(whole))
        return anew, _records(whole)

    def begin_anew(self, kept: Callable[[list[Record]], tuple[list[Record], list[Record]]]) -> None:
        """If it is long: with what `kept` says must stay, and of what may stay the newest that make it half as long."""
        if self._path is None or self._read[1] <= self._long:
            return
        must, may = (_lines(some) for some in kept(_records(fileio.read(self._path, fileio.CHAT_LIMIT))))
        room = LONG // 2 - sum(map(len, must))
        while may and sum(map(len, may)) > room:
            del may[: 1 + len(may) // 10]
        atomic.put(self._path, b"".join([*may, *must]))
        self._long = max(LONG, 2 * sum(map(len, must)))

    def _locked(self, path: Path) -> int:
        """Open for adding; once more if it was begun anew while we waited."""
        end = clock.monotonic() + _PATIENCE
        while True:
            disk.make_folders(path.parent)
            with contextlib.suppress(FileExistsError):
                os.close(disk.create(path))
            fd = disk.open_append(path)
            with contextlib.suppress(FileNotFoundError, BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(fd).st_ino == os.stat(path).st_ino:
                    return fd
            os.close(fd)
            if clock.monotonic() > end:
                raise Conflict("is held by another process", path=path, hint=f"`fuser {path}` names it.")
            time.sleep(0.005)

    def _add(self, fd: int, record: Record) -> None:
        assert self._path is not None
        size = os.fstat(fd).st_size
        torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"  # by a crash: it ends here, and is no record
        disk.write(fd, (b"\n" if torn else b"") + jsontext.encode(record) + b"\n", self._path)
        disk.sync_data(fd, self._path)


def _lines(records: Iterable[Record]) -> list[bytes]:
    return [jsontext.encode(each) + b"\n" for each in records]


def _records(data: bytes) -> list[Record]:
    found = []
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(record := jsontext.decode_own(line), dict):
                found.append(record)
    return found


_log = logging.getLogger(__name__)


class Ledger:
    """Safe for several threads, and for a command beside the daemon. Without a path it lives as long as the process."""

    def __init__(self, path: Path | None) -> None:
        self._file = LedgerFile(path)
        self._in_memory = path is None
        self._lock = threading.RLock()
        self._unreadable = ""  # why, as it was told last
        self._calls: dict[str, Call] = {}
        self._learned = Calibration()
        self._compactions: list[Record] = []

    @cached_property
    def _time(self) -> _Time:
        return _Time()

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
        """The records that must stay, what was learned and the calls that still count; and compactions, which may."""
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
        """The reason for which a model failed last, for as long as that bars it."""
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
            self._calls, self._learned, self._compactions = {}, Calibration(), []
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


ledger = lru_cache(maxsize=4)(Ledger)
"""One for each file and process: it keeps what it has read."""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
