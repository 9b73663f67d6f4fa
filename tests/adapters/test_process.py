"""Detaching: the caller learns how it went and gets everything back that is its own."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import process
from tests.patience import patience

# argv: what the daemon does, and the file where it says what it found. Printed: what the caller learns.
_START = """
import json, os, signal, sys
from dagentd.adapters import process
from dagentd.errors import Conflict

def work(ready):
    fds = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            fds[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass  # the listing's own
    found = {"pid": os.getpid(), "session": os.getsid(0), "cwd": os.getcwd(), "umask": os.umask(0o077), "fds": fds}
    with open(sys.argv[2], "w") as file:
        json.dump(found, file)
    if sys.argv[1] == "live":
        print("lost", flush=True)
        ready()
        signal.pause()
    elif sys.argv[1] == "refuse":
        raise Conflict("is taken", path="/a/socket", hint="Move it.")
    elif sys.argv[1] == "bug":
        raise ValueError("boom")
    elif sys.argv[1] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif sys.argv[1] == "hang":
        os.close(os.open(sys.argv[3], os.O_RDONLY))
    return 3

try:
    process.detached(work, patience=0.05 if sys.argv[1] == "hang" else 60)
except process.NotStarted as error:
    print(json.dumps([str(error), error.hint, error.status]))
else:
    print("started")
"""


class Starter:
    def __init__(self, folder: Path) -> None:
        self.found_file = folder / "found.json"

    def command(self, what: str, *more: object) -> list[str]:
        return [sys.executable, "-c", _START, what, str(self.found_file), *map(str, more)]

    def learned(self, what: str, *more: object) -> list[Any]:
        done = subprocess.run(self.command(what, *more), capture_output=True, text=True, timeout=patience(), check=True)
        assert done.stderr == ""
        learned: list[Any] = json.loads(done.stdout)
        return learned

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        """The script starts the daemon by "$@"."""
        command = ["sh", "-c", script, "sh", *self.command("live")]
        return subprocess.run(command, capture_output=True, text=True, timeout=patience())

    @property
    def found(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.found_file.read_text())
        return found


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[Starter]:
    made = Starter(tmp_path)
    yield made
    if made.found_file.exists():
        try:
            os.kill(made.found["pid"], signal.SIGKILL)
        except ProcessLookupError:
            return


def test_a_captured_start_returns_while_the_daemon_lives(starter: Starter) -> None:
    done = starter.shell('said=$("$@" 2>&1); echo "it said: $said"')
    assert (done.stdout, done.stderr, done.returncode) == ("it said: started\n", "", 0)
    os.kill(starter.found["pid"], 0)


def test_the_daemon_is_on_its_own(starter: Starter) -> None:
    starter.shell('"$@"')
    found = starter.found
    assert (found["cwd"], found["umask"]) == ("/", 0o077)
    assert found["session"] not in (os.getsid(0), found["pid"])  # not a leader: it can never get a terminal


def test_nothing_of_the_caller_is_open_in_it(starter: Starter, tmp_path: Path) -> None:
    starter.shell(f'exec 9>"{tmp_path}/mine"; "$@"')
    fds = starter.found["fds"]
    assert [fds.pop(number) for number in ("0", "1", "2")] == ["/dev/null"] * 3
    assert [target.split(":")[0] for target in fds.values()] == ["socket"]  # over which it is about to say ready


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_start_with_closed_streams_works_as_well(starter: Starter, closed: str) -> None:
    done = starter.shell(f'"$@" {closed}')
    assert (done.returncode, done.stderr) == (0, "")
    os.kill(starter.found["pid"], 0)
    assert [starter.found["fds"][number] for number in ("0", "1", "2")] == ["/dev/null"] * 3


def test_the_reason_of_a_failure_reaches_the_caller(starter: Starter) -> None:
    assert starter.learned("refuse") == ["/a/socket: is taken", "Move it.", 1]
    assert starter.learned("bug") == ["ValueError: boom", "dagentd logs", 70]
    assert starter.learned("end") == ["the daemon ended with status 3 before it was ready", "dagentd logs", 3]


def test_a_daemon_that_is_killed_before_it_is_ready_is_noticed(starter: Starter) -> None:
    message, hint, status = starter.learned("die")
    assert "without a word" in message and (hint, status) == ("dagentd logs", 1)


def test_a_start_that_takes_too_long_is_told_and_goes_on(starter: Starter, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    message, hint, _ = starter.learned("hang", gate)
    assert "still starting" in message and hint == "dagentd status"
    gate.write_text("")  # returns once the daemon opened the other end


def test_what_it_uses_of_the_machine() -> None:
    before = process.usage()
    extra = [os.open(os.devnull, os.O_RDONLY) for _ in range(5)]
    after = process.usage()
    for fd in extra:
        os.close(fd)
    assert before is not None and after is not None
    assert after.descriptors == before.descriptors + 5
    assert after.threads >= 1 and 1_000_000 < after.resident < 10_000_000_000


def test_where_there_is_no_proc_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    found = process.usage()
    monkeypatch.undo()
    assert found is None


_THREADS = """
import ctypes, sys, threading
from dagentd.adapters.process import share_heap
if sys.argv[1] == "shared":
    share_heap()
gate = threading.Barrier(9)
def work():
    held = [bytes(n) for n in range(600, 3000)]
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
gate.wait()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_stats"), reason="only glibc has a heap for each thread")
def test_threads_share_one_heap() -> None:
    def heaps(how: str) -> int:
        done = subprocess.run([sys.executable, "-c", _THREADS, how], check=True, capture_output=True, text=True)
        return done.stderr.count("Arena ")

    assert heaps("shared") == 1 < heaps("each")


# --- starting other programs --------------------------------------------------------------------------------------

# argv: how many descriptors there are beside those that are open. Printed: how many of them are lost.
_ASK = """
import os, resource, sys
from pathlib import Path
from dagentd.adapters.git import command
from dagentd.errors import DagentdError

def free():
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for fd in held:
            os.close(fd)
        return len(held)

highest = max(int(name) for name in os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (highest + int(sys.argv[1]), highest + 100))
before = free()
try:
    command.ask(Path("."), "version")
    print("answered", before - free())
except DagentdError as error:
    print("Too many" in error.message, before - free())
"""


@pytest.mark.parametrize("left", range(1, 12))
def test_no_descriptor_is_lost_over_a_program_that_cannot_be_started(left: int) -> None:
    """Python before 3.11.4 lost both ends of each pipe that it had made."""
    done = subprocess.run([sys.executable, "-c", _ASK, str(left)], capture_output=True, text=True, check=True)
    assert done.stdout in ("True 0\n", "answered 0\n") and (left > 3 or done.stdout == "True 0\n")
