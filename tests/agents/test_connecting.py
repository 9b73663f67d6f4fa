"""Connecting where the agent's program is not: by its settings, which are as before when that is undone."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.agents import connecting, plugins, settings_files
from dagentd.errors import CorruptFile, NotAllowed, NotFound
from tests.e2e.daemon import Daemon

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


@pytest.mark.parametrize(
    "odd", [b'{"enabledPlugins": null}', b'{"enabledPlugins": ["a"]}', b'{"extraKnownMarketplaces": "x"}']
)
def test_entries_of_a_kind_that_ours_cannot_join_are_left_alone(settings: Path, odd: bytes) -> None:
    settings.parent.mkdir()
    settings.write_bytes(odd)
    with pytest.raises(CorruptFile, match=r"must be an object, not (null|a list|a text)"):
        connecting.connect("claude-code", None)
    assert settings.read_bytes() == odd and connecting.connections() == []


def test_one_that_became_true_is_not_one_as_before(settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_bytes(b'{"a": 1}')
    made = connecting.connect("claude-code", None)
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "a": True}))
    assert connecting.disconnect(made).settings == {settings: False}
    assert json.loads(settings.read_text()) == {"a": True} and "true" in settings.read_text()


@pytest.mark.parametrize("there", [b"{}", b'{"permissions": {}}', b'{"theme": "dark"}'])
def test_settings_are_undone_in_the_folder_they_were_connected_in(
    settings: Path, there: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLAUDE_CONFIG_DIR may be another one since: what lies there was never ours to touch."""
    settings.parent.mkdir()
    settings.write_bytes(_ODD)
    made, other = connecting.connect("claude-code", None), tmp_path / "other" / "settings.json"
    other.parent.mkdir()
    other.write_bytes(there)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other.parent))
    assert connecting.disconnect(made).settings == {settings: True}
    assert settings.read_bytes() == _ODD and other.read_bytes() == there


def test_settings_in_two_folders_are_undone_in_both(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.parent.mkdir()
    settings.write_bytes(_ODD)
    connecting.connect("claude-code", None)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other"))
    made, other = connecting.connect("claude-code", None), tmp_path / "other" / "settings.json"
    assert connecting.disconnect(made).settings == {settings: True, other: True}
    assert settings.read_bytes() == _ODD and not other.exists()


def test_settings_of_codex_may_begin_with_a_mark_of_their_order(tmp_path: Path) -> None:
    config, before = tmp_path / "config.toml", b'\xef\xbb\xbfmodel = "o"\r\n'
    config.write_bytes(b"model = 'o'\n")
    assert settings_files.undo(config, before, lambda _: None) and config.read_bytes() == before


@pytest.mark.parametrize("before", [None, b'model = "o"\n', b'# old\nmodel = "o"\n'])
def test_what_a_user_noted_in_codexs_settings_stays(tmp_path: Path, before: bytes | None) -> None:
    config, now = tmp_path / "config.toml", b"# mine\n" + (b'model = "o"\n' if before else b"")
    config.write_bytes(now)
    assert not settings_files.undo(config, before, lambda _: None) and config.read_bytes() == now


def test_codexs_folder_is_the_one_it_was_wherever_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", "mine")
    monkeypatch.chdir(tmp_path)
    assert plugins.HOSTS["codex"].settings() == tmp_path / "mine" / "config.toml"


def test_large_settings_are_given_back(settings: Path) -> None:
    """What was in them is noted as base64, which is a third longer than what may be read of a document."""
    large = b'{"a": "' + b"x" * (13 << 20) + b'"}'
    settings.parent.mkdir()
    settings.write_bytes(large)
    connecting.disconnect(connecting.connect("claude-code", None))
    assert settings.read_bytes() == large and connecting.connections() == []


def test_a_folder_of_settings_that_is_a_link_stays(settings: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    settings.parent.symlink_to(tmp_path / "dotfiles")
    made = connecting.connect("claude-code", None)
    assert connecting.disconnect(made).settings == {settings: True}
    assert settings.parent.is_symlink() and list(settings.parent.iterdir()) == []


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


def test_who_leaves_for_good_leaves_no_agent_connected(
    daemon: Daemon, repo: Path, settings: Path, tmp_path: Path
) -> None:
    connecting.connect("claude-code", None)
    (tmp_path / "git").symlink_to(shutil.which("git", path=os.defpath) or "git")
    daemon.dagentd("init", cwd=repo)
    printed = daemon.dagentd("remove", "--purge", "--yes", cwd=repo)
    assert f"its entries are out of {settings}" in printed
    assert not settings.exists() and not paths.state_dir().exists()
