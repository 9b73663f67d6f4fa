"""The ledger: no call without an entry, and none more than the caps allow, whatever happens to file and clock."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.errors import Conflict, DagentdError, LimitReached
from dagentd.model.spend import Caps
from dagentd.store import ledger as ledger_file
from dagentd.store.ledger import Ledger

HAIKU, ABOUT = "claude-haiku-5-5", {"project": "/p", "session": "s"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.jsonl"


class Time:
    """It passes; or only the clock on the wall is set; or the machine is started anew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._wall, self._up, self._boot = datetime(2026, 11, 16, 12, tzinfo=UTC), 1000.0, 0
        monkeypatch.setattr(clock, "now", lambda: self._wall)
        monkeypatch.setattr(clock, "uptime", lambda: self._up)
        monkeypatch.setattr(clock, "boot", lambda: f"boot {self._boot}")

    def passes(self, **by: float) -> None:
        self.jumps(timedelta(**by))
        self._up += timedelta(**by).total_seconds()

    def jumps(self, by: timedelta) -> None:
        self._wall += by

    def starts_anew(self) -> None:
        self._boot, self._up = self._boot + 1, 10.0


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


def call(ledger: Ledger, *, per_hour: int = 3, per_day: int = 10**6, wanted: int = 100, forced: bool = False) -> str:
    return ledger.begin(ABOUT, HAIKU, wanted, Caps(per_hour, per_day), forced=forced)


def calls_until_refused(ledger: Ledger, **caps: Any) -> int:
    for number in range(1000):
        try:
            call(ledger, **caps)
        except LimitReached:
            return number
    raise AssertionError("never refused")


# --- calls ------------------------------------------------------------------------------------------------------


def test_a_call_counts_from_before_it_is_made_and_over_a_restart(path: Path) -> None:
    assert calls_until_refused(Ledger(path)) == 3
    assert calls_until_refused(Ledger(path)) == 0
    assert (Ledger(path).spend().calls, Ledger(path).spend().tokens) == (3, 300)


def test_what_the_api_reports_replaces_what_it_may_have_cost(path: Path) -> None:
    ledger = Ledger(path)
    ledger.end(call(ledger), "answered", failed=False, given=40, answered=2, cost=0.5)
    assert (ledger.spend().tokens, ledger.spend().cost) == (42, 0.5)


def test_an_answer_without_a_report_counts_as_what_it_may_have_cost(path: Path) -> None:
    """A proxy that reports nothing must not make all calls free."""
    ledger = Ledger(path)
    for _ in range(3):
        ledger.end(call(ledger, per_day=300), "answered", failed=False)
    with pytest.raises(LimitReached, match="max_tokens_per_day"):
        call(ledger, per_hour=99, per_day=300)
    assert Ledger(path).spend().tokens == 300


def test_a_call_that_was_refused_is_free(path: Path) -> None:
    ledger = Ledger(path)
    ledger.end(call(ledger), "auth", failed=True)
    assert ledger.spend().tokens == 0


def test_two_ledgers_know_of_each_other(path: Path) -> None:
    """A command beside the daemon."""
    one, other = Ledger(path), Ledger(path)
    call(one)
    call(other)
    call(one)
    for ledger in (one, other):
        with pytest.raises(LimitReached):
            call(ledger)


_CALLER = """
import sys
from pathlib import Path
from dagentd.errors import LimitReached
from dagentd.model.spend import Caps
from dagentd.store.ledger import Ledger
ledger, done = Ledger(Path(sys.argv[1])), 0
sys.stdin.readline()
try:
    while True:
        ledger.begin({}, "m", 1, Caps(40, 10**6), forced=True)
        done += 1
except LimitReached:
    print(done)
"""


def test_processes_at_once_make_no_more_calls_than_one_alone(path: Path) -> None:
    command = [sys.executable, "-c", _CALLER, str(path)]
    every = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in every:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sum(int(process.communicate()[0]) for process in every) == 40
    assert len(path.read_text().splitlines()) == 40


def test_whoever_holds_it_for_ever_stops_calls_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "_PATIENCE", 0.0)
    ledger = Ledger(path)
    call(ledger)
    with ledger_file.LedgerFile(path).alone():
        with pytest.raises(Conflict, match="another process"):
            call(ledger)
        assert ledger.spend().calls == 1
    call(ledger)


# --- the file ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [b'{"t": "call", "id": "x"', b"\xff\xfe", b'{"t": "call"}\n[]\n7\n{"t": 3}\n', b"\0"])
def test_what_is_torn_or_no_record_costs_only_itself(path: Path, time: Time, tail: bytes) -> None:
    call(Ledger(path))
    with path.open("ab") as file:
        file.write(tail)
    ledger = Ledger(path)
    name = call(ledger, per_hour=9)
    ledger.end(name, "answered", failed=False, given=7)
    assert (ledger.calls(), ledger.spend().tokens) == (Ledger(path).calls(), 107)


