"""Processes forked off one that has loaded everything, in place of processes that load it anew.

Starting Python and loading dagentd costs 0.3 to 0.8 s of CPU, loading the SDK 2.2 s, hundreds of times in a test run,
and is the subject of few tests. So each test process keeps a warm process for each of the two, which forks a child
for each that is asked for: with the arguments, environment, folder, terminal and descriptors that it would have, also
as /proc shows them, and with the test process as its parent, so that `subprocess` waits for it, talks to it and kills
it as ever. From `main()` on it is the real thing. Another encoding or another user has a warm process of its own.

Where how a process begins is the subject (detaching, what is imported, memory, encodings), tests start
`sys.executable -m dagentd` instead; and so do these where they are asked for more than they can do.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import fcntl
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from dagentd.adapters.models import model_process

ROOM = 32 * 1024  # for the arguments and the environment of a process, as /proc shows them
_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220}
_READ_AT_START = ("PYTHON", "LC_", "LANG")
_ENVIRONMENT = dict(os.environ)


class Forked(subprocess.Popen[Any]):
    """As `Popen`, of a command that a warm process can become."""

    program: ClassVar[str]
    as_whom: tuple[str, ...] = ()  # the program that makes another user of it, with its arguments

    def _execute_child(self, *given: Any) -> None:
        """subprocess has no public place for this."""
        args, _, preexec_fn, _, pass_fds, cwd, env, _, _, shell, stdin, _, _, stdout, _, stderr = given[:16]
        gid, gids, uid, umask, new_session, group = given[17:23]
        environment = dict(os.environ if env is None else env)
        more = preexec_fn or shell or gid is not None or gids is not None or uid is not None or umask >= 0 or group >= 0
        warm = None if more else _warm_process(self.program, self.as_whom, _read_at_start(environment))
        if warm is None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        where = os.fspath(os.getcwd() if cwd is None else cwd)
        fds = {0: stdin, 1: stdout, 2: stderr, **{fd: fd for fd in pass_fds}}
        asked = [list(map(os.fspath, args))[len(self.as_whom) :], environment, where, bool(new_session)]
        self.pid = warm.fork(asked, {number: number if fd == -1 else fd for number, fd in fds.items()})
        self._child_created = True
        self._close_pipe_fds(*given[10:16])  # type: ignore[attr-defined]


class Command(Forked):
    """A dagentd command with these arguments. As the leader of a new session it has the terminal that it reads."""

    program = "dagentd"

    def __init__(self, *arguments: str, as_whom: tuple[str, ...] = (), **more: Any) -> None:
        self.as_whom = as_whom
        super().__init__([*as_whom, sys.executable, "-m", "dagentd", *arguments], **more)


class SdkCall(Forked):
    """The process that calls the API by the SDK."""

    program = "sdk"


class SdkScript(Forked):
    """A script that uses the SDK."""

    program = "script"

    def __init__(self, script: str, **more: Any) -> None:
        super().__init__([sys.executable, "-c", "import sys; exec(sys.argv[1])", script], **more)


def let_sdk_be_warm(patch: pytest.MonkeyPatch) -> None:
    """Calls that this process makes by the SDK; those of a daemon load it."""

    def popen(command: list[str], **more: Any) -> subprocess.Popen[Any]:
        return (SdkCall if command[-1].endswith("anthropic_child.py") else subprocess.Popen)(command, **more)

    patch.setattr(model_process, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": popen}))


def run(*arguments: str, input: Any = None, timeout: float = 60, **more: Any) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run` of a dagentd command, with both streams captured as text."""
    pipe = subprocess.PIPE
    with Command(*arguments, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **more}) as command:
        try:
            printed, errors = command.communicate(input, timeout)
        except BaseException:
            command.kill()
            raise
    return subprocess.CompletedProcess(command.args, command.returncode, printed, errors)


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """What Python reads before anything is loaded. That UTF-8 is to be used goes without saying."""
    found = {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}
    return {name: value for name, value in found.items() if not value.upper().endswith("UTF-8")}


class _Warm:
    """A warm process as seen from the test process."""

    def __init__(self, program: str, as_whom: tuple[str, ...], read_at_start: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        line = [*as_whom, sys.executable, "-m", "tests.warm", program, str(theirs.fileno()), " " * ROOM]
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        others = {name: value for name, value in _ENVIRONMENT.items() if not name.startswith(_READ_AT_START)}
        self._process = subprocess.Popen(
            line, cwd=root, env={**others, **read_at_start, "ROOM": " " * ROOM}, pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self._socket = ours
        atexit.register(self._end)

    def fork(self, asked: list[Any], fds: dict[int, int]) -> int:
        raw = json.dumps([*asked, list(fds)]).encode()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds.values()))
        with _one_at_a_time:
            self._socket.sendmsg([len(raw).to_bytes(4, "big")], [rights])
            self._socket.sendall(raw)
            answer = self._socket.recv(4)
        assert answer, "the warm process ended"
        return int.from_bytes(answer, "big")

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


