"""The service manager: what it told this process, what it is told, and the commands that steer it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from dagentd.errors import InvalidInput

_FIRST = 3  # SD_LISTEN_FDS_START
_TOLD = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")


@dataclass(frozen=True)
class Supervisor:
    """The manager of this process, if it has one; without one, telling it something does nothing."""

    notify_socket: str = ""
    heartbeat: float | None = None  # seconds between two `alive`: half of what the manager allows
    listener: socket.socket | None = None  # a socket that listens already

    def ready(self) -> None:
        self._tell("READY=1")

    def stopping(self) -> None:
        self._tell("STOPPING=1")

    def alive(self) -> None:
        self._tell("WATCHDOG=1")

    def status(self, text: str) -> None:
        self._tell("STATUS=" + " ".join(text.split()))

    def _tell(self, state: str) -> None:
        if self.notify_socket[:1] not in ("/", "@"):
            return
        # A manager that does not listen must not stop us; if it is slow, its own limits apply.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(1)
            name = self.notify_socket
            manager.connect(name if name.startswith("/") else f"\0{name[1:]}")  # `@` stands for an abstract one
            manager.send(state.encode("utf-8", "replace"))


def supervisor(environ: MutableMapping[str, str] = os.environ) -> Supervisor:
    """The service manager that the environment names; taken out of it, so that no child of ours answers for us."""
    told = {name: environ.pop(name, "") for name in _TOLD}
    return Supervisor(told["NOTIFY_SOCKET"], _heartbeat(told), _listener(told))


def _heartbeat(told: dict[str, str]) -> float | None:
    if told["WATCHDOG_PID"] not in ("", str(os.getpid())) or not told["WATCHDOG_USEC"].isdecimal():
        return None
    return int(told["WATCHDOG_USEC"]) / 2_000_000 or None


def _listener(told: dict[str, str]) -> socket.socket | None:
    count = int(told["LISTEN_FDS"]) if told["LISTEN_FDS"].isdecimal() else 0
    if told["LISTEN_PID"] != str(os.getpid()) or count == 0:
        return None
    for fd in range(_FIRST, _FIRST + count):
        os.set_inheritable(fd, False)
    hint = "dagentd service install --socket"
    if count != 1:
        raise InvalidInput(f"the service manager passed {count} sockets instead of one", hint=hint)
    listener = socket.socket(fileno=_FIRST)
    kind = (listener.family, listener.type, listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    if kind != (socket.AF_UNIX, socket.SOCK_STREAM, 1):
        raise InvalidInput("the service manager passed a socket that no client can use", hint=hint)
    return listener


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command to the manager; the status is 127 if there is no such command, 124 if it does not end."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"{command[0]} did not answer in 30 s")
