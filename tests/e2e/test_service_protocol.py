"""The daemon as a service: a stand-in manager gives it a socket, hears what it says and steers it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.rpc.client import Unreachable
from tests.e2e.daemon import Daemon, lines, request, until
from tests.patience import patience

READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"
_WATCHDOG = 0.2  # seconds; it is fed twice as often
_LONG = 5 * _WATCHDOG  # a manager would have killed it by then

# As systemd does: the socket is descriptor 3, and LISTEN_PID is the process that shall use it.
_EXEC = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
_DAGENTD = ("-m", "dagentd", "run")
_BUG = "import dagentd.daemon as d; d.Daemon._wait = lambda self: 1 / 0; from dagentd import cli; cli.main()"


class Manager:
    """Keeps the listening socket, as systemd does, whatever becomes of the service."""

    def __init__(self, daemon: Daemon) -> None:
        self._services: list[subprocess.Popen[str]] = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(daemon.socket))
        self.listener.listen()
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind(str(daemon.folder / "notify"))

    def launch(self, *command: str) -> subprocess.Popen[str]:
        fd = self.listener.fileno()
        told = {"LISTEN_FDS": "1", "NOTIFY_SOCKET": str(self._notify.getsockname())}
        told["WATCHDOG_USEC"] = str(int(_WATCHDOG * 1_000_000))
        line = [sys.executable, "-c", _EXEC, str(fd), *(command or _DAGENTD)]
        service = subprocess.Popen(
            line, env=os.environ | told, pass_fds=[fd], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._services.append(service)
        return service

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Until it says that it is ready."""
        service = self.launch(*command)
        assert self.hears() == READY
        return service

    def hears(self, patience: float = 30) -> str | None:
        """What it says next; None if that takes too long."""
        self._notify.settimeout(patience)
        try:
            return self._notify.recv(4096).decode()
        except (TimeoutError, BlockingIOError):
            return None

    def silence(self) -> bool:
        """Whether it says nothing for so long that it would be killed; what it said before does not count."""
        self.forget()
        return self.hears(_LONG) is None

    def forget(self) -> None:
        """Whatever it said up to now."""
        while self.hears(0) is not None:
            pass

    def hears_the_end(self) -> None:
        """That it stops, after some signs of life, and nothing after that."""
        while (said := self.hears()) != STOPPING:
            assert said == ALIVE
        assert self.silence()

    def close(self) -> None:
        for service in self._services:
            service.kill()
            service.communicate()
        self.listener.close()
        self._notify.close()


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.fixture
def manager(daemon: Daemon) -> Iterator[Manager]:
    made = Manager(daemon)
    yield made
    made.close()


def test_it_is_ready_when_it_answers_on_the_socket_it_was_given(daemon: Daemon, manager: Manager) -> None:
    inode = daemon.socket.stat().st_ino
    with daemon.connect() as early:  # before the service runs, as with socket activation
        early.sendall(request("daemon.ping", "early"))
        service = manager.start()
        assert daemon.call("daemon.ping") == {}
        assert next(lines(early)) == {"jsonrpc": "2.0", "result": {}, "id": "early"}
        assert daemon.pid == service.pid
    assert daemon.socket.stat().st_ino == inode


def test_one_that_cannot_serve_does_not_call_itself_ready(daemon: Daemon, manager: Manager) -> None:
    daemon.state.mkdir(parents=True)
    (daemon.state / "projects.json").write_text("{")
    service = manager.launch()
    assert "projects.json: is not valid JSON" in service.communicate(timeout=patience())[1]
    assert service.returncode == 1
    assert manager.silence()


def test_it_shows_signs_of_life_while_it_lives(manager: Manager) -> None:
    service = manager.start()
    assert [manager.hears() for _ in range(5)] == [ALIVE] * 5
    service.send_signal(signal.SIGSTOP)
    until(lambda: _is_stopped(service.pid), "the stop")
    assert manager.silence()
    service.send_signal(signal.SIGCONT)
    assert [manager.hears() for _ in range(3)] == [ALIVE] * 3


@pytest.mark.parametrize("how", ["deaf", "unlinked"])
def test_a_daemon_that_lives_but_cannot_be_reached_shows_none(daemon: Daemon, manager: Manager, how: str) -> None:
    service = manager.start()
    with daemon.client() as connected:
        if how == "deaf":
            manager.listener.shutdown(socket.SHUT_RDWR)
        else:
            daemon.socket.unlink()
        until(lambda: connected.call("daemon.status")["health"] == "degraded", "its notice")
        assert manager.silence()
        assert connected.call("daemon.ping") == {}
        with pytest.raises(Unreachable):
            daemon.call("daemon.ping")
    service.send_signal(signal.SIGTERM)
    manager.hears_the_end()
    assert service.wait(timeout=patience()) == 0


@pytest.mark.parametrize("how", ["signal", "command"])
def test_it_says_that_it_stops_and_leaves_the_socket_to_the_manager(daemon: Daemon, manager: Manager, how: str) -> None:
    service = manager.start()
    if how == "signal":
        service.send_signal(signal.SIGTERM)
    else:
        assert daemon.dagentd("stop") == "dagentd stopped.\n"
    manager.hears_the_end()
    assert service.wait(timeout=patience()) == 0
    assert daemon.socket.is_socket()
    with daemon.connect() as early:  # the next one serves who came meanwhile
        early.sendall(request("daemon.ping"))
        manager.start()
        assert next(lines(early))["result"] == {}


def test_a_crash_is_a_status_that_makes_the_manager_start_it_again(daemon: Daemon, manager: Manager) -> None:
    service = manager.start("-c", _BUG, "run")
    assert "ZeroDivisionError" in service.communicate(timeout=patience())[1]
    assert service.returncode == 70
    assert daemon.socket.is_socket()
    manager.start()
    assert daemon.call("daemon.ping") == {}


def test_killed_it_can_be_started_again_at_once(daemon: Daemon, manager: Manager) -> None:
    service = manager.start()
    service.kill()
    assert service.wait(timeout=patience()) == -signal.SIGKILL
    manager.forget()
    manager.start()
    assert daemon.call("daemon.ping") == {}


def test_sighup_reads_the_settings_and_goes_on_serving(daemon: Daemon, manager: Manager) -> None:
    service = manager.start()
    daemon.configure("[watch]\nreconcile_s = 77\n")
    with daemon.client() as connected:
        service.send_signal(signal.SIGHUP)
        until(lambda: connected.call("daemon.status")["watches"]["everySeconds"] == 77, "the new setting")
        assert daemon.pid == service.pid
    assert [manager.hears() for _ in range(3)] == [ALIVE] * 3
