"""`dagentd config`: what it shows and when it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dagentd import cli, paths


@pytest.fixture
def user() -> Path:
    file = paths.config_file()
    file.parent.mkdir()
    return file


def test_the_settings_with_where_each_comes_from(user: Path, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user.write_text("budget.limit = 5000\nlog.level = 'debug'\n")
    (repo / ".dagent").mkdir()
    (repo / ".dagent" / "config.toml").write_text("budget.limit = 7000\n")
    assert cli.run_command(["config", str(repo)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["budget.limit", "7000", "project"] in lines
    assert ["log.level", "debug", "user"] in lines
    assert ["watch.enabled", "true", "default"] in lines
    assert ["user", "settings", str(user)] in lines


def test_without_any_file(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert cli.run_command(["config"]) == 0
    shown = capsys.readouterr().out
    assert f"{paths.config_file()} (not there: defaults)" in shown
    assert str(paths.socket()) in shown
    assert not paths.state_dir().exists()


def test_as_json(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user.write_text("budget.limit = 5000\n")
    assert cli.run_command(["config", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["settings"]["budget"]["limit"] == 5000
    assert shown["settings"]["compaction"]["fallback_models"] == ["claude-haiku-4-5"]
    assert shown["from"] == {"budget.limit": "user"}
    assert shown["files"] == {"user": {"path": str(user), "exists": True}}
    assert shown["paths"]["socket"] == str(paths.socket())


def test_mistakes_are_all_told_with_status_1(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user.write_text("budget.limt = 5\nlog.level = 'loud'\n")
    assert cli.run_command(["config"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "dagentd: 2 mistakes in the settings:\n"
        f"  {user}: budget.limt is not a setting; did you mean budget.limit?\n"
        f'  {user}: log.level is "loud"; it must be "info" or "debug" or "warning" or "error"\n'
        "Correct the file and run `dagentd config` to see what is in effect.\n"
    )


def test_a_project_that_is_not_there_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_command(["config", "/no/such/folder"]) == 2
    assert "does not exist" in capsys.readouterr().err
