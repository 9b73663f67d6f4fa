"""Connecting where the agent's program is not: by its settings, which are as before when that is undone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.agents import connecting, plugins
from dagentd.errors import CorruptFile, NotAllowed, NotFound

_ODD = b'{\n    "model": "opus",\t"enabledPlugins": {},\n "hooks": {}}'
_BEFORE = [
    None,
    b"{}",
    b"",
    _ODD,
    b'{"enabledPlugins": {"other@x": true}, "extraKnownMarketplaces": {"x": {"a": 1}}}\n',
]


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def settings(home: Path) -> Path:
    return home / ".claude" / "settings.json"


@pytest.mark.parametrize("before", _BEFORE)
def test_settings_are_byte_for_byte_as_before(settings: Path, before: bytes | None) -> None:
    if before is not None:
        settings.parent.mkdir()
        settings.write_bytes(before)
    made = connecting.connect("claude-code", None)
    assert _entries(settings) == (str(paths.connect_dir() / "claude-code"), True)
    again = connecting.connect("claude-code", None)
    assert again.at >= made.at and connecting.connections() == [again]
    done = connecting.disconnect(again)
    assert done.settings == {settings: True} and (settings.read_bytes() if settings.exists() else None) == before
    assert settings.parent.exists() == (before is not None)
    assert connecting.connections() == [] and not paths.connect_dir().exists()


def _entries(settings: Path) -> tuple[str, bool]:
    found = json.loads(settings.read_bytes())
    return found["extraKnownMarketplaces"]["dagentd"]["source"]["path"], found["enabledPlugins"]["dagentd@dagentd"]


@pytest.mark.parametrize("before", _BEFORE)
def test_what_the_user_changed_since_stays(settings: Path, before: bytes | None) -> None:
    settings.parent.mkdir()
    if before is not None:
        settings.write_bytes(before)
    made = connecting.connect("claude-code", None)
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "theme": "dark"}))
    assert connecting.disconnect(made).settings == {settings: False}
    now, was = json.loads(settings.read_text()), json.loads(before or b"{}")
    assert now == {**was, "theme": "dark"}


def test_another_order_and_layout_is_no_change(settings: Path) -> None:
    """Claude Code writes its settings in a layout of its own."""
    settings.parent.mkdir()
    settings.write_bytes(_ODD)
    made = connecting.connect("claude-code", None)
    fields = json.loads(settings.read_text())
    settings.write_text(json.dumps(dict(reversed(fields.items())), indent=7))
    assert connecting.disconnect(made).settings == {settings: True} and settings.read_bytes() == _ODD


def test_settings_that_make_no_sense_are_left_alone(settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_text("{ // mine")
    with pytest.raises(CorruptFile, match=r"settings\.json"):
        connecting.connect("claude-code", None)
    assert settings.read_text() == "{ // mine"


def test_settings_that_are_gone_stay_gone(settings: Path) -> None:
    made = connecting.connect("claude-code", None)
    settings.unlink()
    connecting.disconnect(made)
    assert not settings.exists() and connecting.connections() == []


def test_what_cannot_be_done_without_the_program_is_said(repo: Path) -> None:
    with pytest.raises(NotFound, match="no codex command"):
        connecting.connect("codex", None)
    with pytest.raises(NotFound, match="no claude command"):
        connecting.connect("claude-code", repo)
    with pytest.raises(NotAllowed, match="not for a worktree"):
        connecting.connect("codex", repo)
    assert not paths.connect_dir().exists()


def test_the_copy_names_no_virtualenv_but_in_one_line() -> None:
    connecting.connect("claude-code", None)
    python = os.path.dirname(sys.executable).encode()
    copied = [path for path in paths.connect_dir().rglob("*") if path.is_file()]
    assert [path.name for path in copied if python in path.read_bytes()] == ["program"]
    assert plugins.wrong() == []
    (paths.connect_dir() / "hook.sh").write_text("")
    (paths.connect_dir() / "program").unlink()
    assert {path.name for path in plugins.wrong()} == {"hook.sh", "program"}
    connecting.connect("claude-code", None)
    assert plugins.wrong() == []


def test_what_others_put_there_stays() -> None:
    made = connecting.connect("claude-code", None)
    (paths.connect_dir() / "mine").write_text("x")
    connecting.disconnect(made)
    assert [path.name for path in paths.connect_dir().iterdir()] == ["mine"]
