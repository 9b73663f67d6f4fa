"""Every method of the table once, with parameters with which it succeeds, in an order in which they can be called.

`python -m tests.rpc.scenario` plays it and writes down what came of it as the examples of `rpc.discover`: run it
after a method was added here, and read what it wrote."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.conftest import FEATURE, SampleProject, git, make_project, make_repo
from tests.conftest import prepare as prepare_repository

PM, LOST = f"pm-feature-{FEATURE}", "pm-feature-lost"
SETTINGS = "[budget]\nlimit = 2000\n[migration]\nenabled = false\n[compaction]\nenabled = false\n"

Call = Callable[..., Any]


def whose(root: Path | str, **more: str) -> dict[str, Any]:
    return {"project": str(root), "type": "feature", "agentType": "pm", "featureId": FEATURE, **more}


def prepare(project: SampleProject) -> None:
    """A session whose worktree is gone, two chats of an older format, and a graph of tasks; for a daemon with
    `SETTINGS`."""
    known = {"id": LOST, "type": "feature", "agentType": "pm", "featureId": "lost", "status": "active"}
    kept = project.root / ".git" / "dagentd" / "kept"
    kept.mkdir(parents=True, exist_ok=True)
    record = {"t": "session", "at": "2026-01-01T00:00:00.000Z", "set": known}
    (kept / f"{LOST}.1.jsonl").write_text(json.dumps(record) + "\n")
    git(project.root, "worktree", "add", "-q", "-b", "basket", ".dagent-worktrees/basket")
    said = {"type": "user", "text": "Add a login page.", "timestamp": "2025-11-02T09:00:00.000Z"}
    (project.dagent / "chat.json").write_text(json.dumps({"entries": [said]}))
    nodes = [{"id": "task-1", "title": "The form", "status": "done"}, {"id": "task-2", "title": "The session"}]
    (project.dagent / "dag.json").write_text(json.dumps({"nodes": nodes}))
    (project.dagent / "nodes" / "task-2").mkdir(parents=True)
    (project.dagent / "nodes" / "task-2" / "chat.json").write_text('{"entries": 1}')


def calls(root: str) -> dict[str, dict[str, Any]]:
    ours = {"sessionId": PM}
    return {
        "daemon.ping": {},
        "daemon.status": {},
        "rpc.discover": {},
        "project.list": {},
        "project.scan": {"project": root},
        "project.pause": {"project": root, "seconds": 60},
        "project.resume": {"project": root},
        "feature.list": {"project": root},
        "feature.get": {"featureId": FEATURE, "project": root, "worktree": FEATURE},
        "feature.create": {"project": root, "featureId": "basket", "name": "Basket",
                           "description": "What is chosen survives a reload."},
        "session.getOrCreate": {**whose(root), "worktree": FEATURE},
        "session.list": {"project": root, "featureId": FEATURE, "status": "active"},
        "session.get": {**ours, "project": root, "worktree": FEATURE},
        "session.addMessage": {**ours, "role": "user", "content": "We use PostgreSQL, not SQLite.", "id": "m1",
                               "metadata": {"internal": False}},
        "session.addMessages": {**ours, "messages": [
            {"role": "assistant", "content": "Then I change the settings.", "metadata": {"taskId": "task-2"}}]},
        "session.getMessages": {**ours, "limit": 5, "includeInternal": True},
        "session.getHistory": {**ours, "limit": 5},
        "session.search": {"query": "postgresql", "sessionId": PM, "limit": 5},
        "session.brief": {**ours, "tokens": 400},
        "session.getCheckpoint": ours,
        "session.updateCheckpoint": {**ours, "checkpoint": {"summary": {"completed": ["The login form"]}}},
        "session.getContext": ours,
        "session.rebuildContext": ours,
        "session.updateContext": {**ours, "context": {"featureName": "Login", "ticket": "SHOP-12"}},
        "session.getAgentDescription": ours,
        "session.setAgentDescription": {**ours, "agentDescription": {
            "agentType": "pm", "roleInstructions": "You are the project manager of this shop."}},
        "session.buildRequest": {**ours, "userMessage": "Go on", "form": "both", "strict": False},
        "session.previewRequest": {**ours, "userMessage": "Go on"},
        "session.pin": {**ours, "messageId": "m1", "pinned": False},
        "session.previewCompaction": ours,
        "session.forceCompact": {**ours, "again": False},
        "session.undoCompaction": ours,
        "session.getCompactionMetrics": ours,
        "session.getCompactions": ours,
        "session.clearMessages": ours,
        "session.pause": {**ours, "project": root, "seconds": 60},
        "session.resume": {**ours, "project": root},
        "session.archive": ours,
        "session.restore": {"sessionId": LOST, "featureId": FEATURE, "project": root, "worktree": FEATURE},
        "migration.plan": {"project": root},
        "migration.run": {"project": root, "path": root},
        "migration.rollback": {"path": root},
        "usage.report": {"by": "model", "project": root, "since": "2026-01-01"},
        "agents.list": {},
        "memory.add": {"project": root, "text": "We use PostgreSQL 16.", "by": "user", "featureId": FEATURE},
        "memory.list": {"project": root, "by": "user"},
        "agents.sessionStart": {
            "agent": "claude-code", "sessionId": "0b1e5d0c-1111-4222-8333-444455556666", "source": "startup",
            "cwd": f"{root}/.dagent-worktrees/{FEATURE}", "transcriptPath": f"{root}/no-transcript.jsonl"},
        "memory.withdraw": {"project": root, "id": "?", "by": "user"},
        "agx.new": {"project": root, "name": "side", "description": "Try another way", "tags": ["idea"]},
        "agx.list": {"project": root, "state": "active"},
        "agx.get": {"sessionId": "side", "project": root},
        "agx.switch": {"sessionId": "side", "project": root},
        "agx.claude": {"claudeSessionId": "0b1e5d0c", "sessionId": "side", "project": root},
        "agx.complete": {"sessionId": "side", "project": root},
        "agx.archive": {"sessionId": "side", "project": root},
        "agx.restore": {"sessionId": "side", "project": root},
        "agx.cleanup": {"project": root, "sessionIds": ["side"], "dryRun": False},
        "agx.index": {"rebuild": True},
        "events.subscribe": {"types": ["session:updated"], "project": root, "sessionId": PM, "since": 0},
        "events.unsubscribe": {"subscription": "?"},
        "daemon.shutdown": {},
    }  # fmt: skip


def play(call: Call, root: str) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Each call, and what was answered."""
    subscription = remembered = ""
    for method, params in calls(root).items():
        given = {**params, "subscription": subscription} if method == "events.unsubscribe" else params
        given = {**params, "id": remembered} if method == "memory.withdraw" else given
        answer = call(method, **given)
        if method == "events.subscribe":
            subscription = answer["subscription"]
        if method == "memory.add":
            remembered = answer["id"]
        yield method, given, answer


