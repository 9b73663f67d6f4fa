"""`dagentd top` in a real terminal."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.cli.top import feed
from tests.conftest import SampleProject
from tests.e2e.daemon import Daemon, cpu_seconds, lives, processes_with, until
from tests.jobs.agx.tmux import Server
from tests.jobs.agx.tmux import server as server

PM = "pm-feature-feat-login"
COMMAND = shlex.join([sys.executable, "-m", "dagentd", "top"])


class Window:
    """A shell in tmux, in which somebody runs `dagentd top`."""

    def __init__(self, tmux: Server, cwd: Path, width: int = 100, height: int = 24) -> None:
        self.tmux = tmux
        self.tmux.run("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd), "sh")
        self.type("PS1='READY '", "Enter")
        self.sees("READY")

    def type(self, *keys: str) -> None:
        self.tmux.run("send-keys", *keys)

    def shell(self, command: str) -> None:
        self.type("-l", command)
        self.type("Enter")

    @property
    def text(self) -> str:
        return self.tmux.run("capture-pane", "-p")

    def sees(self, text: str, more: Callable[[str], bool] = lambda _: True) -> str:
        try:
            until(lambda: text in self.text and more(self.text), text)
        except AssertionError:
            raise AssertionError(f"{text!r} is not on the screen:\n{self.text}") from None
        return self.text

    def begins(self) -> int:
        """The process id of `dagentd top`, once it shows something."""
        self.shell(COMMAND)
        self.sees("q quit" if self.width > 40 else PM[:20])
        return next(pid for pid in processes_with(f"TMUX={self.variable}") if _is_top(pid))

    @property
    def width(self) -> int:
        return int(self.tmux.run("display-message", "-p", "#{pane_width}"))

    @property
    def variable(self) -> str:
        """What tmux tells its windows: all servers call their first pane the same."""
        return self.tmux.run("display-message", "-p", "#{socket_path},#{pid},#{s/[$]//:session_id}")

    def is_as_before(self) -> None:
        """The shell is back, with its own screen, its cursor, its echo and its line editing."""
        self.sees("READY", lambda text: text.strip().endswith("READY"))
        assert self.tmux.run("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}") == "0 1 1"
        self.shell("stty -a | tr ' ;' '\\n\\n' | grep -cx 'icanon\\|echo\\|isig'")
        self.sees("3\nREADY")  # on a busy machine a prompt of before may stand in front of it


def _is_top(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"dagentd\0top\0")


@pytest.fixture
def served(daemon: Daemon, project: SampleProject) -> Daemon:
    daemon.register(project.root)
    daemon.start()
    made = {"project": str(project.root), "type": "feature", "agentType": "pm", "featureId": project.feature}
    daemon.call("session.getOrCreate", **made)
    for content in ("We decided to use Postgres.", "Please write the migration."):
        daemon.call("session.addMessage", sessionId=PM, role="user", content=content)
    return daemon


@pytest.fixture
def window(server: Server, served: Daemon, tmp_path: Path) -> Window:
    return Window(server, tmp_path)


def test_it_shows_what_happens_as_it_happens(window: Window, served: Daemon, project: SampleProject) -> None:
    window.begins()
    window.sees(str(project.root))
    window.sees(f"> {PM}")
    window.sees("2 messages")
    served.call("session.addMessage", sessionId=PM, role="user", content="And one more")
    window.sees("message added")
    window.sees("3 messages")
    window.type("q")
    window.is_as_before()


def test_sessions_are_compacted_brought_back_shown_and_archived(window: Window, served: Daemon) -> None:
    window.begins()
    window.type("c")
    window.sees(f"Compact {PM}? y/n")
    window.type("n")
    window.sees("c compact")
    window.type("c", "y")
    window.sees("2 messages left the chat")
    assert served.call("session.getMessages", sessionId=PM)["total"] == 0
    window.type("Enter")
    window.sees("We decided to use Postgres")
    window.type("q")
    window.type("u", "y")
    window.sees("2 messages back in the chat")
    window.type("a", "y")
    window.sees("is archived")
    assert served.call("session.get", sessionId=PM)["status"] == "archived"
    window.type("u", "y")
    window.sees("was not compacted")
    window.type("q")
    window.is_as_before()


def test_it_outlives_the_daemon(window: Window, served: Daemon) -> None:
    window.begins()
    served.dagentd("stop")
    window.sees("dagentd is away")
    window.sees(PM)
    served.dagentd("start")
    window.sees("dagentd ok")
    served.call("session.addMessage", sessionId=PM, role="user", content="And one more")
    window.sees("message added")
    window.type("q")
    window.is_as_before()


@pytest.mark.parametrize("keys", [["C-c"], ["C-z"]])
def test_ctrl_c_and_ctrl_z_give_the_terminal_back(window: Window, keys: list[str]) -> None:
    window.begins()
    window.type(*keys)
    window.is_as_before()
    if keys == ["C-z"]:
        window.shell("clear; fg")
        window.sees("q quit")
        window.type("q")
        window.is_as_before()


@pytest.mark.parametrize("name", ["TERM", "HUP"])
def test_it_gives_the_terminal_back_when_it_is_ended(window: Window, name: str) -> None:
    pid = window.begins()
    os.kill(pid, {"TERM": 15, "HUP": 1}[name])
    until(lambda: not lives(pid), "the end of it")
    window.is_as_before()


def test_it_follows_the_size_of_the_terminal_down_to_a_small_one(window: Window) -> None:
    window.begins()
    window.sees("···")
    window.tmux.run("resize-window", "-x", "40", "-y", "10")
    text = window.sees("j/k  c compact", lambda text: "···" not in text)
    assert f"> {PM}" in text and max(map(len, text.splitlines())) <= 40
    window.tmux.run("resize-window", "-x", "120", "-y", "30")
    window.sees("enter show")
    window.type("q")
    window.is_as_before()


def test_a_look_costs_next_to_nothing_while_nothing_happens(window: Window, served: Daemon) -> None:
    """Every few seconds it looks at the daemon, and shows for how long that has been up."""
    pid = window.begins()
    until(lambda: served.status["queues"]["running"] == [], "the end of all jobs")
    before, begun, seen = cpu_seconds(pid), time.monotonic(), {window.text.splitlines()[0]}
    while len(seen) <= 3:
        seen.add(until(lambda: window.text.splitlines()[0] not in seen and window.text.splitlines()[0], "a look"))
    looks = max(3.0, (time.monotonic() - begun) / feed._SELDOM)  # on a busy machine not each of them is seen
    assert cpu_seconds(pid) - before < looks * 0.05


def test_without_a_terminal_it_prints_once(served: Daemon, project: SampleProject) -> None:
    shown = served.dagentd("top")
    assert shown.startswith("dagentd ok  up ") and f"{project.root}  1 session\n" in shown and f"> {PM}" in shown
    assert "\x1b" not in shown


def test_without_a_daemon_it_says_what_to_type(daemon: Daemon) -> None:
    assert "Try: dagentd start" in daemon.dagentd("top", status=3)
