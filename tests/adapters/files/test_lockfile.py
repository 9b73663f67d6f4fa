"""Lock files of other programs: respected while their holder lives, taken over when it is dead, by one taker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dagentd.adapters import process
from dagentd.adapters.files import disk, lockfile
from dagentd.adapters.files.lockfile import Busy, Holder, held, holder
from dagentd.errors import DagentdError
from dagentd.model import times

OLD = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lock"


def dead() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def signed(pid: int, at: datetime | None = None, **more: object) -> str:
    return json.dumps({"pid": pid, "timestamp": times.iso(at or datetime.now(UTC)), **more})


def test_it_says_who_holds_it_and_is_gone_afterwards(path: Path) -> None:
    with held(path):
        told = json.loads(path.read_text())
        assert told["pid"] == os.getpid() and told["born"] == process.born(os.getpid())
        assert abs((datetime.now(UTC) - datetime.fromisoformat(told["timestamp"])).total_seconds()) < 60
        assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == []


def test_one_of_a_live_process_is_respected_and_named(path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        path.write_text(signed(other.pid))
        before = path.read_bytes()
        with pytest.raises(Busy, match=f"process {other.pid} has held this lock since 20") as refused, held(path, 0.1):
            raise AssertionError("held twice")
        assert refused.value.path == str(path) and f"ps -p {other.pid}" in refused.value.hint
        assert path.read_bytes() == before and os.listdir(path.parent) == [".lock"]
        other.kill()
    with held(path, 0.1):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_it_is_waited_for(path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        path.write_text(signed(other.pid))
        threading.Timer(0.1, path.unlink).start()
        with held(path, 30):
            assert json.loads(path.read_text())["pid"] == os.getpid()
        other.kill()


STALE: dict[str, Callable[[], str]] = {
    "dead": lambda: signed(dead()),
    "dead, as text": lambda: f"{dead()} 2025-01-24T14:45:00Z\n",
    "dead, only its number": lambda: f"{dead()}\n",
    "dead, number as text": lambda: json.dumps({"pid": str(dead()), "timestamp": "2025-01-24T14:45:00Z"}),
    "number used again, by its time": lambda: signed(os.getppid(), OLD),
    "number used again, by its birth": lambda: signed(os.getppid(), None, born=1),
    "our own number from before": lambda: signed(os.getpid(), OLD),
}


@pytest.mark.parametrize("kind", STALE)
def test_a_stale_one_is_taken_over(path: Path, kind: str) -> None:
    path.write_text(STALE[kind]())
    with held(path, 0.1):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert os.listdir(path.parent) == []


def test_one_that_says_nothing_may_be_just_made(path: Path) -> None:
    path.write_text("")
    with pytest.raises(Busy, match=r"process \(unknown\)"), held(path, 0.05):
        raise AssertionError
    os.utime(path, (time.time() - 60,) * 2)
    with held(path, 0.05):
        pass


@pytest.mark.parametrize("millis", [False, True])
def test_times_may_be_numbers(millis: bool) -> None:
    found = holder(json.dumps({"pid": 7, "timestamp": 1737730000 * (1000 if millis else 1)}).encode())
    assert found == Holder(7, datetime.fromtimestamp(1737730000, UTC))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"pid": {}}', b"garbage"])
def test_what_is_no_holder(data: bytes) -> None:
    assert holder(data).pid is None


def test_a_live_process_that_was_there_before_its_lock_holds_it(path: Path) -> None:
    path.write_text(signed(os.getppid(), datetime.now(UTC) + timedelta(seconds=1)))
    with pytest.raises(Busy), held(path, 0.05):
        raise AssertionError


def test_a_lock_that_somebody_took_from_us_is_not_removed(path: Path) -> None:
    with held(path):
        path.unlink()
        path.write_text("another")
    assert path.read_text() == "another"


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_is_no_file_is_an_error(path: Path, kind: str) -> None:
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("elsewhere")
    with pytest.raises(DagentdError) as refused, held(path, 0.05):
        raise AssertionError
    assert refused.value.path == str(path)
    assert os.path.lexists(path)


def test_a_taker_that_was_too_late_gives_back_what_it_took(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our look at a stale lock and our taking it another program takes it, by removing and making it."""
    path.write_text(signed(dead()))
    real, theirs = disk.step, signed(os.getppid())

    def step(what: str, where: object) -> None:
        if what == "rename" and path.read_text() != theirs:
            path.unlink()
            path.write_text(theirs)
        real(what, str(where))

    monkeypatch.setattr(disk, "step", step)
    with pytest.raises(Busy), held(path, 0.1):
        raise AssertionError("both hold it")
    assert path.read_text() == theirs
    assert os.listdir(path.parent) == [".lock"]


COUNTER = """
import sys, time
from pathlib import Path
from dagentd.adapters.files.lockfile import held
lock, counter = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(int(sys.argv[3])):
    with held(lock, 60):
        number = int(counter.read_text())
        counter.write_text(str(number + 1))
"""


def test_processes_exclude_each_other_also_over_stale_locks(path: Path) -> None:
    counter = path.with_name("counter")
    counter.write_text("0")
    path.write_text(signed(dead()))
    line = [sys.executable, "-c", COUNTER, str(path), str(counter), "50"]
    running = [subprocess.Popen(line) for _ in range(4)]
    assert [each.wait() for each in running] == [0] * 4
    assert counter.read_text() == "200"


@pytest.mark.parametrize("flock", [True, False], ids=["flock", "no flock"])
def test_threads_exclude_each_other(path: Path, flock: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not flock:
        monkeypatch.setattr(lockfile, "_flocked", lambda fd: True)
    inside, most, together = 0, 0, threading.Barrier(4)

    def work() -> None:
        nonlocal inside, most
        together.wait()
        for _ in range(20):
            with held(path, 60):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert os.listdir(path.parent) == []
