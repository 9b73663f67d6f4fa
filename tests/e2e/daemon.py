"""The real daemon, in processes of its own: started, asked, looked at from outside, and never left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.rpc.client import Client
from tests.patience import patience
from tests.patience import until as until
from tests.warm import Command


class Daemon:
    """The one daemon of a test's user. `beats` makes its heartbeat fast, as a service manager's watchdog does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "d.sock"
        self._commands: list[subprocess.Popen[str]] = []

    # --- living -------------------------------------------------------------------------------------------

    def command(self, *arguments: str, cwd: Path | str = "/", **more: Any) -> subprocess.Popen[str]:
        """Any dagentd command; the daemon it may start does not hold its pipes."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        self._commands.append(Command(*arguments, cwd=cwd, text=True, **{**pipes, **more}))
        return self._commands[-1]

    def line(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "dagentd", *arguments]

    def dagentd(self, *arguments: str, status: int = 0, cwd: Path | str = "/") -> str:
        """What a command prints on both streams; it must end with the status."""
        done = self.command(*arguments, cwd=cwd)
        printed = done.communicate(timeout=patience())[0]
        assert done.returncode == status, printed
        return printed

    def start(self) -> int:
        """Detached, as a user starts it; its process id."""
        self.dagentd("start")
        return self.pid

    def run(self, *projects: Path | str) -> subprocess.Popen[str]:
        """In the foreground, serving when this returns."""
        process = self.command("run", *map(str, projects), stderr=None, stdout=subprocess.DEVNULL)
        until(lambda: self.answers() or process.poll() is not None, "the start")
        assert process.poll() is None
        return process

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def ends(self, pid: int) -> None:
        until(lambda: not lives(pid), f"the end of process {pid}")

    def kill_all(self) -> None:
        """Whatever has this test's socket in its environment was started by this test."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):  # it ended by itself
                os.kill(pid, signal.SIGKILL)
        until(lambda: not self.processes(), "the end of all daemons")
        for command in self._commands:
            if command.stdout is not None and not command.stdout.closed:
                os.set_blocking(command.stdout.fileno(), True)  # who looked for lines may have changed that
            command.communicate()

    def processes(self) -> list[int]:
        return processes_with(f"DAGENTD_SOCKET={self.socket}")

    # --- asking -------------------------------------------------------------------------------------------

    def client(self) -> Client:
        return Client(timeout=patience())

    def call(self, method: str, **params: Any) -> Any:
        with self.client() as client:
            return client.call(method, **params)

    def connect(self) -> socket.socket:
        """A bare connection."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(self.socket))
        connection.settimeout(patience())
        return connection

    @property
    def status(self) -> dict[str, Any]:
        found = self.call("daemon.status")
        assert isinstance(found, dict)
        return found

    @property
    def pid(self) -> int:
        return int(self.status["pid"])

    # --- where things are ----------------------------------------------------------------------------------

    @property
    def state(self) -> Path:
        return Path(os.environ["XDG_STATE_HOME"], "dagentd")

    @property
    def log(self) -> str:
        return "".join(path.read_text() for path in sorted(self.state.glob("dagentd.log*")))

    def configure(self, text: str) -> None:
        path = Path(os.environ["XDG_CONFIG_HOME"], "dagentd", "config.toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def register(self, *roots: Path) -> None:
        """As `dagentd init` does, without its other steps."""
        self.state.mkdir(parents=True, exist_ok=True)
        entries = [{"id": str(n), "root": str(root), "commonDir": f"{root}/.git"} for n, root in enumerate(roots)]
        (self.state / "new").write_text(json.dumps({"projects": entries}))
        (self.state / "new").rename(self.state / "projects.json")


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """No daemon runs yet; none runs when the test is over."""
    folder = Path(tempfile.mkdtemp(prefix="dd-", dir="/tmp"))  # a socket's path must be short
    made = Daemon(folder)
    monkeypatch.setenv("DAGENTD_SOCKET", str(made.socket))
    try:
        yield made
    finally:
        made.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def beats(monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat of 0.1 s instead of 5."""
    monkeypatch.setenv("WATCHDOG_USEC", "200000")


# --- a process from outside -----------------------------------------------------------------------------------


def lives(pid: int) -> bool:
    """A zombie does not, once its last thread has ended: until then its socket is open."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return _stat(pid)[:1] not in ([], ["Z"]) or len(os.listdir(f"/proc/{pid}/task")) > 1
    return False


def cpu_seconds(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bytes_written(pid: int) -> int:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def descriptors(pid: int) -> list[str]:
    """What its open descriptors are."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return found


def _stat(pid: int) -> list[str]:
    """From the state on: the name before it may have spaces."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def processes_with(variable: str) -> list[int]:
    """Those other than this one that have it in their environment."""
    others = [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]
    return [pid for pid in others if lives(pid) and variable.encode() in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it ended, or it is another user's
        return []


# --- bare lines -----------------------------------------------------------------------------------------------


def request(method: str, id: object = 1, /, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


def lines(connection: socket.socket) -> Iterator[Any]:
    """The answers until the daemon hangs up."""
    with connection.makefile("rb") as file:
        for line in file:
            yield json.loads(line)
