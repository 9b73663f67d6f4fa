"""The script that agents' hooks run: what it leaves, and that an agent goes on whatever is in its way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.agents import plugins
from dagentd.agents.notes import Note, Notes
from tests.patience import patience

UUID = "11111111-2222-4333-8444-555555555555"
SHELLS = [shell for shell in ("dash", "bash", "sh", "zsh", "busybox") if shutil.which(shell)]
EVENTS = ("SessionStart", "Stop", "SubagentStop", "PostCompact", "SessionEnd")


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a folder whose name every shell would stumble over."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / 'it\'s "$HOME" `x` é'))
    plugins.copy()
    return paths.connect_dir() / "spool"


def command(agent: str, event: str) -> str:
    hooks = json.loads((plugins.market(agent) / "dagentd" / "hooks" / "hooks.json").read_bytes())["hooks"]
    assert sorted(hooks) == sorted(EVENTS)
    [group] = hooks[event]
    [hook] = group["hooks"]
    assert hook["timeout"] == 1
    return str(hook["command"])


def run(agent: str, event: str, shell: str = "sh", told: bytes = b"{}", uuid: str = UUID) -> None:
    """As an agent does; it must end well and say nothing."""
    line = [shell, *(["sh"] if shell == "busybox" else []), "-c", command(agent, event)]
    environ = {"PATH": os.environ["PATH"], "CLAUDE_CODE_SESSION_ID": uuid}
    with subprocess.Popen(line, env=environ, stdin=-1, stdout=-1, stderr=-1) as done:
        printed = done.communicate(told, timeout=patience())
    assert (done.returncode, printed) == (0, (b"", b""))


def notes() -> list[Note]:
    return Notes(paths.connect_dir()).take()


@pytest.mark.parametrize("shell", SHELLS)
def test_word_of_a_conversation_arrives_by_any_shell(spool: Path, shell: str) -> None:
    (spool.parent / "program").write_text("/not/there\n")
    for event in EVENTS:
        run("claude-code", event, shell)
        assert notes() == [Note("claude-code", UUID)]
    assert list(Notes(spool.parent).last()) == ["claude-code"]
    run("codex", "Stop", uuid="")
    run("claude-code", "Stop", uuid="../../../odd")
    assert set(notes()) == {Note("codex", None), Note("claude-code", None)}


def _as_fifo(path: Path) -> None:
    os.mkfifo(path)


def _as_link(path: Path) -> None:
    path.symlink_to(path.parents[1] / "elsewhere")


@pytest.mark.parametrize("put", [_as_fifo, _as_link, Path.mkdir])
def test_what_is_in_the_way_holds_nothing_up(spool: Path, put: Callable[[Path], None]) -> None:
    put(spool / f"claude-code.{UUID}")
    run("claude-code", "Stop")
    assert not (spool.parent / "elsewhere").exists() and notes() == []


def test_much_that_nobody_reads_is_no_trouble(spool: Path) -> None:
    run("claude-code", "Stop", told=b"x" * 4_000_000)
    assert notes() == [Note("claude-code", UUID)]


@pytest.mark.parametrize("damage", ["", "\n\n=\n", "/bin/false\n= x\nA\n"])
def test_a_damaged_program_file_holds_nothing_up(spool: Path, damage: str) -> None:
    (spool.parent / "program").write_text(damage)
    run("claude-code", "SessionStart")
    assert notes() == [Note("claude-code", UUID)]


def test_nothing_is_left_and_nothing_said_where_dagentd_is_gone(spool: Path) -> None:
    lines = {event: command("claude-code", event) for event in EVENTS}
    shutil.rmtree(spool)
    run("claude-code", "Stop")
    assert not spool.exists()
    shutil.rmtree(spool.parent)
    for line in lines.values():
        done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_names_that_no_hook_gave_are_left_alone(spool: Path) -> None:
    for name in ("README", "claude-code.x", f"claude-code.{UUID}.x"):
        (spool / name).touch()
    assert notes() == []
