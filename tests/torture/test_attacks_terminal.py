"""Text that would steer a terminal, wherever text can come from: it reaches none, whatever command prints it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd import cli
from tests.conftest import FEATURE, git
from tests.e2e.daemon import Daemon, until
from tests.e2e.daemon import daemon as daemon
from tests.torture.terminal import shown, steering, watched

PM = f"pm-feature-{FEATURE}"
# Title, clear screen, colour by a C1 control, a device control string, text that runs backwards, backspaces, a bell.
EVIL = "\x1b]0;OWNED\x07\x1b[2J\x9b31m\x90q\u202etxt\u2066\x08\x7f{0}%s%n$(id)`id`"
NAME = "re\x1b[2Jpo\u202e\x9b31m"  # of a folder


@pytest.fixture
def evil(tmp_path: Path, daemon: Daemon) -> Iterator[Path]:
    """A served repository in which every text is hostile: its own path, branch, commits, files, feature, messages."""
    root = tmp_path / NAME
    git(tmp_path, "init", "-q", str(root))
    (root / "file\x1b[2J\u202e.txt").write_text("x")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", EVIL)
    worktree = root / ".dagent-worktrees" / FEATURE
    git(root, "worktree", "add", "-q", "-b", "feature/\u202e\u009b31m", str(worktree))
    (root / ".dagent-worktrees" / f"w{EVIL.replace('/', '')[:40]}" / ".dagent" / "sessions").mkdir(parents=True)
    _fill(worktree)
    daemon.dagentd("init", str(root))
    daemon.call("session.getOrCreate", project=str(root), type="feature", agentType="pm", featureId=FEATURE)
    for number in range(3):
        daemon.call("session.addMessage", project=str(root), sessionId=PM, role="user", content=f"{number} {EVIL}",
                    metadata={"agentType": EVIL, "toolUse": {"name": EVIL}})  # fmt: skip
    summary = {"decisions": [EVIL], "pending": [EVIL], "completed": [EVIL], "inProgress": [], "blockers": [EVIL]}
    daemon.call("session.updateCheckpoint", project=str(root), sessionId=PM, checkpoint={"summary": summary})
    until(lambda: daemon.call("session.getContext", project=str(root), sessionId=PM), "the context")
    yield root


def _fill(worktree: Path) -> None:
    dagent = worktree / ".dagent"
    (dagent / "sessions").mkdir(parents=True)
    (dagent / "attachments").mkdir()
    (dagent / "attachments" / "a\x1b[2J\u202e").write_text(EVIL)
    (dagent / "feature.json").write_text(json.dumps({"id": FEATURE, "name": EVIL, "description": EVIL, "status": EVIL}))
    nodes = [{"id": EVIL, "title": EVIL, "status": EVIL, "description": EVIL}]
    (dagent / "dag.json").write_text(json.dumps({"nodes": nodes, "connections": [{"from": EVIL, "to": EVIL}]}))
    (dagent / "spec.md").write_text(EVIL)
    (dagent / "chat.json").write_text(json.dumps({"entries": [{"type": EVIL, "text": EVIL}, EVIL, {"role": EVIL}]}))
    (dagent / "sessions" / "broken.json").write_text('{"id": "' + EVIL)
    (dagent / "sessions" / "session_odd.json").write_text(json.dumps({"id": "odd", "status": EVIL, "type": EVIL}))
    (worktree / "CLAUDE.md").write_text(f"{EVIL}\n@./no\x1b[2Jsuch\n")


# The commands that a user types in a repository; each shows text that others wrote.
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "status": [("status",)],
    "doctor": [("doctor",), ("doctor", "--json"), ("doctor", "--fix")],
    "logs": [("logs", "-n", "500")],
    "projects": [("projects",), ("projects", "--json")],
    "sessions": [("sessions",), ("sessions", "--json"), ("sessions", "--gone")],
    "show": [("show", PM), ("show", "odd"), ("show", EVIL), ("show", PM, "--json")],
    "messages": [("messages", PM), ("messages", PM, "--json")],
    "history": [("history", PM)],
    "export": [("export", PM), ("export", PM, "--json"), ("export", EVIL)],
    "add": [("add", PM, EVIL), ("add", EVIL, EVIL)],
    "pause": [("pause",), ("pause", PM), ("pause", EVIL)],
    "resume": [("resume", PM), ("resume",)],
    "completion": [("completion", "bash"), ("completion", EVIL)],
    "man": [("man",)],
    "search": [("search", "OWNED"), ("search", EVIL)],
    "request": [("request", PM, EVIL), ("request", PM, EVIL, "--json")],
    "compact": [("compact", PM, "--preview"), ("compact", PM)],
    "undo": [("undo", PM)],
    "pin": [("pin", PM, EVIL)],
    "hooks": [("hooks", "status"), ("hooks", "install"), ("hooks", "uninstall")],
    "context": [("context", PM), ("context", PM, "--rebuild")],
    "migrate": [("migrate", "--dry-run"), ("migrate",), ("migrate", "--rollback")],
    "restore": [("restore", EVIL), ("restore", PM, "--into", EVIL)],
    "agx": [("agx", "new", "x", "--description", EVIL), ("agx", "new", EVIL), ("agx", "list"), ("agx", "show"),
            ("agx", "config")],
    "agents": [("agents",), ("agents", "--json")],
    "connect": [("connect", "codex", "--project")],
    "disconnect": [("disconnect", "claude-code", "--project")],
    "usage": [("usage",), ("usage", "--by", "session")],
    "scrub": [("scrub", EVIL)],
    "config": [("config",), ("config", "--json")],
    "call": [("call", "session.get", json.dumps({"sessionId": EVIL})), ("call", "session.list"),
             ("call", EVIL), ("call", "daemon.ping", EVIL)],
    "service": [("service", "status")],
    "init": [("init",), ("init", EVIL)],
    "run": [("run", "--once"), ("run", EVIL)],
    "start": [("start",)],
    "stop": [("stop",)],
    "restart": [("restart",)],
    "clear": [("clear", PM), ("clear", EVIL)],
    "archive": [("archive", PM), ("archive", EVIL)],
    "forget": [("forget", PM)],
    "new": [("new", EVIL)],
    "brief": [("brief", PM), ("brief", EVIL)],
    "remember": [("remember", EVIL)],
    "recall": [("recall",)],
    "mcp": [("mcp", "--print-config")],
    "remove": [("remove",)],
}  # fmt: skip
QUIET = {
    "events": "prints nothing but json_line(), as `call` does; its own test is below",
    "top": "draws the whole screen by itself; its own test is below",
    "web": "prints an address of its own; what its page shows is attacked in tests/web",
    "demo": "shows a sample of its own, in which nobody else writes",
}


@pytest.mark.timeout(600)
def test_no_text_of_others_steers_the_terminal(evil: Path, daemon: Daemon) -> None:
    found = {}
    for lines in COMMANDS.values():
        for line in lines:
            text = shown(*line, cwd=evil, typed=b"y\n")
            assert text.strip(), line
            if bad := steering(text):
                found[line[:3]] = bad[:3]
    assert found == {}


def test_every_command_is_tried() -> None:
    assert COMMANDS.keys() | QUIET.keys() == set(cli.COMMANDS)


def test_events(evil: Path, daemon: Daemon) -> None:
    """From the first on: who is connected may not have subscribed yet."""
    daemon.call("session.addMessage", project=str(evil), sessionId=PM, role="user", content=EVIL)
    with subprocess.Popen(daemon.line("events", "--since", "0"), stdout=subprocess.PIPE, text=True) as listening:
        assert listening.stdout is not None
        try:
            line = listening.stdout.readline()
        finally:
            listening.kill()  # or leaving would wait for it, also when the test has timed out
    assert steering(line) == [] and json.loads(line)["project"] == str(evil)


def test_the_screen_that_top_draws(evil: Path, daemon: Daemon) -> None:
    """It moves the cursor itself; no title, no C1 control and no turned text of anybody else's is among that."""
    seen = ""

    def enough(text: str) -> bool:
        nonlocal seen
        seen = text
        return PM in text

    watched("top", cwd=evil, enough=enough)
    assert PM in seen
    assert re.findall("\x1b[\\]P_^X]|[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x07\x08\x7f]", seen) == []
    assert "\x1b[2Jpo" not in seen