# --- examples --------------------------------------------------------------------------------------------------


def _record(home: Path) -> dict[str, Any]:
    from tests.e2e.daemon import Daemon

    with tempfile.TemporaryDirectory(prefix="dd-", dir="/tmp") as folder:
        prepare_repository(Path(folder))
        project = make_project(make_repo(Path(folder, "shop")))
        (project.worktree / "CLAUDE.md").write_text("Tests run with `make test`.\n")
        prepare(project)
        daemon = Daemon(home)
        daemon.configure(SETTINGS)
        daemon.run(project.root)
        try:
            with daemon.client() as client:
                found = list(play(client.call, str(project.root)))
        finally:
            daemon.kill_all()
    made = {name: {"params": given, "result": _told(name, answer)} for name, given, answer in found}
    return dict(json.loads(json.dumps(made).replace(folder, "/home/you")))


def _told(method: str, answer: Any) -> Any:
    """Of what is long, the beginning."""
    if method == "rpc.discover":
        return {"openrpc": answer["openrpc"], "info": answer["info"], "methods": [], "components": {}}
    return _shortened(answer)


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 160 else f"{value[:120]}…"
    if isinstance(value, list):
        return [_shortened(each) for each in value[:3]]
    return {key: _shortened(each) for key, each in value.items()} if isinstance(value, dict) else value


if __name__ == "__main__":
    import os

    from dagentd.rpc.discovery import EXAMPLES_FILE

    with tempfile.TemporaryDirectory(prefix="dd-", dir="/tmp") as home:
        os.environ.update({"HOME": home, "DAGENTD_SOCKET": f"{home}/d.sock", "XDG_RUNTIME_DIR": home})
        os.environ.update(
            {f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("STATE", "CONFIG", "CACHE", "DATA")}
        )
        git(Path(home), "config", "--global", "user.email", "you@example.org")
        git(Path(home), "config", "--global", "user.name", "You")
        prepare_repository(Path(tempfile.mkdtemp(dir=home)))
        EXAMPLES_FILE.write_text(json.dumps(_record(Path(home)), indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{EXAMPLES_FILE} is written.\n")
