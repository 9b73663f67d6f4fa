"""The files for service managers are what their readers accept, whatever our path is."""

from __future__ import annotations

import configparser
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from dagentd.errors import InvalidInput
from dagentd.jobs import service_files
from dagentd.jobs.service_files import Program
from tests.patience import patience

ODD = "of 100% good & <bad> $names é"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    command = tmp_path / ODD / "dagentd"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o700)
    return Program((str(command),), {"XDG_STATE_HOME": f"/\"state\" \\ '{ODD}'"})


@pytest.fixture
def folder(program: Program, tmp_path: Path) -> Path:
    made = tmp_path / "units"
    made.mkdir()
    (made / "dagentd.service").write_bytes(service_files.service_unit(program))
    (made / "dagentd.socket").write_bytes(service_files.socket_unit(program))
    return made


def verify(folder: Path) -> str:
    """What systemd says about the units. Its exit status is 0 also for keys that it does not know."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    names = [str(folder / name) for name in ("dagentd.service", "dagentd.socket")]
    command = ["systemd-analyze", "--user", "verify", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience())
    return done.stdout + done.stderr


def test_systemd_has_nothing_to_say_about_the_units(folder: Path) -> None:
    assert verify(folder) == ""


@pytest.mark.parametrize(
    ("right", "wrong"), [("UMask=", "UMsk="), ("Type=notify", "Type=notfy"), ('ExecStart="/', 'ExecStart="/nowhere/')]
)
def test_the_check_can_fail(folder: Path, right: str, wrong: str) -> None:
    path = folder / "dagentd.service"
    path.write_text(path.read_text().replace(right, wrong))
    assert verify(folder) != ""


@pytest.mark.parametrize("path", ["/it's/dagentd", '/"it"/dagentd', "/it\\is/dagentd"])
def test_a_path_that_systemd_refuses_is_refused_before_it_is_installed(path: str) -> None:
    with pytest.raises(InvalidInput, match="systemd starts no program"):
        service_files.service_unit(Program((path,), {}))


def parsed(data: bytes) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(data.decode())
    return parser


def test_the_service_is_watched_restarted_and_confined(program: Program) -> None:
    service = dict(parsed(service_files.service_unit(program))["Service"])
    assert service.pop("ExecStart").endswith(" run")
    assert service.pop("Environment")
    assert service == {
        "Type": "notify",
        "ExecReload": "/bin/kill -HUP $MAINPID",
        "Restart": "on-failure",
        "RestartSec": "1",
        "WatchdogSec": "60",
        "TimeoutStopSec": "10",
        "UMask": "0077",
        "NoNewPrivileges": "yes",
        "LockPersonality": "yes",
        "MemoryDenyWriteExecute": "yes",
        "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
        "SystemCallFilter": "@system-service",
        "SystemCallErrorNumber": "EPERM",
    }


def test_the_socket_is_where_commands_look_for_it_and_only_for_its_user() -> None:
    socket = parsed(service_files.socket_unit(Program(("/bin/dagentd",), {})))["Socket"]
    assert dict(socket) == {
        "ListenStream": "%t/dagentd/dagentd.sock",
        "SocketMode": "0600",
        "DirectoryMode": "0700",
    }
    moved = service_files.socket_unit(Program(("/bin/dagentd",), {"DAGENTD_SOCKET": "/run/100%/d.sock"}))
    assert parsed(moved)["Socket"]["ListenStream"] == "/run/100%%/d.sock"


def test_the_plist_of_launchd(program: Program) -> None:
    assert plistlib.loads(service_files.plist(program)) == {
        "Label": "org.dagentd",
        "ProgramArguments": [*program.command, "run"],
        "EnvironmentVariables": dict(program.environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "Umask": 0o077,
    }


def test_the_command_is_the_one_that_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").write_text("#!/bin/sh\n")
    (tmp_path / "real").chmod(0o700)
    (tmp_path / "dagentd").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    environ = {"XDG_STATE_HOME": "/state", "DAGENTD_SOCKET": "", "PATH": "/bin"}
    found = service_files.program(["dagentd", "service", "install"], environ)
    assert found == Program((str(tmp_path / "dagentd"),), {"XDG_STATE_HOME": "/state"})


def test_without_such_a_command_python_runs_the_module(tmp_path: Path) -> None:
    found = service_files.program([str(tmp_path / "dagentd" / "__main__.py")], {})
    assert Path(found.command[0]).is_absolute() and found.command[1:] == ("-m", "dagentd")