@pytest.mark.parametrize("line", [("show", "x", f"--no{EVIL}"), ("logs", "-n", EVIL), (EVIL,), ("config", EVIL)])
def test_wrong_usage(line: tuple[str, ...], tmp_path: Path) -> None:
    text = shown(*line, cwd=tmp_path)
    assert "Error" in text and steering(text) == []


def test_the_log_of_a_daemon_in_the_foreground(evil: Path, daemon: Daemon) -> None:
    """It tells of problems with their paths, on the terminal it was started from."""
    daemon.dagentd("stop")
    bad = evil / ".dagent-worktrees" / FEATURE / ".dagent" / "sessions" / "history_bad.jsonl"
    bad.mkdir()
    command = daemon.line("run", str(evil))
    master, slave = os.openpty()
    with subprocess.Popen(command, stdout=slave, stderr=slave, stdin=slave) as running:
        os.close(slave)
        until(daemon.answers, "the start")
        until(lambda: daemon.status["problems"], "the problem")
        running.terminate()
    text = b""
    try:
        while part := os.read(master, 1 << 16):
            text += part
    except OSError:
        os.close(master)
    assert "history_bad" in text.decode() and steering(text.decode()) == []


def test_a_log_line_is_one_line(evil: Path, daemon: Daemon) -> None:
    """Whoever names a file cannot write into the log what was never said."""
    name = "x\n2026-11-16 10:00:00.000Z INFO dagentd: all is well\x1b[2J"
    spool = evil / ".git" / "dagentd" / "spool"
    (spool / name).mkdir()
    (spool / "post-commit").write_text("x")
    until(lambda: "cannot be removed" in daemon.log, "the warning")
    assert "\n2026-11-16 10:00:00.000Z INFO dagentd: all is well" not in daemon.log
    assert steering(daemon.log) == []


