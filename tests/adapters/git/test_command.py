"""Asking git: of the repository in the folder, whatever the environment says, and with its own words on failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagentd.adapters.git import command
from dagentd.errors import DagentdError, LimitReached, NotAllowed


def test_the_folder_decides_not_the_environment(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    assert command.ask(repo, "log", "-1", "--format=%s") == "Start\n"


def test_git_s_own_reason_is_told(repo: Path) -> None:
    with pytest.raises(DagentdError, match=r"git says: fatal: Needed a single revision") as caught:
        command.ask(repo, "rev-parse", "--verify", "refs/heads/nonsense^{nonsense}")
    assert caught.value.path == str(repo)


def test_a_name_that_is_no_text_survives(repo: Path) -> None:
    (repo / 'caf\udce9\n"q"').write_text("")
    assert 'caf\udce9\n"q"\0' in command.ask(repo, "ls-files", "-z", "--others")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="not there"):
        command.ask(tmp_path / "gone", "status")


def test_no_git_at_all(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotAllowed) as caught:
        command.ask(repo, "status")
    assert "Install git" in caught.value.hint


def test_a_git_that_hangs(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(command, "PATIENCE", 0.2)
    with pytest.raises(LimitReached):
        command.ask(repo, "status")
