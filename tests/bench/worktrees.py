"""A daemon with 300 worktrees, one of them with 20 000 folders of node_modules: start, watches, memory, growth."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from dagentd.rpc.client import Client
from tests.bench.report import Report
from tests.bench.served import PATIENCE, git, serving

WORKTREES, MODULES, AGENTS = 300, 20_000, ("pm", "dev")
WARM_UP, WORK = 10.0, 60.0  # seconds of commits and messages


def measure(folder: Path, report: Report) -> None:
    report.heading(f"{WORKTREES} worktrees, one of them with {MODULES} folders of node_modules")
    root = _project(folder / "many")
    began = time.monotonic()
    with serving(root) as (client, _):
        report.figure("start to the first answer", f"{time.monotonic() - began:.1f} s")
        status = _settled(client, root)
        report.figure("to the first context of every session", f"{time.monotonic() - began:.1f} s")
        folders = len([each for each in (root / ".dagent-worktrees").glob("*/.dagent/**/") if each.is_dir()])
        allowed = 8 * (WORKTREES + 1) + folders + 3  # three for the project: worktrees, spool, state
        report.at_most("watches, of which may be", status["watches"]["count"], allowed, "")
        _work(client, root, WARM_UP)
        before = _resident(client)
        report.figure("resident memory", f"{before / 1e6:.0f} MB")
        done = _work(client, root, WORK)
        name = f"after {done} commits and messages in {WORK:.0f} s"
        report.ratio(name, _resident(client) / 1e6, before / 1e6, 1.05, "MB")


def _project(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "-q", ".")
    (root / "README.md").write_text("# Many\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Start")
    for number in range(WORKTREES):
        worktree = root / ".dagent-worktrees" / f"f{number}"
        git(root, "worktree", "add", "-q", str(worktree))
        sessions = worktree / ".dagent" / "sessions"
        sessions.mkdir(parents=True)
        (worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": f"f{number}", "name": "F"}))
        for agent in AGENTS:
            session = {"id": f"{agent}-feature-f{number}", "type": "feature", "agentType": agent}
            (sessions / f"session_{session['id']}.json").write_text(json.dumps(session))
    for number in range(MODULES):
        (root / ".dagent-worktrees/f0/node_modules" / f"p{number // 100}" / f"m{number % 100}").mkdir(parents=True)
    return root


def _settled(client: Client, root: Path) -> dict[str, Any]:
    wanted = [
        root / ".dagent-worktrees" / f"f{number}" / ".dagent/sessions" / f"context_{agent}-feature-f{number}.json"
        for number in range(WORKTREES)
        for agent in AGENTS
    ]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        status: dict[str, Any] = client.call("daemon.status")
        queues = status["queues"]
        if not queues["waiting"] and not queues["running"] and all(path.exists() for path in wanted):
            return status
        time.sleep(0.2)
    raise TimeoutError(f"not all was looked at in {PATIENCE} s")


def _work(client: Client, root: Path, seconds: float) -> int:
    """In ever other worktrees, as several agents do."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        name = f"f{number * 7 % WORKTREES}"
        git(root / ".dagent-worktrees" / name, "commit", "-q", "--allow-empty", "-m", f"Commit {number}")
        client.call("session.addMessage", sessionId=f"pm-feature-{name}", role="user", content=f"Message {number}")
        number += 1
    return number


def _resident(client: Client) -> float:
    return float(client.call("daemon.status")["memory"]["resident"])
