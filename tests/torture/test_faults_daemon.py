"""The daemon itself while the system fails: as it starts, as it logs, under signals, and when the clock jumps."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dagentd.adapters import clock
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, until
from tests.store.place import PM, Place, said
from tests.torture import reader
from tests.torture.faults import WRITING
from tests.torture.reader import Files
from tests.torture.seeds import THOROUGH, drawn

HERE = Path(__file__).resolve().parents[2]
_START = """
import os, sys
from pathlib import Path
from dagentd.cli import run_command
from tests.torture.faults import Fault, injected

class Seen(list):
    def append(self, hit):
        os.write(2, f"HIT {hit}\\n".encode())

at, number, lasting = map(int, sys.argv[1:4])
fault = Fault(at, number, bool(lasting), hits=Seen(), armed=True)
with injected(fault, Path("/")):
    sys.exit(run_command(["run", sys.argv[4]]))
"""


@pytest.mark.more
@pytest.mark.timeout(900)
def test_a_fault_at_every_step_of_the_start(daemon: Daemon, project: SampleProject, tmp_path: Path) -> None:
    """It serves all the same, or says in one sentence why not; and the next start finds all that was said. At every
    third step, another third each time; at every step in `make torture`."""
    daemon.run(project.root)
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm", featureId=FEATURE)
    daemon.call("session.addMessage", sessionId=PM, role="user", content="kept", id="m0")
    daemon.kill_all()
    hits = 0
    first, every = (1, 1) if THOROUGH else (1 + drawn() % 3, 3)
    for at in itertools.count(first, every):
        told = _started(daemon, project, at, WRITING[at % len(WRITING)], lasting=at % 2 == 0, log=tmp_path / "log")
        assert "Traceback" not in told and "internal error" not in told, told
        hits += "HIT" in told
        if "HIT" not in told:
            break
    assert hits > (3 if THOROUGH else 1), "no step of the start was tried"
    daemon.run(project.root)
    assert [one["id"] for one in daemon.call("session.getHistory", sessionId=PM)["messages"]] == ["m0"]
    until(lambda: daemon.status["health"] == "ok", "health")
    reader.once(reader.read_journal(Files(project.dagent / "sessions", PM).journal), {"m0"})


def _started(daemon: Daemon, project: SampleProject, at: int, number: int, lasting: bool, log: Path) -> str:
    """What it said until it served, or ended by itself."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(at), str(number), str(int(lasting)), str(project.root)],
            env=os.environ | {"PYTHONPATH": str(HERE)}, stdout=subprocess.DEVNULL, stderr=file,
        )  # fmt: skip
    until(lambda: daemon.answers() or process.poll() is not None, "the start")
    if process.poll() is None:
        assert daemon.status["pid"] == process.pid
        process.kill()
    status, told = process.wait(), log.read_text()
    if status != -signal.SIGKILL:
        assert status == 1 and "dagentd: " in told, f"step {at}: {status}: {told}"
    return told


_LOG = """
import logging, resource, signal, sys
from pathlib import Path
from dagentd.adapters import log
path = Path(sys.argv[1])
log.to_file(path, "info", 50_000, 2)
told = logging.getLogger("dagentd.test")
told.info("before")
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
told.info("too much")
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
told.info("after")
"""


def test_a_log_that_cannot_grow_stops_nobody(tmp_path: Path) -> None:
    path = tmp_path / "state" / "dagentd.log"
    subprocess.run([sys.executable, "-c", _LOG, str(path)], check=True, stderr=subprocess.DEVNULL)
    lines = path.read_text().splitlines()
    assert lines[0].endswith("before") and lines[-1].endswith("after")


@contextmanager
def _storm() -> Iterator[list[int]]:
    """A signal every half millisecond, which interrupts whatever the system is asked for just then."""
    came: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: came.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        yield came
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_calls_that_signals_interrupt_are_finished(tmp_path: Path) -> None:
    place = Place(tmp_path / "p").make()
    ids = [f"m{number}" for number in range(200)]
    with _storm() as came, place.session() as session:
        for one in ids:
            session.add([{"id": one, "role": "user", "content": one * 500}])
        session.reconcile()
        session.clear()
    assert came, "no signal came"
    told = reader.agree(place.pm)
    reader.once(told, set(ids))
    assert told.chat == []


@pytest.mark.parametrize("years", [-30, 30])
def test_a_clock_that_jumps_changes_no_order_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, years: int
) -> None:
    place, ahead = Place(tmp_path / "p").make(), [timedelta()]
    monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + ahead[0])
    ids = []
    for number in range(8):
        ahead[0] = timedelta(days=365 * years) * (number % 2)
        with place.session() as session:
            session.add(said(f"m{number}"))
            ids.append(f"m{number}")
            chat = json.loads(place.pm.chat.read_bytes()) if number else {"messages": []}
            if number == 5:  # and the app adds to what it read
                chat["messages"].append({"id": "app", "role": "user", "content": "x", "timestamp": "1999-01-01"})
                place.pm.chat.write_text(json.dumps(chat))
            session.reconcile()
    told = reader.agree(place.pm)
    assert [one for one in told.chat if one != "app"] == ids and "app" in told.chat
    reader.once(told, {*ids, "app"})
