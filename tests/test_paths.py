"""Paths follow XDG, fit into a socket address, and come into being nowhere by being asked for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dagentd import paths, socket_path
from dagentd.errors import InvalidInput


def test_each_path_follows_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/r")
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    assert paths.socket() == Path("/r/dagentd/dagentd.sock")
    assert paths.state_dir() == Path("/s/dagentd")
    assert paths.index_file() == Path("/s/dagentd/index.sqlite3")
    assert {file.parent for file in (paths.log_file(), paths.registry_file(), paths.lock_file())} == {paths.state_dir()}
    assert paths.config_file() == Path("/c/dagentd/config.toml")


@pytest.mark.parametrize("value", [None, "", "relative/path"])
def test_without_a_usable_variable_the_home_is_used(
    value: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)
    assert paths.state_dir() == home / ".local/state/dagentd"
    assert paths.config_file() == home / ".config/dagentd/config.toml"


def test_without_a_runtime_folder_the_socket_is_in_the_users_folder_under_temp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", "/t")
    assert paths.socket() == Path(f"/t/dagentd-{os.getuid()}/dagentd.sock")
    monkeypatch.delenv("TMPDIR")
    assert paths.socket() == Path(f"/tmp/dagentd-{os.getuid()}/dagentd.sock")


@pytest.mark.parametrize("squat", ["file", "link", "of another user"])
def test_who_takes_the_folder_under_temp_blocks_nobody(
    squat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(socket_path, "LONGEST", 500)
    taken = tmp_path / f"dagentd-{os.getuid()}"
    if squat == "file":
        taken.touch()
    elif squat == "link":
        taken.symlink_to("elsewhere")
    else:
        other = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: other)
        taken = tmp_path / f"dagentd-{other}"
        taken.mkdir()
    spare = paths.state_dir() / "dagentd.sock"
    assert paths.socket() == spare and paths.socket_dir() is None
    spare.parent.mkdir(parents=True)
    spare.touch()  # as the daemon makes it
    taken.rename(tmp_path / "left")
    assert paths.socket() == spare
    spare.unlink()
    assert paths.socket().parent == paths.socket_dir() == taken


def test_the_given_socket_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGENTD_SOCKET", "/x/y.sock")
    assert paths.socket() == Path("/x/y.sock")


@pytest.mark.parametrize("variable", ["DAGENTD_SOCKET", "XDG_RUNTIME_DIR"])
@pytest.mark.parametrize("temp", ["/tmp", "/" + "t" * 120])
def test_a_long_path_becomes_one_that_can_be_bound(
    variable: str, temp: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", temp)
    monkeypatch.setenv(variable, str(tmp_path / ("ü" * 60)))
    short = paths.socket()
    assert short == paths.socket()
    assert short.parent == Path(f"/tmp/dagentd-{os.getuid()}")
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(OSError, match=r"No such file|refused"):
        probe.connect(os.fspath(short))  # too long would be: AF_UNIX path too long


def test_two_long_paths_are_two_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGENTD_SOCKET", "/a" * 70)
    one = paths.socket()
    monkeypatch.setenv("DAGENTD_SOCKET", "/b" * 70)
    assert paths.socket() != one


def test_a_path_at_the_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = "/" + "x" * (socket_path.LONGEST - 1)
    monkeypatch.setenv("DAGENTD_SOCKET", longest)
    assert paths.socket() == Path(longest)
    monkeypatch.setenv("DAGENTD_SOCKET", longest + "x")
    assert paths.socket() != Path(longest + "x")


def test_no_home_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for a user id without an account
    with pytest.raises(InvalidInput, match="no home folder"):
        paths.state_dir()


def test_asking_creates_nothing(home: Path) -> None:
    before = sorted(home.rglob("*"))
    for ask in (paths.socket, paths.state_dir, paths.config_file, paths.index_file, paths.log_file):
        ask()
    assert sorted(home.rglob("*")) == before
