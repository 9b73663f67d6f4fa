"""A daemon with 300 worktrees, one of them with 20 000 folders of node_modules: start, watches, memory, growth."""

from __future__ import annotations

import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from dagentd.events import MAX_EVENTS
from dagentd.rpc.client import Client
from tests.bench.report import Report
from tests.bench.served import PATIENCE, git, serving
from tests.bench.sessions import TEXT

WORKTREES, MODULES, AGENTS = 300, 20_000, ("pm", "dev")
MINUTES = float(os.environ.get("BENCH_MINUTES", "10"))  # of commits and messages
# More than there is room for: a cache that fills up while we look seems to grow.
EVENTS, COUNTS = MAX_EVENTS + 1000, 10_000


def measure(folder: Path, report: Report) -> None:
    report.heading(f"{WORKTREES} worktrees, one of them with {MODULES} folders of node_modules")
    root = _project(folder / "many")
    began = time.monotonic()
    with serving(root) as (client, *_):
        report.figure("start to the first answer", f"{time.monotonic() - began:.1f} s")
        status = _settled(client, root)
        report.figure("to the first context of every session", f"{time.monotonic() - began:.1f} s")
        folders = len([each for each in (root / ".dagent-worktrees").glob("*/.dagent/**/") if each.is_dir()])
        allowed = 8 * (WORKTREES + 1) + folders + 3  # three for the project: worktrees, spool, state
        report.at_most("watches, of which may be", status["watches"]["count"], allowed, "")
        report.figure("resident memory", f"{_resident(client) / 1e6:.0f} MB")
        work = _Work(client, root)
        work.fill()
        early = work.level(0.3 * MINUTES)
        report.figure(f"after {work.done} commits and messages in {0.3 * MINUTES:g} minutes", f"{early:.1f} MB")
        late = work.level(0.7 * MINUTES)
        if MINUTES >= 10:
            report.ratio(f"after {work.done} in {MINUTES:g} minutes", late, early, 1.05, "MB")
        else:
            report.figure(f"after {work.done} in {MINUTES:g} minutes: too few to tell", f"{late:.1f} MB")


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


class _Work:
    """Commits and messages in ever other worktrees, as several agents make them; no two are the same."""

    def __init__(self, client: Client, root: Path) -> None:
        self._client, self._root = client, root
        self.done = 0

    def fill(self) -> None:
        """Whatever has a cap: events, token counts, sessions that are kept open."""
        for _ in range(EVENTS):
            self._client.call("session.addMessage", sessionId="dev-feature-f0", role="user", content="Once more")
        self._client.call("session.clearMessages", sessionId="dev-feature-f0")
        for number in range(WORKTREES):
            some = [{"role": "user", "content": f"{number} {one}"} for one in range(COUNTS // WORKTREES + 1)]
            self._client.call("session.addMessages", sessionId=f"dev-feature-f{number}", messages=some)
        self._client.call("session.list")  # with the tokens of each

    def level(self, minutes: float) -> float:
        """Work for so long; the median of the resident memory in the last tenth of it, in MB."""
        start, seconds, found = time.monotonic(), minutes * 60, []
        while (spent := time.monotonic() - start) < seconds:
            self._step()
            if spent > 0.9 * seconds and self.done % 10 == 0:
                found.append(_resident(self._client))
        return statistics.median(found) / 1e6

    def _step(self) -> None:
        name, text = f"f{self.done * 7 % WORKTREES}", f"{self.done}: {TEXT}"
        git(self._root / ".dagent-worktrees" / name, "commit", "-q", "--allow-empty", "-m", f"Commit {self.done}")
        self._client.call("session.addMessage", sessionId=f"pm-feature-{name}", role="user", content=text)
        self.done += 1


def _resident(client: Client) -> float:
    return float(client.call("daemon.status")["memory"]["resident"])