@pytest.mark.parametrize("room", [0, 1, 20])
def test_a_full_disk_allows_no_call(path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    ledger = Ledger(path)
    call(ledger)
    left = [room]

    def write(fd: int, data: Any) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = os.write(fd, bytes(data)[: left[0]])
        left[0] -= done
        return done

    with monkeypatch.context() as full:
        full.setattr(disk, "write_some", write)
        for _ in range(2):
            with pytest.raises(LimitReached, match="full"):
                call(ledger)
        ledger.compacted({"method": "local"})  # it has happened all the same
    call(ledger)
    assert len(Ledger(path).calls()) == 2


def test_a_file_that_cannot_be_read_allows_no_call_but_answers(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.mkdir(parents=True)
    ledger = Ledger(path)
    for _ in range(3):
        assert (ledger.spend().calls, ledger.of_session("/p", "s")) == (0, [])
        assert ledger.calibration().factor(HAIKU) == 1.55
    assert len(caplog.records) == 1
    with pytest.raises(DagentdError):
        call(ledger)


def test_a_state_folder_that_is_a_file_allows_no_call_but_answers(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    ledger = Ledger(tmp_path / "state" / "ledger.jsonl")
    assert ledger.spend().calls == 0
    with pytest.raises(DagentdError):
        call(ledger)


def test_a_file_that_is_long_is_begun_anew_with_what_still_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch, time: Time
) -> None:
    monkeypatch.setattr(ledger_file, "LONG", 20_000)
    ledger, other = Ledger(path), Ledger(path)
    ledger.end(call(ledger), "answered", failed=False, given=1000, counted=800)
    time.passes(days=2)
    for number in range(240):
        ledger.compacted({**ABOUT, "number": number})
        if number % 8 == 0:
            ledger.end(call(ledger, per_hour=99), "answered", failed=False, given=1000, counted=800)
            other.calls()
    assert path.stat().st_size < 40_000
    for each in (ledger, other, Ledger(path)):
        assert (each.spend().calls, each.spend().tokens) == (30, 30_000)
        assert each.calibration().factor(HAIKU) == pytest.approx(1.25, rel=0.01)
        kept = [record["number"] for record in each.of_session("/p", "s")]
        assert kept and kept == list(range(kept[0], 240))


def test_calls_that_still_count_stay_even_if_the_file_is_long_because_of_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "LONG", 2_000)
    ledger = Ledger(path)
    for _ in range(60):
        call(ledger, per_hour=1000)
    assert Ledger(path).spend().calls == 60


def test_who_deletes_it_begins_anew(path: Path) -> None:
    ledger = Ledger(path)
    call(ledger)
    path.unlink()
    assert ledger.spend().calls == 1
    call(ledger)
    assert [json.loads(line)["t"] for line in path.read_text().splitlines()] == ["call"]


# --- the clock --------------------------------------------------------------------------------------------------


def test_an_hour_and_a_day_later_there_is_room_again(path: Path, time: Time) -> None:
    ledger = Ledger(path)
    assert calls_until_refused(ledger, per_day=450) == 3
    time.passes(minutes=61)
    assert calls_until_refused(ledger, per_day=450) == 1  # the day's tokens
    time.passes(days=1, minutes=1)
    assert calls_until_refused(ledger, per_day=450) == 3


def test_an_hour_later_there_is_room_again_also_if_the_machine_was_off(path: Path, time: Time) -> None:
    assert calls_until_refused(Ledger(path)) == 3
    time.starts_anew()
    assert calls_until_refused(Ledger(path)) == 0
    time.passes(minutes=61)
    time.starts_anew()
    assert calls_until_refused(Ledger(path)) == 3


@pytest.mark.parametrize("restarts", ["dagentd", "nothing"])
@pytest.mark.parametrize("by", [timedelta(hours=1), timedelta(days=400), timedelta(hours=-1), timedelta(days=-400)])
def test_a_clock_that_is_set_frees_nothing_and_locks_nobody_out(
    path: Path, time: Time, by: timedelta, restarts: str
) -> None:
    ledger = Ledger(path)
    assert calls_until_refused(ledger) == 3
    time.jumps(by)
    ledger = Ledger(path) if restarts == "dagentd" else ledger
    assert (calls_until_refused(ledger), ledger.spend().calls) == (0, 3)
    time.passes(minutes=61)
    assert calls_until_refused(ledger) == 3


def test_a_clock_that_went_back_while_the_machine_was_off_frees_nothing_either(path: Path, time: Time) -> None:
    assert calls_until_refused(Ledger(path)) == 3
    time.jumps(timedelta(days=-400))
    time.starts_anew()
    ledger = Ledger(path)
    assert calls_until_refused(ledger) == 0
    time.passes(minutes=61)
    assert calls_until_refused(ledger) == 3


def test_a_failure_in_the_future_does_not_bar_a_model_until_then(path: Path, time: Time) -> None:
    time.jumps(timedelta(days=400))
    ledger = Ledger(path)
    ledger.end(call(ledger), "server", failed=True)
    time.jumps(timedelta(days=-400))
    time.starts_anew()
    ledger = Ledger(path)
    with pytest.raises(LimitReached, match="tried again in 30 s"):
        call(ledger)
    time.passes(seconds=31)
    call(ledger)


def test_a_file_that_is_begun_anew_after_the_clock_was_set_keeps_the_calls_that_count(
    path: Path, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(path)
    assert calls_until_refused(ledger) == 3
    time.jumps(timedelta(days=400))
    monkeypatch.setattr(ledger_file, "LONG", 2_000)
    ledger._file._long = 2_000
    for number in range(30):
        ledger.compacted({**ABOUT, "number": number})
    assert calls_until_refused(Ledger(path)) == 0


def test_threads_at_once_make_no_more_calls_than_one_alone(path: Path) -> None:
    ledger, done = Ledger(path), []
    threads = [threading.Thread(target=lambda: done.append(calls_until_refused(ledger, per_hour=30))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 30


def test_without_a_path_it_lives_as_long_as_the_process() -> None:
    ledger = Ledger(None)
    assert calls_until_refused(ledger) == 3
    ledger.compacted({**ABOUT, "method": "local"})
    assert [record["method"] for record in ledger.of_session("/p", "s")] == ["local"]