_found: dict[tuple[object, ...], _Warm] = {}
_one_at_a_time = threading.Lock()


def _warm_process(program: str, as_whom: tuple[str, ...], read_at_start: dict[str, str]) -> _Warm | None:
    if sys.platform != "linux" or os.uname().machine not in _CLONE:
        return None
    if not read_at_start or read_at_start == _read_at_start(_ENVIRONMENT):
        read_at_start = _read_at_start(_ENVIRONMENT) | {"LC_ALL": "C.UTF-8"}
    with _one_at_a_time:
        key = (program, as_whom, *sorted(read_at_start.items()))
        if key not in _found:
            _found[key] = _Warm(program, as_whom, read_at_start)
    return _found[key]


# --- in the warm process -------------------------------------------------------------------------------------------


def _serve(channel: socket.socket) -> None:
    """Until the test process closes its end; returns in each child that it forks."""
    while True:
        head, ancillary, _, _ = channel.recvmsg(4, 1024)
        if not head:
            sys.exit(0)
        fds = array.array("i", ancillary[0][2])
        raw = b""
        while len(raw) < int.from_bytes(head, "big"):
            raw += channel.recv(1 << 16)
        if (pid := _fork_beside()) == 0:
            channel.close()
            command, environment, cwd, new_session, numbers = json.loads(raw)
            _become(command, environment, cwd, new_session, dict(zip(numbers, fds, strict=True)))
            return
        for fd in fds:
            os.close(fd)
        channel.sendall(pid.to_bytes(4, "big"))


def _fork_beside() -> int:
    """Fork a child whose parent is ours. By the system call, since no library offers that; what Python does around
    a fork is called by hand."""
    here = ctypes.PyDLL(None)
    here.PyOS_BeforeFork()
    pid = int(here.syscall(_CLONE[os.uname().machine], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        here.PyOS_AfterFork_Child()
    else:
        here.PyOS_AfterFork_Parent()
    return pid


def _become(command: list[str], environment: dict[str, str], cwd: str, new_session: bool, fds: dict[int, int]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    out_of_the_way = {number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200) for number, fd in fds.items()}
    for fd in fds.values():
        os.close(fd)
    for number, fd in out_of_the_way.items():
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(cwd)
    if new_session:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in tests that run in the background
    sys.argv = ["dagentd", *command[3:]]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    _show(command, environment)


def _show(command: list[str], environment: dict[str, str]) -> None:
    """Write them where /proc finds them: over those that the warm process was started with, which were made long
    enough and which nobody reads any more."""
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    first, after, variables, end = map(int, fields[45:49])
    for start, size, shown in (
        (first, after - first, command),
        (variables, end - variables, [f"{name}={value}" for name, value in environment.items()]),
    ):
        raw = b"".join(each.encode(errors="surrogateescape") + b"\0" for each in shown)[:size]
        ctypes.memmove(start, raw.ljust(size, b"\0"), size)


def _load_dagentd() -> Callable[[], None]:
    """Load all that any command loads, also what it loads and builds when it is first needed: that was most of what
    the life of a daemon in a test cost."""
    from dagentd.adapters import tokens
    from dagentd.cli import COMMANDS, main

    for place, _ in COMMANDS.values():
        import_module(place.split(":")[0])
    for name in ("daemon", "pygit2"):
        import_module(name)
    for part in ("adapters.git", "adapters.watch", "cli", "formats", "jobs", "model", "rpc", "store"):
        package = import_module(f"dagentd.{part}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    tokens.count("the vocabulary")
    build_models()
    return main


def build_models() -> None:
    below = BaseModel.__subclasses__()
    while below:
        each = below.pop()
        each.model_rebuild()
        below += each.__subclasses__()


def _load_sdk() -> Callable[[], None]:
    """A client loads more than the import."""
    from dagentd.adapters.models import anthropic_child

    client = vars(anthropic_child)["anthropic"].Anthropic(api_key="none", base_url="http://127.0.0.1:9")
    assert client.messages
    return anthropic_child.main


def _load_script() -> Callable[[], None]:
    _load_sdk()
    return lambda: exec(sys.argv[1], {})


def _main() -> None:
    import gc

    main = {"dagentd": _load_dagentd, "sdk": _load_sdk, "script": _load_script}[sys.argv[1]]()
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[2])))
    main()


if __name__ == "__main__":
    _main()
