"""What dagentd takes of the disk: each file once, each in its kind, and nothing of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagentd.adapters import git
from dagentd.model.project import Project
from dagentd.serving.status import DiskUse, measured
from tests.conftest import SampleProject

NOTHING = {"journals": 0, "kept": 0, "backups": 0, "setAside": 0}


def put(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


@pytest.fixture
def where(project: SampleProject) -> Project:
    found = git.project_at(project.root)
    found.kept_dir.mkdir(parents=True)
    return found


def test_nothing_takes_nothing(where: Project) -> None:
    assert measured(where) == NOTHING


def test_each_kind_in_both_styles_and_shapes(where: Project, project: SampleProject) -> None:
    sessions, nested = project.dagent / "sessions", project.dagent / "features" / "other"
    put(sessions / "history_a.jsonl", 1)
    put(nested / "sessions" / "b" / "history.jsonl", 10)
    put(nested / "nodes" / "t" / "sessions" / "history_c.jsonl", 100)
    put(project.root / ".dagent" / "sessions" / "history_d.jsonl", 1000)
    put(sessions / "chat_a.json.backup", 2)
    put(nested / "chat.json.backup.12", 20)
    put(project.root / ".agx" / "backups" / "x.json", 200)
    put(sessions / "chat_a.json.corrupt.1", 3)
    put(sessions / "history_a.jsonl.torn.2", 30)
    put(sessions / "chat_a.json", 5000)
    put(project.dagent / "attachments" / "history_big.jsonl", 5000)
    put(project.worktree / "history.jsonl", 5000)
    assert measured(where) == {"journals": 1111, "kept": 0, "backups": 222, "setAside": 33}


def test_a_journal_that_is_kept_counts_once(where: Project, project: SampleProject) -> None:
    journal = put(project.dagent / "sessions" / "history_a.jsonl", 7)
    os.link(journal, where.kept_dir / "a.1.jsonl")
    put(where.kept_dir / "gone.1.jsonl", 70)
    assert measured(where) == NOTHING | {"journals": 7, "kept": 70}
    journal.unlink()
    assert measured(where) == NOTHING | {"kept": 77}


def test_links_are_not_followed(where: Project, project: SampleProject, tmp_path: Path) -> None:
    big = put(tmp_path / "elsewhere" / "history_a.jsonl", 5000)
    (project.dagent / "sessions").symlink_to(big.parent)
    (project.dagent / "history_b.jsonl").symlink_to(big)
    os.mkfifo(project.dagent / "history_c.jsonl")
    assert measured(where) == NOTHING


def test_it_is_not_measured_all_the_time(
    where: Project, project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def slowly(project: Project) -> dict[str, int]:
        now[0] += 0.5
        return measured(project)

    monkeypatch.setattr("dagentd.adapters.clock.monotonic", lambda: now[0])
    monkeypatch.setattr("dagentd.serving.status.measured", slowly)
    use = DiskUse()
    assert use.of([where])[where.root]["journals"] == 0
    put(project.dagent / "sessions" / "history_a.jsonl", 7)
    now[0] = 10.4
    assert use.of([where])[where.root]["journals"] == 0
    now[0] = 10.5
    assert use.of([where])[where.root]["journals"] == 7
    assert use.of([]) == {}
