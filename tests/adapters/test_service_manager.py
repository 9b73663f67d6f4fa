"""The protocol of a service manager, with a stand-in for it: it opens the socket, starts us, and listens."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import service_manager
from dagentd.adapters.service_manager import Supervisor, supervisor

# What a manager does between fork and exec: the sockets become 3, 4, …, and their owner is named.
_LAUNCH = """
import fcntl, os, sys
fds = [int(word) for word in sys.argv[2].split()]
high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 50) for fd in fds]  # so that none is overwritten before its turn
for number, fd in enumerate(high, 3):
    os.dup2(fd, number)
mine = str(os.getpid())
os.environ |= {"LISTEN_PID": mine, "LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": "x", "WATCHDOG_PID": mine}
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""

_SERVICE = """
import json, os, sys
from dagentd.adapters.service_manager import supervisor
from dagentd.errors import InvalidInput
try:
    manager = supervisor()
except InvalidInput as error:
    sys.exit(str(error))
listener = manager.listener
print(json.dumps({
    "heartbeat": manager.heartbeat,
    "path": listener.getsockname(), "inheritable": listener.get_inheritable(),
    "left": [name for name in os.environ if name.startswith(("LISTEN_", "WATCHDOG_", "NOTIFY_"))],
}), flush=True)
manager.status("opening\\n3 projects")
manager.ready()
with listener.accept()[0] as client:
    client.sendall(client.recv(100).upper())
manager.alive()
manager.stopping()
"""


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind(str(tmp_path / "served.sock"))
        made.listen()
        yield made


def launch(sockets: list[socket.socket], **environ: str) -> subprocess.Popen[str]:
    fds = [each.fileno() for each in sockets]
    return subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, _SERVICE, " ".join(map(str, fds))],
        env=os.environ | environ, pass_fds=fds, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("abstract", [False, True])
def test_a_service_under_a_manager(listener: socket.socket, tmp_path: Path, abstract: bool) -> None:
    name = f"@dagentd-{uuid.uuid4()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0", 1) if abstract else name)
        manager.settimeout(60)
        with launch([listener], NOTIFY_SOCKET=name, WATCHDOG_USEC="4000000") as service:
            assert service.stdout is not None
            told: dict[str, Any] = json.loads(service.stdout.readline())
            assert told == {
                "heartbeat": 2.0,
                "path": listener.getsockname(),
                "inheritable": False,
                "left": [],
            }
            assert [manager.recv(4096) for _ in range(2)] == [b"STATUS=opening 3 projects", b"READY=1"]
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.connect(listener.getsockname())
                client.sendall(b"hello")
                assert client.recv(100) == b"HELLO"
            assert [manager.recv(4096) for _ in range(2)] == [b"WATCHDOG=1", b"STOPPING=1"]
        assert service.returncode == 0


def test_sockets_that_cannot_be_used_are_refused_in_words(listener: socket.socket) -> None:
    with launch([listener, listener]) as service:
        assert "passed 2 sockets" in service.communicate()[1]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf, launch([deaf]) as service:
        assert "no client can use" in service.communicate()[1]


def test_without_a_manager_there_is_nobody_to_tell() -> None:
    nobody = supervisor({})
    assert nobody == Supervisor()
    nobody.ready()
    nobody.alive()


def test_what_was_meant_for_another_process_is_not_ours() -> None:
    environ = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "WATCHDOG_PID": "1", "WATCHDOG_USEC": "1000", "PATH": "/bin"}
    assert supervisor(environ) == Supervisor()
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize("wrong", ["", "soon", "-5", "0"])
def test_a_watchdog_without_a_time_is_none(wrong: str) -> None:
    assert supervisor({"WATCHDOG_USEC": wrong}).heartbeat is None


@pytest.mark.parametrize("address", ["/nonexistent/notify", "@dagentd-nobody-listens", "vsock:2:1234"])
def test_a_manager_that_is_gone_is_no_failure(address: str) -> None:
    supervisor({"NOTIFY_SOCKET": address}).ready()


def test_a_command_that_is_not_there_has_a_status_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = service_manager.run(["dagentd-no-such-command"])
    assert (done.returncode, done.stderr) == (127, "dagentd-no-such-command: No such file or directory")
