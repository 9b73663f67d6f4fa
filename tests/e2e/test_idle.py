"""A daemon with nothing to do does nothing: counted by the kernel, on the real process."""

from __future__ import annotations

import json
import time

import pytest

from tests.conftest import SampleProject
from tests.e2e.daemon import Daemon, bytes_written, cpu_seconds, until

FEATURES, SESSIONS, SECONDS = 20, ("pm", "dev", "qa", "harness", "merge"), 10


@pytest.mark.early
def test_idle_costs_no_cpu_and_writes_nothing(daemon: Daemon, project: SampleProject) -> None:
    for number in range(FEATURES):
        folder = project.root / ".dagent-worktrees" / f"f{number}" / ".dagent"
        folder.mkdir(parents=True)
        (folder / "feature.json").write_text(json.dumps({"id": f"f{number}", "name": "F"}))
    daemon.register(project.root)
    pid = daemon.start()
    with daemon.client() as client:
        for number in range(FEATURES):
            for agent in SESSIONS:
                whose = {"type": "feature", "agentType": agent, "featureId": f"f{number}"}
                session = client.call("session.getOrCreate", project=str(project.root), **whose)
                client.call("session.addMessage", sessionId=session["id"], role="user", content="Hello")
        assert client.call("daemon.status")["memory"]["resident"] < 130 << 20
    until(lambda: _still(pid), "settling")
    cpu, written = cpu_seconds(pid), bytes_written(pid)
    time.sleep(SECONDS)  # two heartbeats: what is measured is a stretch of time
    assert cpu_seconds(pid) - cpu <= 0.1
    assert bytes_written(pid) == written


def _still(pid: int) -> bool:
    """Nothing was written for a second."""
    before = bytes_written(pid)
    time.sleep(1)
    return bytes_written(pid) == before
