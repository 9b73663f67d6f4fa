"""From the end of `git commit` to the new contexts of all sessions of that worktree, under the real daemon."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from dagentd.rpc.client import Client
from tests.bench.report import Report
from tests.bench.served import git, serving

SESSIONS, ROUNDS, SETTLE = 20, 21, 100.0  # the last in milliseconds, as is the default


def measure(folder: Path, report: Report) -> None:
    report.heading(f"From a commit to {SESSIONS} contexts")
    repo, worktree = _project(folder / "fresh")
    with serving(repo) as (client, *_):
        taken = _rounds(client, repo, worktree)
    median = statistics.median(taken)
    report.ratio("all contexts new, median, against the settle time", median, SETTLE, 1.5)
    report.figure("of that our own work", f"{median - SETTLE:.0f} ms")
    report.figure("slowest", f"{max(taken):.0f} ms")


def _project(root: Path) -> tuple[Path, Path]:
    """A repository of the usual size, with rules and one feature."""
    for number in range(300):
        path = root / f"package{number % 20}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"print({number})\n" * 50)
    (root / "CLAUDE.md").write_text("- Keep it simple.\n" * 300)
    worktree = root / ".dagent-worktrees" / "f"
    git(root, "init", "-q", ".")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Start")
    git(root, "worktree", "add", "-q", str(worktree))
    (worktree / ".dagent").mkdir()
    (worktree / ".dagent" / "feature.json").write_text(json.dumps({"id": "f", "name": "F", "description": "Faster"}))
    return root, worktree


def _rounds(client: Client, repo: Path, worktree: Path) -> list[float]:
    for number in range(SESSIONS):
        task = {"taskId": f"t{number}", "taskState": "in_dev"}
        client.call("session.getOrCreate", project=str(repo), type="task", agentType="dev", featureId="f", **task)
    contexts = [worktree / ".dagent/sessions" / f"context_dev-task-f-t{n}-in_dev.json" for n in range(SESSIONS)]
    while not all(map(Path.exists, contexts)):
        time.sleep(0.05)
    return [_round(worktree, contexts, number) for number in range(ROUNDS)]


def _round(worktree: Path, contexts: list[Path], number: int) -> float:
    time.sleep(0.5)
    git(worktree, "commit", "-q", "--allow-empty", "-m", f"Commit {number}")
    end = time.time_ns()
    head = git(worktree, "rev-parse", "HEAD")
    while not all(json.loads(path.read_text()).get("gitCommit") == head for path in contexts):
        time.sleep(0.01)
    return (max(path.stat().st_mtime_ns for path in contexts) - end) / 1e6
