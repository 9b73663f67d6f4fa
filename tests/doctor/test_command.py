"""`dagentd doctor` as a user meets it: its words, its exit status, and that looking changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from dagentd.doctor import project_checks
from dagentd.doctor.examination import examine
from dagentd.doctor.kinds import KINDS, kind_of
from dagentd.jobs import hooks
from tests.conftest import SampleProject, git
from tests.doctor.patient import PM, Patient, doctor
from tests.e2e.daemon import Daemon
from tests.e2e.dagentd import dagentd
from tests.permissions import mode

KEYS = ["id", "message", "path", "hint", "since", "level", "cause", "fix", "fixable"]


@pytest.fixture
def patient(project: SampleProject, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Patient:
    return Patient(project, daemon, monkeypatch, tmp_path).registered()


def everything(*folders: Path) -> dict[str, object]:
    """All names below some folders, and what each is; not when it was read."""
    found: dict[str, object] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            status = path.lstat()
            data = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
            found[str(path)] = (status.st_mode, status.st_ino, status.st_mtime_ns, data)
    return found


def test_nothing_wrong(patient: Patient) -> None:
    patient.serve()
    done = doctor()
    assert (done.returncode, done.stdout) == (0, f"The daemon runs (process {patient.daemon.pid}). Nothing is wrong.\n")


def test_a_folder_that_was_closed_is_seen_before_the_daemon_looks_again(patient: Patient) -> None:
    link = patient.sample.dagent / "features"
    link.symlink_to(patient.tmp)
    (found,) = project_checks.session_findings(patient.project, look=False, known=())
    assert (found[0], found[1].path) == ("folder", str(link))


def test_a_repository_that_may_not_be_looked_into_stops_nothing(patient: Patient) -> None:
    with mode(patient.root, 0o000):
        told = {each.id: each for each in examine()[1]}
        assert told["project"].message == "permission denied" and told["project"].path == str(patient.root)
        assert "not-running" in told
    assert "project" not in {each.id for each in examine()[1]}


def test_on_a_machine_that_never_saw_dagentd() -> None:
    done = doctor()
    assert (done.returncode, done.stdout, done.stderr) == (0, "No daemon answers. Nothing is wrong.\n", "")
    assert not Path(os.environ["XDG_STATE_HOME"], "dagentd").exists()


def test_in_a_repository_that_is_not_registered(patient: Patient, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    assert f"{other} is not registered" in dagentd("doctor", cwd=other, status=1)
    assert "is not registered" not in dagentd("doctor", cwd=patient.root, status=1)


def test_problems_and_notes_in_words(patient: Patient) -> None:
    hooks.uninstall(patient.project)
    done = doctor()
    assert done.returncode == 1
    assert (
        done.stdout
        == f"""\
problem: not-running
  No daemon runs.
  Cause: No daemon runs, although repositories are registered.
  Do:    dagentd start

note: hooks-missing *
  {patient.root}
  Git does not tell about each commit: no post-checkout, post-commit,
  post-merge, post-rewrite.
  Cause: Git does not tell dagentd about commits: hooks were never installed, or
         were replaced.
  Do:    dagentd hooks install
         {patient.root}

No daemon answers. 1 problem, 1 note.
`dagentd doctor --fix` mends what is marked with *.
"""
    )


def test_notes_alone_are_no_failure(patient: Patient) -> None:
    hooks.uninstall(patient.project)
    patient.serve()
    assert doctor().returncode == 0


def test_fixing_says_what_was_done_and_how_to_undo_it(patient: Patient) -> None:
    hooks.uninstall(patient.project)
    patient.serve()
    done = doctor("--fix")
    words = " ".join(done.stdout.split())
    assert words.startswith("fixed hooks-missing: The hooks were installed; undo it with `dagentd hooks uninstall")
    assert words.endswith("Nothing is wrong.") and done.returncode == 0
    patient.daemon.dagentd("hooks", "uninstall", str(patient.root))
    assert patient.told("hooks-missing")


def test_what_cannot_be_fixed_is_said_and_the_rest_is_fixed(patient: Patient) -> None:
    hooks.uninstall(patient.project)
    patient.journal.unlink()
    patient.journal.mkdir()
    told = json.loads(doctor("--fix", "--json").stdout)
    assert [each["id"] for each in told["fixed"]] == ["hooks-missing"]
    assert [(each["id"], each["reason"]) for each in told["failed"]] == [
        (f"session-{PM}", "it is still so: is not a regular file")
    ]
    assert {each["id"] for each in told["problems"]} == {"not-running", f"session-{PM}"}


def test_json_is_stable(patient: Patient) -> None:
    patient.document("chat").write_text("{")
    done = doctor("--json")
    told = json.loads(done.stdout)
    assert list(told) == ["daemon", "problems", "fixed", "failed"] and told["daemon"] is None
    assert all(list(each) == KEYS for each in told["problems"])
    assert [(each["id"], each["level"]) for each in told["problems"]] == [
        ("not-running", "problem"), ("corrupt-chat", "note"),
    ]  # fmt: skip
    patient.serve()
    assert json.loads(doctor("--json").stdout)["daemon"] == {
        "pid": patient.daemon.pid, "health": "ok", "version": patient.daemon.status["version"],
    }  # fmt: skip


@pytest.mark.parametrize("serve", [True, False], ids=["with a daemon", "without"])
def test_looking_changes_nothing(patient: Patient, serve: bool) -> None:
    """Whatever is wrong: here a document that the daemon would set aside, hooks that are gone, a temp file."""
    hooks.uninstall(patient.project)
    if serve:
        patient.serve()
        patient.scanned()
    else:
        patient.document("chat").write_text("{")
        (patient.project.temp_dir / ".chat.0123.7-1.dagentd-tmp").write_text("{")
    places = (patient.root, *(() if serve else (Path(os.environ["XDG_STATE_HOME"]), patient.daemon.folder)))
    before = everything(*places)
    doctor()
    assert everything(*places) == before


def test_no_line_is_wider_than_a_terminal_but_for_a_path(patient: Patient) -> None:
    hooks.uninstall(patient.project)
    patient.document("chat").write_text("{")
    lines = doctor(env={**os.environ, "COLUMNS": "80"}).stdout.splitlines()
    assert [line for line in lines if len(line) > 80 and "/" not in line] == []


def test_every_kind_has_words_a_person_can_use() -> None:
    for kind in KINDS.values():
        assert kind.cause.endswith(".") and len(kind.cause) < 130, kind.id
        assert kind.remedy, kind.id
    assert kind_of("corrupt-chat") is KINDS["corrupt-"] and kind_of("job-look x") is KINDS["job-"]
    assert kind_of("from-the-future").level == "problem"
