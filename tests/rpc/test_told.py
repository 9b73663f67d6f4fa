"""Whoever listens hears of each change of a session once, and what cannot be is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from dagentd.rpc.client import Client, RpcError
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon, until

PM = f"pm-feature-{FEATURE}"
INVALID = -32602


@pytest.fixture
def client(daemon: Daemon, project: SampleProject) -> Iterator[Client]:
    """Of a daemon that makes no context by itself just then."""
    daemon.configure("[watch]\nenabled = false\n")
    daemon.run(project.root)
    with daemon.client() as made:
        who = {"type": "feature", "agentType": "pm", "featureId": FEATURE}
        made.call("session.getOrCreate", project=str(project.root), **who)
        made.call("session.rebuildContext", sessionId=PM)
        yield made


def heard(client: Client, events: Any) -> list[dict[str, Any]]:
    """All until now."""
    last = client.call("session.addMessage", sessionId=PM, role="system", content="until now")["id"]
    return list(itertools.takewhile(lambda event: event.get("messageIds") != [last], events))


def actions(found: list[dict[str, Any]]) -> list[str]:
    return [event.get("action", event["type"]) for event in found]


def test_each_change_of_a_session_is_told_once(client: Client, project: SampleProject) -> None:
    added = client.call("session.addMessage", sessionId=PM, role="user", content="We must use PostgreSQL.")
    client.call("session.forceCompact", sessionId=PM)
    item = client.call("session.getCheckpoint", sessionId=PM)["items"][0]["id"]
    with client.subscribe() as events:
        client.call("session.updateCheckpoint", sessionId=PM, checkpoint={"summary": {"decisions": ["Use tabs"]}})
        for _ in range(2):  # the second changes nothing
            client.call("session.setAgentDescription", sessionId=PM, agentDescription={"agentType": "pm"})
            client.call("session.updateContext", sessionId=PM, context={"featureName": "Sign in"})
            client.call("session.pin", sessionId=PM, messageId=added["id"])
        for pinned in (True, False):
            client.call("session.pin", sessionId=PM, messageId=added["id"], pinned=pinned)
        client.call("session.pin", sessionId=PM, itemId=item)
        client.call("session.pause", sessionId=PM, seconds=3600)
        client.call("session.resume", sessionId=PM)
        client.call("session.resume", sessionId=PM)
        client.call("project.pause", project=str(project.root))
        client.call("project.resume", project=str(project.root))
        client.call("session.archive", sessionId=PM)
        client.call("session.addMessage", sessionId=PM, role="user", content="Go on.")
        every = heard(client, events)
    assert actions(every)[:3] == ["checkpoint", "agent_description", "context"]
    found = [each for each in every if each["action"] != "context"]  # the end of a pause has another one made
    assert actions(found) == [
        "checkpoint", "agent_description", "pinned", "pinned", "pinned", "paused", "resumed", "paused",
        "resumed", "archived", "message_added", "restored",
    ]  # fmt: skip
    assert [each["sessionId"] for each in found[5:9]] == [PM, PM, None, None]
    assert [(each.get("messageId"), each.get("itemId"), each["pinned"]) for each in found[2:5]] == [
        (added["id"], None, True), (added["id"], None, False), (None, item, True),
    ]  # fmt: skip
    assert {each["subscription"] for each in found} == {events.answer["subscription"]}


def test_a_pause_that_is_over_and_a_session_that_is_back_are_told(
    daemon: Daemon, project: SampleProject, beats: None
) -> None:
    daemon.run(project.root)
    with daemon.client() as client:
        who = {"type": "feature", "agentType": "pm", "featureId": FEATURE}
        client.call("session.getOrCreate", project=str(project.root), **who)
        with client.subscribe(sessionId=PM) as events:
            client.call("session.pause", sessionId=PM, seconds=1)
            assert next(event for event in events if event["action"] == "resumed")["featureId"] == FEATURE
        client.call("session.addMessage", sessionId=PM, role="user", content="Hello")
        git(project.root, "worktree", "remove", "--force", str(project.worktree))
        until(lambda: client.call("session.list", status="gone")["sessions"], "its loss")
        git(project.root, "worktree", "add", "-q", str(project.worktree), f"feature/{FEATURE}")
        folder = project.dagent / "features" / FEATURE
        folder.mkdir(parents=True)
        (folder / "feature.json").write_text('{"id": "feat-login", "name": "Login"}')
        until(lambda: client.call("feature.list")["features"], "its feature")
        with client.subscribe(types=["session:updated"]) as events:
            client.call("session.restore", sessionId=PM)
            assert next(event["action"] for event in events if event["action"] != "context") == "restored"


def test_each_compaction_has_one_start_and_one_end(client: Client) -> None:
    types = [f"session:compaction-{end}" for end in ("start", "complete", "error")] + ["session:updated"]
    with client.subscribe(types=types) as events:
        nothing = client.call("session.forceCompact", sessionId=PM)
        with pytest.raises(RpcError):
            client.call("session.forceCompact", sessionId=PM, again=True)
        client.call("session.addMessage", sessionId=PM, role="user", content="We must use PostgreSQL.")
        proposal = client.call("session.previewCompaction", sessionId=PM)["proposalId"]
        with pytest.raises(RpcError):
            client.call("session.forceCompact", sessionId=PM, proposalId="none")
        done = client.call("session.forceCompact", sessionId=PM, proposalId=proposal)
        with pytest.raises(RpcError):
            client.call("session.forceCompact", sessionId=PM, proposalId=proposal)
        client.call("session.undoCompaction", sessionId=PM)
        found = heard(client, events)
    assert (nothing["messagesCompacted"], done["messagesCompacted"]) == (0, 1)
    assert actions(found) == [
        "session:compaction-start", "session:compaction-complete", "message_added",
        "session:compaction-start", "compacted", "session:compaction-complete",
        "session:compaction-start", "session:compaction-error", "undone",
    ]  # fmt: skip


def test_what_is_not_known_is_refused(client: Client) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "events.subscribe": {"types": ["session:updatet"]},
        "session.list": {"status": "gonne"},
        "agx.list": {"state": "gone"},
        "events.unsubscribe": {"subscription": "4711"},
    }
    for method, params in wrong.items():
        with pytest.raises(RpcError) as refused:
            client.call(method, **params)
        assert refused.value.code == INVALID, method
    with client.subscribe() as of_another, pytest.raises(RpcError) as refused:
        client.call("events.unsubscribe", subscription=of_another.answer["subscription"])
    assert refused.value.code == INVALID
