"""Another user of the same machine, really another one: he reaches nothing, learns nothing, and can pose as nobody."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from dagentd import paths
from dagentd.errors import NotAllowed
from dagentd.rpc.client import Client
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, until
from tests.e2e.daemon import daemon as daemon
from tests.patience import patience

NOBODY = 54321  # a user that has no process
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@contextlib.contextmanager
def nobody(act: Callable[[], object]) -> Iterator[Iterator[bytes]]:
    """A process of another user, forked from this one because the Python of the tests may lie in root's home; the
    lines that it prints. It ends when this does."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _become(act, writer)
    os.close(writer)
    try:
        with os.fdopen(reader, "rb") as told:
            yield told
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _become(act: Callable[[], object], writer: int) -> NoReturn:
    try:
        os.dup2(writer, 1)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        act()
    except Exception as error:
        os.write(1, f"{type(error).__name__}\n".encode())
    finally:
        os._exit(0)


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def attempt(path: Path, method: str) -> None:
    """Ask the daemon something, and print what it says."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(patience(20))
        link.connect(str(path))
        say("connected")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            link.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode() + b"\n")
            say(f"answer {link.recv(65536)!r}")
        say("end")


def crowd(path: Path) -> None:
    links = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(400)]
    for link in links:
        link.connect(str(path))
    say("all")
    signal.pause()


def pose(path: Path, heard: Path) -> None:
    """Listen as a daemon would, and note what is said."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.bind(str(path))
        path.chmod(0o777)
        link.listen()
        say("listening")
        while True:
            client, _ = link.accept()
            with contextlib.suppress(OSError), client, heard.open("ab") as out:
                out.write(client.recv(65536))
                out.flush()
                client.sendall(b'{"jsonrpc": "2.0", "id": 1, "result": {"pid": 1, "projects": []}}\n')


@pytest.fixture
def served(daemon: Daemon, project: SampleProject) -> SampleProject:
    daemon.run(project.root)
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm", featureId=FEATURE)
    return project


def test_he_does_not_get_as_far_as_the_socket(daemon: Daemon, served: SampleProject) -> None:
    with nobody(lambda: attempt(daemon.socket, "daemon.status")) as said:
        assert list(said) == [b"PermissionError\n"]


@pytest.mark.parametrize("method", ["daemon.status", "session.list", "daemon.shutdown"])
def test_let_in_by_mistake_he_is_hung_up_on_unheard(daemon: Daemon, served: SampleProject, method: str) -> None:
    """Somebody opened folder and socket to all: who is at the other end is still asked of the system."""
    daemon.folder.chmod(0o755)
    daemon.socket.chmod(0o666)
    for _ in range(5):
        with nobody(lambda: attempt(daemon.socket, method)) as said:
            assert list(said) in ([b"connected\n", b"answer b''\n", b"end\n"], [b"connected\n", b"end\n"])
    assert daemon.status["pid"] in daemon.processes()


def test_a_crowd_of_strangers_keeps_nobody_out(daemon: Daemon, served: SampleProject) -> None:
    daemon.folder.chmod(0o755)
    daemon.socket.chmod(0o666)
    with nobody(lambda: crowd(daemon.socket)) as said:
        assert next(said) == b"all\n"
        assert daemon.call("daemon.ping") == {}
        assert daemon.status["connections"] < 5


def test_he_cannot_read_what_is_written(daemon: Daemon, served: SampleProject) -> None:
    """Every file and folder that dagentd made is closed to him, whatever umask it was started with."""
    session = f"pm-feature-{FEATURE}"
    daemon.call("session.addMessage", project=str(served.root), sessionId=session, role="user", content="x")
    until(lambda: (served.dagent / "sessions" / f"chat_{session}.json").exists(), "the chat")
    temps = served.root / ".git" / "dagentd" / "temp"  # for a while they hold files of others that we replaced
    until(lambda: not list(temps.iterdir()), "nothing that was replaced")
    made = [*served.dagent.joinpath("sessions").rglob("*"), *(served.root / ".git" / "dagentd").rglob("*")]
    made += [paths.state_dir(), *paths.state_dir().rglob("*"), served.dagent / "sessions", served.root / ".git/dagentd"]
    open_to_all = {str(path): oct(mode) for path in made if (mode := _mode(path)) & 0o077 and not path.is_symlink()}
    assert open_to_all == {}


def _mode(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(path.lstat().st_mode)
    return 0


@pytest.fixture
def posing(tmp_path: Path) -> Iterator[Path]:
    """Nobody listens where a client of ours looks, and notes what he hears."""
    place = Path("/tmp") / f"posing-{os.getpid()}-{time.monotonic_ns() % 10**6}"
    place.mkdir()
    place.chmod(0o777)
    with nobody(lambda: pose(place / "d.sock", place / "heard")) as said:
        assert next(said) == b"listening\n"
        yield place
    for path in place.iterdir():
        path.unlink()
    place.rmdir()


def test_one_who_poses_as_the_daemon_hears_nothing(posing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGENTD_SOCKET", str(posing / "d.sock"))
    with pytest.raises(NotAllowed, match="another user"):
        Client()
    for command in (["status"], ["doctor", "--json"], ["sessions"]):
        subprocess.run([sys.executable, "-m", "dagentd", *command], capture_output=True, check=False, cwd="/")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:  # it does listen, and notes what it hears
        mine.connect(str(posing / "d.sock"))
        mine.sendall(b"heard\n")
        mine.recv(65536)
    assert (posing / "heard").read_bytes() == b"heard\n"


def test_a_folder_that_he_made_first_is_refused(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fallback is a folder under /tmp with a name that anybody can guess."""
    for owner, mode in ((NOBODY, 0o700), (NOBODY, 0o777), (0, 0o777)):
        folder = daemon.folder / f"f{owner}-{mode:o}"
        folder.mkdir()
        os.chown(folder, owner, owner)
        folder.chmod(mode)
        monkeypatch.setenv("DAGENTD_SOCKET", str(folder / "d.sock"))
        said = daemon.dagentd("start", status=1)
        assert "must be a folder of yours that nobody else can enter" in said
        assert list(folder.iterdir()) == []
    monkeypatch.setenv("DAGENTD_SOCKET", str(daemon.socket))


def test_a_repository_of_his_is_told_of_and_not_obeyed(daemon: Daemon, project: SampleProject) -> None:
    """git refuses to read it; the daemon serves the sessions and says what to type."""
    for path in [project.root, *project.root.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    daemon.run(project.root)
    daemon.call("session.getOrCreate", project=str(project.root), type="feature", agentType="pm", featureId=FEATURE)
    context = daemon.call("session.rebuildContext", project=str(project.root), sessionId=f"pm-feature-{FEATURE}")
    assert "safe.directory" in json.dumps(context)
