"""A process that is asked one thing: it gets its input, has so many seconds, and is ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters.models import CallFailed
from dagentd.adapters.process import check_descriptors

LIFELINE = "DAGENTD_LIFELINE"

_MOST = 16 << 20  # bytes of an answer
_GRACE = 5.0  # seconds for the pipes of a process that was killed
# Nothing of the environment but what a program needs to run and to reach the network as its user does.
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
         "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
         "http_proxy", "https_proxy", "all_proxy", "no_proxy")  # fmt: skip

_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()
_ended = threading.Event()


@dataclass(frozen=True)
class Ended:
    status: int
    output: bytes
    errors: bytes


def run(
    command: Sequence[str], given: bytes, seconds: float, *, more: dict[str, str] | None = None, cwd: Path | None = None
) -> Ended:
    """CallFailed if it cannot be started, takes too long, or dagentd ends meanwhile. `LIFELINE` in its environment is
    the number of a pipe that nobody writes to, and that ends when this process does, however it ends."""
    lifeline, ours = _pipe(command)
    try:
        process = _started(command, {**(more or {}), LIFELINE: str(lifeline)}, cwd, lifeline)
        try:
            output, errors = process.communicate(given, timeout=max(0.0, seconds))
        except subprocess.TimeoutExpired:
            raise CallFailed("slow", f"no answer within {seconds:.0f} s") from None
        finally:
            _end(process)
    finally:
        os.close(lifeline)
        os.close(ours)
    if _ended.is_set():
        raise CallFailed("stopped", "dagentd is stopping")
    return Ended(process.returncode, output[:_MOST], errors[-4096:])


def end_all() -> None:
    """End what runs, and let nothing more begin."""
    _ended.set()
    with _lock:
        every = list(_running)
    for process in every:
        _kill(process)


def _started(command: Sequence[str], more: dict[str, str], cwd: Path | None, fd: int) -> subprocess.Popen[bytes]:
    clean = {name: os.environ[name] for name in _KEPT if name in os.environ} | more
    pipe = subprocess.PIPE
    with _lock:
        if _ended.is_set():
            raise CallFailed("stopped", "dagentd is stopping")
        try:
            check_descriptors()
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=(fd,), env=clean, cwd=cwd,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise _dead(command, error) from None
        _running.add(process)
    return process


def _pipe(command: Sequence[str]) -> tuple[int, int]:
    try:
        return os.pipe()
    except OSError as error:
        raise _dead(command, error) from None


def _dead(command: Sequence[str], error: OSError) -> CallFailed:
    return CallFailed("dead", f"{command[0]} cannot be run: {error.strerror}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """With its group: `claude` has children of its own, which would hold our pipes."""
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError, OSError):
        process.communicate(timeout=_GRACE)
    with _lock:
        _running.discard(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