def test_whoever_names_a_file_adds_no_line_to_what_is_told(evil: Path, daemon: Daemon) -> None:
    name = "a\nproblem: it-is-fine\n! all is well"
    odd = evil / ".dagent-worktrees" / name / ".dagent" / "sessions"
    odd.mkdir(parents=True)
    (odd / "history_bad.jsonl").mkdir()
    until(lambda: any("history_bad" in each["path"] for each in daemon.status["problems"]), "the problem")
    for line in (("status",), ("doctor",), ("run", "--once")):
        text = shown(*line, cwd=evil)
        assert "history_bad" in text, line
        assert not re.search(r"^(problem: it-is-fine|! all is well)", text, re.MULTILINE), line


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_in_tmux_the_title_stays(evil: Path, daemon: Daemon) -> None:
    """The real thing: a terminal that would obey."""
    run = ["tmux", "-L", f"attack{os.getpid()}", "-f", "/dev/null"]
    python = daemon.line("messages", PM)[0]
    inner = f"cd '{evil}' && {python} -m dagentd messages {PM}; echo DONE; exec cat"
    subprocess.run([*run, "new-session", "-d", "-s", "t", "-x", "120", "-y", "50", "sh", "-c", inner], check=True)
    try:
        screen = until(lambda: "DONE" in (seen := _screen(run)) and seen, "the output")
        title = subprocess.run([*run, "display", "-p", "-t", "t", "#{pane_title}"], capture_output=True, text=True)
        assert "OWNED" in screen and "OWNED" not in title.stdout
    finally:
        subprocess.run([*run, "kill-server"], check=False)


def _screen(run: list[str]) -> str:
    return subprocess.run([*run, "capture-pane", "-p", "-t", "t"], capture_output=True, text=True, check=True).stdout
