"""`dagentd demo` shows what it promises, and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import SampleProject
from tests.e2e.daemon import Daemon, lives, processes_with, until
from tests.e2e.dagentd import start
from tests.e2e.terminal import Terminal
from tests.patience import patience

STEPS = ("dagentd migrate", "git commit", "dagentd undo", "dagentd call")


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """What every process that the demo starts has in its environment."""
    monkeypatch.setenv("OF_THIS_TEST", str(tmp_path))
    return f"OF_THIS_TEST={tmp_path}"


def folders(home: Path) -> list[Path]:
    return list((home / "tmp").iterdir())


def test_it_shows_each_step_and_leaves_nothing(tmp_path: Path, home: Path, marked: str) -> None:
    before = sorted(home.rglob("*"))
    done = start("demo", cwd=tmp_path)
    shown, errors = done.communicate(timeout=patience())
    assert (done.returncode, errors) == (0, "")
    assert [shown.index(f"$ {step}") for step in STEPS] == sorted(shown.index(f"$ {step}") for step in STEPS)
    assert "Sell socks" in shown and "6 messages are back" in shown and "«stolen»" in shown
    assert sorted(home.rglob("*")) == before
    assert list(tmp_path.iterdir()) == []
    assert processes_with(marked) == []


def test_it_needs_neither_the_key_nor_the_settings_nor_the_repository_of_the_user(
    project: SampleProject, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key would have it call a model, and settings with a mistake would stop it."""
    monkeypatch.setenv("DAGENTD_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("GIT_DIR", str(project.root / ".git"))
    (home / ".config" / "dagentd").mkdir()
    (home / ".config" / "dagentd" / "config.toml").write_text("[budget]\nlimit = 'many'\n")
    (home / ".gitconfig").write_text("[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n")
    before = subprocess.run(["git", "for-each-ref"], cwd=project.root, capture_output=True).stdout
    done = start("demo", cwd=project.root)
    shown, errors = done.communicate(timeout=patience())
    assert (done.returncode, errors) == (0, "") and "Sell socks" in shown
    assert subprocess.run(["git", "for-each-ref"], cwd=project.root, capture_output=True).stdout == before


def test_a_daemon_of_the_user_is_not_touched(daemon: Daemon, project: SampleProject) -> None:
    daemon.register(project.root)
    pid = daemon.start()
    status = daemon.status
    daemon.dagentd("demo", cwd=project.root)
    assert lives(pid) and daemon.pid == pid
    assert [each["root"] for each in daemon.status["projects"]] == [each["root"] for each in status["projects"]]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_ends_it_gets_a_clean_machine(how: signal.Signals, tmp_path: Path, home: Path, marked: str) -> None:
    terminal = Terminal(["dagentd", "demo"], tmp_path, os.environ)
    terminal.until("git commit")  # the daemon runs
    assert folders(home)
    if how == signal.SIGINT:
        terminal.type("\x03")
    else:
        os.kill(terminal.process.pid, how)
    assert terminal.end() == 130
    until(lambda: processes_with(marked) == [], "the end of all that was started")
    assert folders(home) == []
