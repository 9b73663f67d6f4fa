"""This process: detached from the terminal that started it, and what it uses of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import io
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from dagentd.errors import DagentdError

_TO_START = 8  # descriptors: both ends of three pipes, and of one that says why a program did not start
_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
_BUG = 70  # EX_SOFTWARE of sysexits.h
_SILENT = "the daemon ended before it was ready, without a word: it was killed, or memory ran out"
_SLOW = "the daemon is still starting after {:.0f} s"

Work = Callable[[Callable[[], None]], int]


class NotStarted(DagentdError):
    """Why there is no daemon now; `status` is the exit status it ended with, 1 where that is not known."""

    def __init__(self, message: str, *, status: int = 1, path: str | None = None, hint: str = "dagentd logs") -> None:
        super().__init__(message, path=path, hint=hint)
        self.status = status


def detached(work: Work, *, patience: float = 30.0) -> None:
    """Run `work(ready)` in a daemon, and return once it called `ready()`; NotStarted with the reason if it does
    not. Its result is the daemon's exit status. Nothing that is open here is open there, so `work` opens all it
    needs; what goes wrong after `ready()` is for its own log."""
    ours, theirs = _channel()
    child = os.fork()
    if child == 0:
        _live(work, theirs)
    theirs.close()
    os.waitpid(child, 0)  # only the first of the forks that detaching takes
    with ours:
        _believe(_heard(ours, patience))


def _channel() -> tuple[socket.socket, socket.socket]:
    """Descriptors 0 to 2 will be /dev/null; started with one of them closed, the channel would have its number."""
    pair = socket.socketpair()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in pair]
    for end in pair:
        end.close()
    return socket.socket(fileno=moved[0]), socket.socket(fileno=moved[1])


def _live(work: Work, channel: socket.socket) -> NoReturn:
    """os._exit, because the stack below is that of the command, whose clean-up is not ours to run."""
    status = _BUG
    try:
        _detach(channel)
        _show_as("dagentd", "start")
        status = work(lambda: _say(channel, {"ready": True}))
        _say(channel, {"message": f"the daemon ended with status {status} before it was ready", "status": status})
    except DagentdError as error:
        status = 1
        _say(channel, {"message": error.message, "path": error.path, "hint": error.hint, "status": status})
    except BaseException as error:
        _say(channel, {"message": f"{type(error).__name__}: {error}", "status": status})
    finally:
        os._exit(status)


def _detach(channel: socket.socket) -> None:
    import daemon  # type: ignore[import-untyped]

    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # started with it closed; python-daemon wants something to redirect
            setattr(sys, name, _nowhere())
    ignored = dict.fromkeys((signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU))
    # detach_process: python-daemon would stay attached to a parent that is process 1, as in a container.
    daemon.DaemonContext(umask=0o077, files_preserve=[channel], detach_process=True, signal_map=ignored).open()


def _show_as(*arguments: str) -> None:
    """In `ps`, on Linux: the daemon is forked off the command that started it, and would be shown as `dagentd init` for
    months. The arguments lie in memory of our own, and are written over there."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before it may hold anything
        start, end = (
            int(fields[45]),
            int(fields[46]),
        )  # arg_start and arg_end of proc(5)
    except (OSError, IndexError, ValueError):
        return
    shown = "\0".join(arguments).encode()
    if 0 < start < end - len(shown):
        ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


def _nowhere() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(os.devnull, "r+"), write_through=True)


def _say(channel: socket.socket, report: dict[str, Any]) -> None:
    """The first report is the only one: it closes the channel. Nobody may be listening any more."""
    with contextlib.suppress(OSError), channel:
        channel.sendall(json.dumps(report).encode())


def _heard(channel: socket.socket, patience: float) -> dict[str, Any]:
    channel.settimeout(patience)
    parts = []
    try:
        while part := channel.recv(65536):
            parts.append(part)
    except TimeoutError:
        return {"message": _SLOW.format(patience), "hint": "dagentd status"}
    report: dict[str, Any] = json.loads(b"".join(parts) or b"{}")
    return report


def _believe(report: dict[str, Any]) -> None:
    if not report.pop("ready", False):
        raise NotStarted(**{"message": _SILENT, **report})


def lives(pid: int) -> bool:
    """One that ended and whose parent did not notice yet does not."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except ProcessLookupError:
        return False
    except OSError:  # no /proc, or another user's by now
        return True


def born(pid: int) -> int | None:
    """In ticks since the machine started: with the number of a process, this tells it from all others. None where
    there is no /proc."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def born_at(pid: int) -> float | None:
    """The same as seconds since 1970, to a second or so."""
    ticks = born(pid)
    try:
        with open("/proc/stat", "rb") as file:
            booted = next((int(line.split()[1]) for line in file if line.startswith(b"btime ")), None)
    except OSError:
        return None
    return None if ticks is None or booted is None else booted + ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    resident: int  # bytes
    threads: int
    descriptors: int


def share_heap() -> None:
    """One heap for all threads, from now on. glibc gives each one of its own, and what is freed there is of no use to
    the others: in the chaos of tests/torture the daemon grew from 100 to 190 MB in 150 s."""
    with contextlib.suppress(OSError):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_ARENA_MAX, 1)


def check_descriptors() -> None:
    """OSError if there are not enough to start a program and talk to it. Before Python 3.11.4 `subprocess` loses the
    pipes that it has made when it cannot make the next one (gh-87474)."""
    with contextlib.ExitStack() as held:
        for _ in range(_TO_START):
            held.callback(os.close, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


def usage() -> Usage | None:
    """Of this process now; None where there is no /proc."""
    try:
        with open("/proc/self/status", encoding="utf-8", errors="replace") as file:
            found = dict(line.split(":", 1) for line in file)
        descriptors = len(os.listdir("/proc/self/fd")) - 1  # one is the listing's own
    except OSError:
        return None
    return Usage(int(found["VmRSS"].split()[0]) * 1024, int(found["Threads"]), descriptors)
