"""`dagentd service` as a user types it, with a systemctl that does what systemd's does to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.dagentd import dagentd, dagentd_json

_SYSTEMCTL = """#!/bin/sh
PATH=/usr/bin:/bin
cd "$XDG_CONFIG_HOME/systemd/user" || exit
case "$2 $3" in
"enable dagentd.service") mkdir -p default.target.wants; ln -sf "$PWD/$3" default.target.wants ;;
"enable dagentd.socket") mkdir -p sockets.target.wants; ln -sf "$PWD/$3" sockets.target.wants ;;
"is-active "*) exit 3 ;;
esac
"""


@pytest.fixture
def folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the units go. No command of this machine is seen."""
    made = home / ".config" / "systemd" / "user"
    made.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return made


@pytest.fixture
def systemctl(folder: Path, tmp_path: Path) -> None:
    command = tmp_path / "bin" / "systemctl"
    command.parent.mkdir()
    command.write_text(_SYSTEMCTL)
    command.chmod(0o700)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.usefixtures("systemctl")
def test_install_status_uninstall(folder: Path, tmp_path: Path) -> None:
    said = dagentd("service", "install", cwd=tmp_path)
    assert said.splitlines() == [
        f"wrote {folder}/dagentd.service",
        "ran systemctl --user daemon-reload",
        "ran systemctl --user enable dagentd.service",
        "Start it now with: systemctl --user start dagentd.service",
    ]
    assert files(folder) == ["dagentd.service", "default.target.wants/dagentd.service"]
    unit = str(folder / "dagentd.service")
    state = dagentd_json("service", "status", cwd=tmp_path)
    assert state == {"manager": "systemd", "installed": [unit], "enabled": [unit], "active": []}
    assert "up to date" in dagentd("service", "install", cwd=tmp_path)
    assert f"removed {unit}" in dagentd("service", "uninstall", cwd=tmp_path)
    assert files(folder) == []
    assert dagentd("service", "uninstall", cwd=tmp_path) == "Nothing was installed.\n"


@pytest.mark.usefixtures("systemctl")
def test_the_socket_is_there_only_while_it_is_asked_for(folder: Path, tmp_path: Path) -> None:
    dagentd("service", "install", cwd=tmp_path)
    dagentd("service", "install", "--socket", cwd=tmp_path)
    assert files(folder) == ["dagentd.service", "dagentd.socket", "sockets.target.wants/dagentd.socket"]
    dagentd("service", "install", cwd=tmp_path)
    assert files(folder) == ["dagentd.service", "default.target.wants/dagentd.service"]


def test_without_systemctl_the_files_are_installed_and_the_rest_is_said(folder: Path, tmp_path: Path) -> None:
    said = dagentd("service", "install", cwd=tmp_path)
    assert files(folder) == ["dagentd.service"]
    assert said.splitlines()[1:] == [
        "No service manager of your user answers (systemctl: No such file or directory). When one does, run:",
        "  systemctl --user daemon-reload",
        "  systemctl --user enable dagentd.service",
    ]
    assert "systemd does not answer" in dagentd("service", "status", cwd=tmp_path)
    dagentd("service", "uninstall", cwd=tmp_path)
    assert files(folder) == []


def test_a_foreign_unit_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "dagentd.service").write_text("[Service]\n")
    said = dagentd("service", "install", cwd=tmp_path, status=1)
    assert said.startswith(f"dagentd: {folder}/dagentd.service: is not one that dagentd wrote")
    assert (folder / "dagentd.service").read_text() == "[Service]\n"
