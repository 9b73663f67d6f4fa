"""What a machine can lack: made for real in a namespace of its own, where that can be, and judged by what it says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.adapters.watch import coverage
from dagentd.doctor import machine
from dagentd.jobs import service_files
from dagentd.model.problem import Findings
from dagentd.settings.tables import Compaction
from tests.conftest import SampleProject
from tests.doctor.patient import Patient, can_unshare, doctor
from tests.e2e.daemon import Daemon


@pytest.fixture
def patient(project: SampleProject, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Patient:
    return Patient(project, daemon, monkeypatch, tmp_path).registered()


def ids(found: Findings) -> list[str]:
    return [kind for kind, _ in found]


def test_a_disk_that_is_nearly_full(patient: Patient) -> None:
    if not can_unshare():
        pytest.skip("no file system may be mounted here")
    full = f'mount -t tmpfs -o size=1m none {paths.state_dir()} && exec "$@"'
    problems = json.loads(doctor("--json", within=full).stdout)["problems"]
    (told,) = (each for each in problems if each["id"] == "disk-full")
    assert told["path"] == str(paths.state_dir()) and "1.0 MB left" in told["message"]
    assert "disk-full" not in doctor("--json").stdout


def test_the_remedy_for_what_is_open_can_be_typed(tmp_path: Path) -> None:
    folder = tmp_path / "it's open"
    folder.mkdir()
    folder.chmod(0o755)
    ((_, found),) = machine.open_to_others("state-open", folder, folder.stat().st_mode)
    subprocess.run(["sh", "-c", found.hint], check=True)
    assert list(machine.open_to_others("state-open", folder, folder.stat().st_mode)) == []


@pytest.mark.parametrize("there", [True, False])
def test_a_home_that_may_not_be_written(patient: Patient, there: bool) -> None:
    """Where nothing can be started: also before anything of dagentd is in it."""
    if not can_unshare():
        pytest.skip("no file system may be mounted here")
    state = paths.state_dir()
    made = f"mkdir {state} && " if there else ""
    home = f'mount -t tmpfs none {state.parent} && {made}mount -o remount,bind,ro {state.parent} && exec "$@"'
    problems = json.loads(doctor("--json", within=home).stdout)["problems"]
    (told,) = (each for each in problems if each["id"] == "state-refused")
    assert told["path"] == str(state) and told["hint"]
    assert ("not yours to write" in told["message"]) and (there or str(state.parent) in told["message"])


@pytest.mark.parametrize("there", [True, False])
def test_a_place_for_the_socket_that_may_not_be_written(patient: Patient, there: bool) -> None:
    if not can_unshare():
        pytest.skip("no file system may be mounted here")
    patient.patch.setenv("XDG_RUNTIME_DIR", str(patient.tmp / "runtime"))
    patient.patch.delenv("DAGENTD_SOCKET", raising=False)
    folder = paths.socket().parent
    folder.parent.mkdir()
    made = f"mkdir -m 700 {folder} && " if there else ""
    around = f'mount -t tmpfs none {folder.parent} && {made}mount -o remount,bind,ro {folder.parent} && exec "$@"'
    problems = json.loads(doctor("--json", within=around).stdout)["problems"]
    (told,) = (each for each in problems if each["id"] == "socket-refused")
    assert told["path"] == str(folder) and "not yours to write" in told["message"] and told["hint"]


def test_a_disk_without_room_for_names() -> None:
    assert ids(machine.little_room(Path("/x"), 10**12, 0)) == ["disk-full"]
    assert ids(machine.little_room(Path("/x"), 10**12, None)) == []
    assert ids(machine.little_room(Path("/x"), 10**12, 5)) == []


def test_few_watches(patient: Patient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The system's own limit cannot be changed here; what tells it can."""
    (tmp_path / "max_user_watches").write_text("1024\n")
    monkeypatch.setattr(coverage, "_BUDGET", tmp_path / "max_user_watches")
    (problem,) = patient.told("inotify-limit")
    assert "512 inotify watches" in problem.message
    assert ids(machine.few_watches(4096)) == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("ext4", []), ("nfs4", ["watch-mount"]), ("vfat", ["file-system"]), ("fuseblk", ["watch-mount", "file-system"])],
)
def test_weak_file_systems(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, expected: list[str]
) -> None:
    """No such file system can be mounted here; the table of mounts says there is one."""
    (tmp_path / "mounts").write_text(f"1 2 0:1 / / rw - ext4 a b\n2 2 0:2 / {patient.root} rw - {kind} a b\n")
    monkeypatch.setattr(coverage, "MOUNT_TABLE", tmp_path / "mounts")
    assert [each.id for name in ("watch-mount", "file-system") for each in patient.told(name)] == expected


@pytest.mark.parametrize(
    ("settings", "environment", "expected"),
    [
        (Compaction(backend="auto"), {}, []),
        (Compaction(backend="anthropic"), {}, ["no-key"]),
        (Compaction(backend="anthropic"), {"DAGENTD_API_KEY": "k"}, []),
        (Compaction(backend="anthropic"), {"ANTHROPIC_API_KEY": "k"}, []),
        (Compaction(backend="anthropic", api_key_command="pass key"), {}, []),
    ],
)
def test_a_key_is_wanted(settings: Compaction, environment: dict[str, str], expected: list[str]) -> None:
    assert ids(machine.key(settings, environment)) == expected


def test_dates(tmp_path: Path) -> None:
    assert ids(machine.ahead((1000.0, tmp_path), 900.0)) == []
    assert ids(machine.ahead((10_000.0, tmp_path), 900.0)) == ["clock"]
    assert ids(machine.ahead(None, 900.0)) == []


@pytest.mark.parametrize("name", ["/opt/a b/bin/dagentd", "/opt/100%/dagentd", "/opt/ü/dagentd", "/opt/<&>/dagentd"])
def test_the_program_of_a_service_is_read_off_its_unit(name: str) -> None:
    program = service_files.Program((name,), {"DAGENTD_SOCKET": "/x"})
    assert service_files.program_in(service_files.service_unit(program)) == name
    assert service_files.program_in(service_files.plist(program)) == name
    assert service_files.program_in(service_files.socket_unit(program)) is None


def test_a_program_that_is_there(tmp_path: Path) -> None:
    assert ids(machine.gone_program(tmp_path / "unit", "/bin/sh")) == []
    assert ids(machine.gone_program(tmp_path / "unit", str(tmp_path / "no"))) == ["service-program"]
