"""The demonstration project, with more in it: a shop whose agents talked, used tools, were compacted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dagentd.cli.sample import SESSION, Sample
from tests.e2e.daemon import Daemon

TASKS = (
    ("plan", "Plan the sign-in", "completed", ()),
    ("callback", "OAuth callback", "merged", ("plan",)),
    ("cookie", "Session cookie", "in_dev", ("callback",)),
    ("page", "Account page", "in_qa", ("callback",)),
    ("logout", "Sign out everywhere", "pending", ("cookie", "page")),
    ("docs", "Describe it in the manual", "pending", ("page",)),
)
_TALK = (
    ("user", "The callback answers **500** when `state` is missing. Please mend it, and add a test."),
    ("assistant", "I look at the callback first.\n\n```ts\nexport async function callback(request: Request) {\n"
     "  const state = request.query.get('state');\n  return redirect('/account', { cookie: seal(state) });\n}\n```\n\n"
     "`seal(null)` throws. Two ways:\n\n1. refuse with **400** and a sentence,\n2. start the sign-in again.\n\n"
     "| way | what the user sees |\n|---|---|\n| refuse | an error page |\n| again | GitHub, then the account |\n"),
    ("user", "Start it again. Never show an error page for this."),
)  # fmt: skip
_TOOL = {
    "role": "assistant",
    "content": "It starts again now; the tests pass.",
    "metadata": {"model": "claude-haiku-5-5", "toolUse": [
        {"id": "t1", "name": "Edit", "input": {"file_path": "src/auth/callback.ts", "old_string": "seal(state)",
                                               "new_string": "state ? seal(state) : begin()"}, "result": "edited"},
        {"id": "t2", "name": "Bash", "input": {"command": "npm test -- callback"},
         "result": "PASS test/auth/callback.test.ts\n  12 passed"},
        {"id": "t3", "name": "Bash", "input": {"command": "npm run lint"}, "result": "error: no-unused-vars",
         "isError": True}]},
}  # fmt: skip


def furnish(folder: Path, daemon: Daemon) -> Sample:
    """Served, and as it is after a morning of work."""
    sample = Sample(folder)
    sample.make()
    dagent = sample.worktree / ".dagent"
    nodes = [{"id": key, "title": title, "status": status, "dependencies": list(needs)}
             for key, title, status, needs in TASKS]  # fmt: skip
    (dagent / "dag.json").write_text(json.dumps({"nodes": nodes}))
    (sample.root / ".dagent" / "config.toml").write_text("[budget]\nlimit = 12000\n")
    daemon.register(sample.root)
    daemon.run()
    root = str(sample.root)
    daemon.call("project.scan", project=root)
    for role, content in _TALK:
        daemon.call("session.addMessage", sessionId=SESSION, role=role, content=content)
    daemon.call("session.addMessages", sessionId=SESSION, messages=[_TOOL])
    for task, agent, state in (("cookie", "dev", "in_dev"), ("page", "qa", "in_qa")):
        made = daemon.call("session.getOrCreate", project=root, type="task", agentType=agent, featureId="login",
                           taskId=task, taskState=state)  # fmt: skip
        for number in range(6):
            said = f"Step {number + 1} of `{task}`: the cookie is HttpOnly, and `src/auth/{task}.ts` says so."
            add(daemon, made["id"], "assistant" if number % 2 else "user", said)
    return sample


def add(daemon: Daemon, session: str, role: str, content: str, **more: Any) -> Any:
    return daemon.call("session.addMessage", sessionId=session, role=role, content=content, **more)
