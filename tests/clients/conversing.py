"""A day with the daemon through a generated client: every method once, and something for every event."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, get_args

import pytest

from dagentd.events import EventType
from dagentd.rpc.client import RpcError
from dagentd.rpc.methods import METHODS
from tests.conftest import SampleProject, git
from tests.e2e.daemon import Daemon, until
from tests.rpc import scenario
from tests.rpc.schemas import event_faults, result_faults


class Driver(Protocol):
    """A client that has subscribed to everything."""

    def call(self, method: str, **params: Any) -> Any: ...

    def heard(self) -> list[dict[str, Any]]:
        """All events so far."""

    def stop_listening(self) -> None: ...

    def listen_again(self) -> None: ...


def prepare(daemon: Daemon, project: SampleProject) -> None:
    scenario.prepare(project)
    daemon.configure(scenario.SETTINGS)
    daemon.register(project.root)
    daemon.run()


def converse(driver: Driver, daemon: Daemon, project: SampleProject) -> None:
    """Each answer and each event is as `rpc.discover` describes it."""

    def call(method: str, **params: Any) -> Any:
        if method == "daemon.shutdown":
            _make_news(driver, daemon, project)
        return driver.call(method, **params)

    answers = {method: answer for method, _, answer in scenario.play(call, str(project.root))}
    assert answers.keys() == METHODS.keys()
    assert [fault for method, answer in answers.items() for fault in result_faults(method, answer)] == []
    assert [fault for event in driver.heard() for fault in event_faults(event)] == []
    assert {event["type"] for event in driver.heard()} == set(get_args(EventType))


def _make_news(driver: Driver, daemon: Daemon, project: SampleProject) -> None:
    """What the calls of the scenario did not bring."""

    def hears(kind: str) -> None:
        until(lambda: any(event["type"] == kind for event in driver.heard()), kind)

    with daemon.client() as client:
        client.call("session.addMessage", sessionId=scenario.PM, role="user", content="We use PostgreSQL. " * 400)
        hears("session:budget")
        proposal = client.call("session.previewCompaction", sessionId=scenario.PM)["proposalId"]
        client.call("session.forceCompact", sessionId=scenario.PM, proposalId=proposal)
        with pytest.raises(RpcError):
            client.call("session.forceCompact", sessionId=scenario.PM, proposalId=proposal)
        hears("session:compaction-error")
        git(project.worktree, "commit", "-q", "--allow-empty", "-m", "Next")
        hears("git:changed")
        _damage(daemon.state / "projects.json")
        hears("daemon:degraded")
        daemon.register(project.root)
        hears("daemon:recovered")
        driver.stop_listening()
        for _ in range(60):
            many = [{"role": "user", "content": ""}] * 800
            client.call("session.addMessages", sessionId=scenario.PM, messages=many)
        driver.listen_again()
        hears("events:lost")


def _damage(path: Path) -> None:
    path.write_text("{")
