"""Every problem the doctor knows, made for real: it is named, and mended where that is said to be safe."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from dagentd.doctor.examination import examine
from dagentd.doctor.kinds import KINDS, kind_of
from dagentd.doctor.mending import MENDS
from tests.conftest import SampleProject
from tests.doctor.ailments import MAKERS
from tests.doctor.patient import Patient, can_unshare
from tests.e2e.daemon import Daemon, until
from tests.imports import modules

# Made in test_machine.py: they need a file system or limits of their own, or are judged from what a machine says.
ELSEWHERE = {"disk-full", "inotify-limit", "file-system", "watch-mount", "socket-refused"}
NAMESPACES = ("watch-limit", "watch-system")


@pytest.fixture
def patient(project: SampleProject, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Patient:
    return Patient(project, daemon, monkeypatch, tmp_path).registered()


@pytest.mark.parametrize("kind", MAKERS)
def test_it_is_named_and_mended_where_that_is_safe(patient: Patient, kind: str) -> None:
    if kind in NAMESPACES and not can_unshare():
        pytest.skip("no user namespace may be made here")
    with contextmanager(MAKERS[kind])(patient) as expected:
        found = patient.told(kind)
        assert any(str(expected) in f"{each.path} {each.message}" for each in found), found
        if not kind_of(kind).mend or kind in ("journal", "documents", "job-", "session-"):
            return  # those are looked at again when their cause is gone
        assert patient.mended(kind)
        assert not patient.told(kind)


@pytest.mark.parametrize("kind", ["journal", "documents", "job-", "session-"])
def test_what_is_well_again_is_seen_to_be_so_by_looking(patient: Patient, kind: str) -> None:
    with contextmanager(MAKERS[kind])(patient):
        assert patient.told(kind)
        problem = patient.told(kind)[0]
    assert "looked at again" in MENDS[kind_of(kind).mend](problem)
    until(lambda: not patient.told(kind), "the end of it")


def test_who_takes_away_what_is_named_is_not_told_of_it_again(patient: Patient) -> None:
    """Although a file that goes is no reason to look at anything."""
    legacy = patient.sample.dagent / "chat.json"
    legacy.write_text("{")
    patient.serve()
    patient.document("chat").write_text("{")
    for kind, file in (("migration-", "chat.json"), ("corrupt-", f"{patient.document('chat').name}.corrupt.1")):
        # One that makes no sense is told of before it is set aside, and then of its copy.
        until(lambda: [each for each in patient.told(kind) if Path(each.path).name == file], kind)  # noqa: B023
        Path(patient.told(kind)[0].path).unlink()
        assert not patient.told(kind)
    assert not legacy.exists() and patient.document("chat").exists()


@pytest.mark.parametrize("place", ["config", "HEAD", "worktrees/feat-login/HEAD"])
def test_a_pipe_in_the_place_of_what_git_reads_is_named_and_not_waited_for(patient: Patient, place: str) -> None:
    """Each question to git would take ten seconds, and there are several for each worktree."""
    pipe = patient.root / ".git" / place
    pipe.unlink()
    os.mkfifo(pipe)
    (found,) = patient.told("unchecked")
    assert (found.path, "is a pipe" in found.message, found.hint) == (str(pipe), True, "Remove it.")


def test_every_kind_is_made_somewhere_and_each_mend_is_for_one() -> None:
    assert MAKERS.keys() | ELSEWHERE == KINDS.keys()
    assert {kind.mend for kind in KINDS.values() if kind.mend} == MENDS.keys()


def test_a_healthy_project_has_nothing(patient: Patient) -> None:
    patient.serve()
    patient.scanned()
    assert examine()[1] == []


def test_every_id_that_the_code_can_give_is_in_the_table_and_no_other() -> None:
    """Read off the source: each literal that is given to what notes a problem, or yielded by what finds one."""
    sources = [module.source for module in modules() if module.name != "dagentd.doctor.kinds" and module.part != "cli"]
    given = r'(?:Problem\.of|Problem|\.note|open_to_others)\(\s*f?"([a-z-]+)[{"]|yield f?"([a-z-]+)[{"]'
    found = {one or other for text in sources for one, other in re.findall(given, text)}
    assert len(found) > 40, found
    assert [each for each in sorted(found) if kind_of(each).id not in KINDS] == []
    assert [each for each in KINDS if not any(f'"{each}' in text for text in sources)] == []
