"""Completion as it is typed: in real shells, on a real terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SampleProject
from tests.e2e.terminal import Terminal

PM, QA = "pm-feature-feat-login", "qa-feature-feat-login"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(dagentd completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -u -D; eval "$(dagentd completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "dagentd completion fish | source"),
}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, project: SampleProject) -> Iterator[Terminal]:
    """One in a project with two sessions, that has learned to complete."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here; install the package {name}")
    for session in (PM, QA):
        path = project.dagent / "sessions" / f"session_{session}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"id": session}))
    (project.root / "plain folder").mkdir()
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command, learn = SHELLS[name]
    terminal = Terminal(command, project.root, {**os.environ, "PATH": programs, "TERM": "xterm"}, columns=200)
    terminal.type(f"{learn}; echo rea''dy\n")
    terminal.until("ready")
    yield terminal
    terminal.type("\x15exit\n")
    assert terminal.end() == 0
    assert "rror" not in terminal.text and "not found" not in terminal.text


def press(shell: Terminal, typed: str, *shown: str) -> None:
    """Type this and Tab; then all of these are on the screen, in any order."""
    shell.said = ""
    shell.type(typed)
    for each in shown:
        shell.until(each)
    shell.type("\x15")


def test_commands_sessions_options_values_and_paths(shell: Terminal) -> None:
    press(shell, "dagentd expo\t", "export")
    press(shell, "dagentd show p\t", PM)
    press(shell, f"dagentd add {QA} --rol\t", "--role")
    press(shell, f"dagentd add {QA} --role as\t", "assistant")
    press(shell, "dagentd events --type session:upd\t", "session:updated")
    press(shell, "dagentd hooks uni\t", "uninstall")
    press(shell, "dagentd init plai\t", "folder")
    press(shell, "dagentd show \t\t", PM, QA)


def test_where_nothing_can_be_said_nothing_is_said(shell: Terminal) -> None:
    for typed, last in (("dagentd show nothi\t\tng", "ng"), ("dagentd nonsense x\t\tyz", "yz")):
        press(shell, typed, last)
        assert "\n" not in shell.said
