"""The socket's place in the file system, tried on the real process."""

from __future__ import annotations

import os
import resource
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.rpc.client import Client, Unreachable
from tests.e2e.daemon import Daemon, until
from tests.patience import patience


def test_it_is_the_users_alone_from_the_first_moment(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGENTD_SOCKET", str(daemon.folder / "new" / "d.sock"))
    before = os.umask(0)
    try:
        done = daemon.command("start")
        assert "started" in done.communicate(timeout=patience())[0]
    finally:
        os.umask(before)
    try:
        folder = daemon.folder / "new"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "d.sock").stat().st_mode) == 0o600
    finally:
        daemon.dagentd("stop")


def test_a_folder_that_others_can_enter_is_refused(daemon: Daemon) -> None:
    daemon.folder.chmod(0o755)
    said = daemon.dagentd("start", status=1)
    assert f"{daemon.folder}: must be a folder of yours that nobody else can enter" in said
    assert f"chmod 700 {daemon.folder}" in said
    daemon.folder.chmod(0o700)
    daemon.start()


def test_a_stale_socket_costs_nothing(daemon: Daemon) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(str(daemon.socket))
    assert daemon.dagentd("status", status=3).startswith("dagentd: dagentd is not running")
    daemon.start()


@pytest.mark.parametrize("kind", ["regular file", "folder", "symlink"])
def test_what_squats_on_the_path_is_named_and_left_alone(daemon: Daemon, kind: str) -> None:
    if kind == "regular file":
        daemon.socket.write_text("mine")
    elif kind == "folder":
        daemon.socket.mkdir()
    else:
        daemon.socket.symlink_to(daemon.folder / "elsewhere")
    said = daemon.dagentd("start", status=3)
    assert f"{daemon.socket}: a {kind} is in the place of the daemon's socket" in said
    assert "Move it away" in said
    with pytest.raises(Unreachable, match=kind):
        daemon.client()
    assert "is in the place of the socket" in daemon.dagentd("run", status=1)
    assert daemon.socket.is_symlink() == (kind == "symlink")
    assert os.path.lexists(daemon.socket)
    assert daemon.processes() == []


def test_a_path_that_is_too_long_leads_both_to_the_same_short_one(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / ("long" * 30) / "d.sock"
    monkeypatch.setenv("DAGENTD_SOCKET", str(wanted))
    assert len(os.fsencode(paths.socket())) <= 107 < len(os.fsencode(wanted))
    try:
        done = daemon.command("start")
        assert str(paths.socket()) in done.communicate(timeout=patience())[0]
        with Client() as client:
            assert client.call("daemon.ping") == {}
        assert not wanted.parent.exists()
    finally:
        daemon.dagentd("stop")


def test_the_longest_path_is_used_as_it_is(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = str(daemon.folder / "x")
    wanted += "x" * (107 - len(wanted))
    monkeypatch.setenv("DAGENTD_SOCKET", wanted)
    try:
        assert wanted in daemon.dagentd("start")
        assert os.path.exists(wanted)
    finally:
        daemon.dagentd("stop")


@pytest.mark.usefixtures("beats")
def test_who_takes_its_place_meanwhile_shuts_nobody_out(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temp cleaner removed the folder, and another user was faster than the daemon."""
    for name in ("DAGENTD_SOCKET", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(daemon.folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(daemon.folder / "s"))
    first = paths.socket()
    process = daemon.command("run")
    try:
        until(first.exists, "the socket")
        first.parent.rename(daemon.folder / "away")
        first.parent.symlink_to("nowhere")
        spare = paths.socket()
        assert spare.parent == paths.state_dir()
        until(spare.exists, "the socket in its other place")
        assert daemon.dagentd("status").startswith("health")
    finally:
        process.terminate()


@pytest.mark.usefixtures("beats")
def test_a_socket_that_was_deleted_is_bound_again_and_clients_stay(daemon: Daemon) -> None:
    daemon.run()
    with daemon.client() as before:
        for _ in range(3):
            daemon.socket.unlink()
            until(daemon.answers, "binding again")
            assert before.call("daemon.ping") == {}
            assert daemon.call("daemon.ping") == {}
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o600


@pytest.mark.usefixtures("beats")
def test_a_file_in_the_place_of_a_deleted_socket_shows_until_it_is_gone(daemon: Daemon) -> None:
    daemon.run()
    with daemon.client() as client:
        daemon.socket.unlink()
        daemon.socket.write_text("mine")
        until(lambda: client.call("daemon.status")["health"] == "degraded", "the notice")
        told = [problem["message"] for problem in client.call("daemon.status")["problems"]]
        assert "is in the place of the socket" in told
        assert daemon.socket.read_text() == "mine"
        daemon.socket.unlink()
        until(lambda: client.call("daemon.status")["health"] == "ok", "the recovery")
    assert daemon.call("daemon.ping") == {}


def test_a_socket_of_somebody_else_in_its_place_is_not_removed(daemon: Daemon) -> None:
    process = daemon.run()
    daemon.socket.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(daemon.socket))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=patience()) == 0
        assert daemon.socket.exists()


def test_without_descriptors_left_it_waits_and_goes_on(daemon: Daemon) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))

    daemon.command("run", stdout=subprocess.DEVNULL, stderr=None, preexec_fn=few)
    until(daemon.answers, "the start")
    held = [daemon.connect() for _ in range(60)]
    with pytest.raises(Unreachable), Client(timeout=0.5) as client:
        client.call("daemon.ping")
    for connection in held:
        connection.close()
    assert daemon.call("daemon.ping") == {}
