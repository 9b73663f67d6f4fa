"""Every method of the table, through a real client of the real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.rpc.client import Client, RpcError
from dagentd.rpc.methods import METHODS
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon, lines, request, until
from tests.rpc import scenario
from tests.rpc.scenario import LOST, PM, whose

NOT_FOUND, CONFLICT, LIMIT, CORRUPT, NOT_ALLOWED = -32001, -32002, -32004, -32005, -32006
UNKNOWN, INVALID = -32601, -32602


@pytest.fixture
def client(daemon: Daemon, project: SampleProject) -> Iterator[Client]:
    """Of a daemon that serves one project with one session."""
    daemon.run(project.root)
    with daemon.client() as made:
        made.call("session.getOrCreate", **whose(project.root))
        yield made


def code(client: Client, method: str, **params: Any) -> int:
    with pytest.raises(RpcError) as refused:
        client.call(method, **params)
    assert refused.value.message
    assert refused.value.data["hint"] is not None
    assert "Traceback" not in json.dumps(refused.value.data)
    return refused.value.code


def test_every_method_succeeds_with_good_parameters(client: Client, project: SampleProject) -> None:
    scenario.prepare(project)
    results = {name: answer for name, _, answer in scenario.play(client.call, str(project.root))}
    assert results.keys() == METHODS.keys()
    keys = {name: sorted(result) for name, result in results.items() if isinstance(result, dict)}
    assert keys["daemon.ping"] == keys["daemon.shutdown"] == keys["events.unsubscribe"] == []
    expected = "health pid problems projects protocol queues spend uptime version watches"
    assert set(expected.split()) <= set(keys["daemon.status"])
    assert keys["project.list"] == ["projects"]
    assert keys["project.scan"] == ["problems", "sessions"]
    assert keys["feature.list"] == ["features"]
    assert keys["session.list"] == ["sessions"]
    assert {"tokens", "budget"} <= set(results["session.list"]["sessions"][0])
    assert (results["session.get"]["project"], results["session.get"]["worktree"]) == (
        str(project.root),
        str(project.worktree),
    )
    assert {"id", "role", "content", "timestamp", "metadata"} == set(keys["session.addMessage"])
    assert keys["session.getMessages"] == ["messages", "total"]
    assert keys["session.getHistory"] == ["messages", "more"]
    assert keys["session.search"] == ["hits"]
    assert set(results["session.search"]["hits"][0]) == {"sessionId", "messageId", "role", "timestamp", "snippet"}
    assert results["session.getCheckpoint"]["version"] == 1
    assert results["session.updateCheckpoint"]["version"] == 2
    assert results["session.rebuildContext"]["featureName"] == "Login"
    assert results["session.getAgentDescription"]["agentType"] == "pm"
    assert {"systemPrompt", "userPrompt", "messages", "totalTokens"} <= set(keys["session.buildRequest"])
    assert set(results["session.previewRequest"]["breakdown"]) == {
        "agentDescTokens", "contextTokens", "checkpointTokens", "messagesTokens", "userPromptTokens", "total", "limit",
        "needsCompaction",
    }  # fmt: skip
    assert set(results["session.forceCompact"]) == {
        "method", "messagesCompacted", "tokensReclaimed", "checkpointVersion"
    }  # fmt: skip
    assert results["session.undoCompaction"]["messagesRestored"] == results["session.forceCompact"]["messagesCompacted"]
    assert results["session.archive"]["status"] == "archived"
    assert (results["session.restore"]["id"], results["session.restore"]["featureId"]) == (LOST, FEATURE)
    assert keys["events.subscribe"] == ["continuous", "seq", "subscription"]


_FROM_HOOKS = {"agents.sessionStart"}  # its hook passes on what the agent said, whose newer versions say more


def test_every_method_refuses_parameters_it_does_not_know_or_of_another_type(
    daemon: Daemon, client: Client, project: SampleProject
) -> None:
    tried = 0
    with daemon.connect() as connection:
        answers = lines(connection)
        for name, params in scenario.calls(str(project.root)).items():
            required = METHODS[name].params.model_json_schema(by_alias=True).get("required", [])
            wrong = [{**params, "extra": 1}] if name not in _FROM_HOOKS else []
            wrong += [{key: value for key, value in params.items() if key != missing} for missing in required]
            for key, value in params.items():
                if (name, key) != ("session.addMessage", "content"):
                    wrong += [{**params, key: other} for other in _others(value)]
            for each in wrong:
                connection.sendall(request(name, tried, **each))
                answer = next(answers)
                assert answer["error"]["code"] == INVALID, (name, each, answer)
                tried += 1
            connection.sendall(json.dumps({"jsonrpc": "2.0", "id": 0, "method": name, "params": [1]}).encode() + b"\n")
            assert next(answers)["error"]["code"] == INVALID
    assert tried > 200
    assert client.call("session.getHistory", sessionId=PM)["messages"] == []


def _others(value: object) -> list[object]:
    """Values of other JSON types; also those that look like the right one."""
    texts: list[object] = ["text", str(value)] if not isinstance(value, str) else []
    candidates = [*texts, 1, 1.5, True, ["list"], {"key": "object"}]
    return [other for other in candidates if type(other) is not type(value)]


def test_unknown_methods_and_names(client: Client, project: SampleProject) -> None:
    root = str(project.root)
    assert code(client, "session.rebuild") == UNKNOWN
    assert code(client, "daemon.status.") == UNKNOWN
    for wrong in ("\ud800", "x" * 10_000):
        assert code(client, wrong) == UNKNOWN
    for method in ("session.get", "session.getMessages", "session.getHistory", "session.clearMessages"):
        assert code(client, method, sessionId="none") == NOT_FOUND
        assert code(client, method, sessionId=PM, project="/") == NOT_FOUND
        assert code(client, method, sessionId=PM, worktree="none") == NOT_FOUND
    for bad in ("../../etc/passwd", "", "a/b", "\x00", "\ud800", "x" * 300):
        assert code(client, "session.get", sessionId=bad) == INVALID
    for bad in ("none", "relative/path", "", "\x00", f"{root}/\x00", "\ud800", "/" + "x" * 5000):
        assert code(client, "session.get", sessionId=PM, project=bad) == NOT_FOUND
    assert code(client, "feature.get", featureId="none") == NOT_FOUND
    assert code(client, "project.scan", project="/nowhere") == NOT_FOUND
    assert code(client, "events.subscribe", project="/nowhere") == NOT_FOUND
    assert code(client, "session.getHistory", sessionId=PM, before="none") == NOT_FOUND
    assert code(client, "session.getOrCreate", **whose(project.root, featureId="none")) == NOT_FOUND
    assert code(client, "session.getOrCreate", **whose(project.root, type="task")) == INVALID
    assert code(client, "session.getOrCreate", **whose(project.root, agentType="boss")) == INVALID


def test_a_project_is_named_by_any_path_inside_it(client: Client, project: SampleProject, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project.root)
    inside = [project.root, project.worktree, project.worktree / "no" / "such", f"{project.root}/", link]
    inside += [f"{project.root}/x/..", link / ".dagent-worktrees"]
    for path in map(str, inside):
        assert client.call("session.get", sessionId=PM, project=path)["project"] == str(project.root)
    for path in map(str, [tmp_path, f"{project.root}x", f"{project.root}/..", "repo"]):
        assert code(client, "session.get", sessionId=PM, project=path) == NOT_FOUND


def _with_feature(root: Path, *worktrees: str) -> Path:
    for name in worktrees:
        folder = root / ".dagent-worktrees" / name / ".dagent"
        folder.mkdir(parents=True)
        (folder / "feature.json").write_text(json.dumps({"id": FEATURE, "name": "Login"}))
    return root


def test_an_id_in_two_projects_needs_the_project(daemon: Daemon, project: SampleProject, tmp_path: Path) -> None:
    """The second lies inside the first, where the innermost is meant."""
    inner = project.root / "vendor" / "inner"
    inner.parent.mkdir()
    git(tmp_path, "init", "-q", str(inner))
    _with_feature(inner, FEATURE)
    daemon.run(project.root, inner)
    with daemon.client() as client:
        for root in (project.root, inner):
            assert client.call("session.getOrCreate", **whose(root))["project"] == str(root)
        assert code(client, "session.get", sessionId=PM) == CONFLICT
        assert code(client, "session.addMessage", sessionId=PM, role="user", content="x") == CONFLICT
        client.call("session.addMessage", sessionId=PM, project=str(inner), role="user", content="in")
        assert client.call("session.getMessages", sessionId=PM, project=str(inner))["total"] == 1
        assert client.call("session.getMessages", sessionId=PM, project=str(project.root))["total"] == 0
        assert len(client.call("session.list")["sessions"]) == 2


def test_worktree_chooses_where_several_have_a_session(daemon: Daemon, repo: Path) -> None:
    _with_feature(repo, "one", "two")
    daemon.run(repo)
    with daemon.client() as client:
        assert code(client, "session.getOrCreate", **whose(repo)) == CONFLICT
        for worktree in ("one", "two"):
            client.call("session.getOrCreate", **whose(repo, worktree=worktree))
        assert code(client, "session.get", sessionId=PM) == CONFLICT
        client.call("session.addMessage", sessionId=PM, worktree="two", role="user", content="x")
        assert client.call("session.getMessages", sessionId=PM, worktree="one")["total"] == 0
        by_path = str(repo / ".dagent-worktrees" / "two")
        assert client.call("session.getMessages", sessionId=PM, worktree=by_path)["total"] == 1


def test_messages(client: Client) -> None:
    add = {"sessionId": PM, "role": "user"}
    first = client.call("session.addMessage", **add, content="one", id="m1")
    assert client.call("session.addMessage", **add, content="one", id="m1") == first
    assert code(client, "session.addMessage", **add, content="other", id="m1") == CONFLICT
    strange: list[Any] = ["\ud800 alone", "\u0000", "\u2028", "", None, 0, [1, {"a": "\udfff"}], {"b": "c"}, "é"]
    texts = ["\ud800 alone", "\u0000", "\u2028", "", "", "0", '1\n{"a": "\udfff"}', '{"b": "c"}', "é"]
    for content, text in zip(strange, texts, strict=True):
        answered = client.call("session.addMessage", **add, content=content)
        assert answered["content"] == text
        assert isinstance(content, str) or answered["metadata"]["content"] == content
    client.call("session.addMessage", **add, content="hidden", metadata={"internal": True})
    held = client.call("session.getHistory", sessionId=PM)["messages"]
    assert [message["content"] for message in held] == ["one", *texts, "hidden"]
    shown = client.call("session.getMessages", sessionId=PM, limit=2)
    assert [message["content"] for message in shown["messages"]] == texts[-2:]
    assert shown["total"] == len(held) - 1
    internal = client.call("session.getMessages", sessionId=PM, limit=1, includeInternal=True)
    assert internal["messages"][0]["content"] == "hidden"
    page = client.call("session.getHistory", sessionId=PM, before=held[3]["id"], limit=2)
    assert (page["messages"], page["more"]) == (held[1:3], True)
    assert client.call("session.getHistory", sessionId=PM, before="m1") == {"messages": [], "more": False}


def test_several_messages_are_added_all_or_none(client: Client) -> None:
    whole = [{"role": "assistant", "content": "call", "id": "a"}, {"role": "user", "content": "result", "id": "b"}]
    for wrong in ([*whole, {"role": "robot", "content": "x"}], [*whole, {"role": "user"}], []):
        assert code(client, "session.addMessages", sessionId=PM, messages=wrong) == INVALID
    assert client.call("session.getHistory", sessionId=PM)["messages"] == []
    added = client.call("session.addMessages", sessionId=PM, messages=whole)["messages"]
    assert [message["id"] for message in added] == ["a", "b"]
    assert client.call("session.getMessages", sessionId=PM)["total"] == 2


def test_a_request_over_the_limit(client: Client) -> None:
    large = {"sessionId": PM, "userMessage": "word " * 200_000}
    told = client.call("session.buildRequest", **large)
    assert told["overLimit"] is True and told["parts"][0]["part"] == "userPrompt"
    assert code(client, "session.buildRequest", **large, strict=True) == LIMIT
    assert "overLimit" not in client.call("session.buildRequest", sessionId=PM, userMessage="Go", strict=True)


def test_a_session_from_beginning_to_archive_and_back(client: Client, project: SampleProject) -> None:
    client.call("session.addMessage", sessionId=PM, role="user", content="x")
    client.call("session.updateCheckpoint", sessionId=PM, checkpoint={"summary": {"decisions": ["d"]}})
    assert client.call("session.clearMessages", sessionId=PM)["messagesCleared"] == 1
    assert client.call("session.getMessages", sessionId=PM)["total"] == 0
    assert len(client.call("session.getHistory", sessionId=PM)["messages"]) == 1
    assert client.call("session.getCheckpoint", sessionId=PM)["summary"]["decisions"] == ["d"]
    client.call("session.archive", sessionId=PM)
    assert client.call("session.list", status="active")["sessions"] == []
    assert len(client.call("session.getHistory", sessionId=PM)["messages"]) == 1
    client.call("session.addMessage", sessionId=PM, role="user", content="again")
    assert client.call("session.get", sessionId=PM)["status"] == "active"
    client.call("session.archive", sessionId=PM)
    assert client.call("session.getOrCreate", **whose(project.root))["status"] == "active"


def test_a_task_of_which_nobody_heard_is_made(client: Client, project: SampleProject) -> None:
    task = whose(project.root, type="task", agentType="dev", taskId="t-1", taskState="in_dev")
    made = client.call("session.getOrCreate", **task)
    assert made["id"] == f"dev-task-{FEATURE}-t-1-in_dev"
    [document] = project.dagent.rglob("task.json")
    assert made["id"] in json.loads(document.read_text())["states"]["in_dev"]["sessionIds"]
    assert client.call("session.getOrCreate", **task)["createdAt"] == made["createdAt"]


def test_what_could_not_be_read_again_does_not_replace_what_can(client: Client) -> None:
    before = client.call("session.getAgentDescription", sessionId=PM)
    for wrong in ({"agentType": 7}, {}):
        assert code(client, "session.setAgentDescription", sessionId=PM, agentDescription=wrong) == INVALID
    wrong_summary = {"summary": {"completed": "no list"}}
    assert code(client, "session.updateCheckpoint", sessionId=PM, checkpoint=wrong_summary) == INVALID
    assert client.call("session.getAgentDescription", sessionId=PM) == before
    assert client.call("session.previewRequest", sessionId=PM)["totalTokens"] > 0


def test_a_damaged_document_is_an_error_of_that_session_alone(client: Client, project: SampleProject) -> None:
    client.call("session.getOrCreate", **whose(project.root, agentType="qa"))
    (project.dagent / "sessions" / f"context_{PM}.json").write_text('{"half')
    assert code(client, "session.getContext", sessionId=PM) == CORRUPT
    assert code(client, "session.previewRequest", sessionId=PM) == CORRUPT
    assert client.call("session.previewRequest", sessionId=f"qa-feature-{FEATURE}")["totalTokens"] > 0


def test_a_link_out_of_the_worktree_is_not_allowed(client: Client, project: SampleProject, tmp_path: Path) -> None:
    description = project.dagent / "sessions" / f"agent-description_{PM}.json"
    until(description.exists, "the description")
    outside = tmp_path / "outside.json"
    outside.write_text('{"agentType": "pm"}')
    description.unlink()
    description.symlink_to(outside)
    assert code(client, "session.getAgentDescription", sessionId=PM) == NOT_ALLOWED


def test_a_list_that_does_not_fit_stops_at_whole_messages(client: Client) -> None:
    for number in range(3):
        client.call("session.addMessage", sessionId=PM, role="user", content=str(number) * 6_000_000)
    shown = client.call("session.getMessages", sessionId=PM)
    assert [message["content"][0] for message in shown["messages"]] == ["1", "2"]
    assert (shown["total"], shown["more"]) == (3, True)
    page = client.call("session.getHistory", sessionId=PM)
    assert (len(page["messages"]), page["more"]) == (2, True)
    rest = client.call("session.getHistory", sessionId=PM, before=page["messages"][0]["id"])
    assert (len(rest["messages"]), rest["more"]) == (1, False)


# --- events --------------------------------------------------------------------------------------------------------


def test_events_say_what_happened_in_order(client: Client, project: SampleProject) -> None:
    with client.subscribe(project=str(project.worktree)) as events:
        assert events.answer["continuous"]
        task = whose(project.root, type="task", agentType="dev", taskId="t", taskState="in_dev")
        dev = client.call("session.getOrCreate", **task)["id"]
        message = client.call("session.addMessage", sessionId=PM, role="user", content="secret words")
        client.call("session.clearMessages", sessionId=PM)
        client.call("session.archive", sessionId=PM)
        told = (event for event in events if event["action"] != "context")  # those are made when their time comes
        seen = [next(told) for _ in range(4)]
    assert [(event["sessionId"], event["action"]) for event in seen] == [
        (dev, "created"), (PM, "message_added"), (PM, "cleared"), (PM, "archived"),
    ]  # fmt: skip
    numbers = [event["seq"] for event in seen]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > events.answer["seq"]
    assert seen[0]["taskId"] == "t"
    assert seen[1]["messageIds"] == [message["id"]]
    assert {event["project"] for event in seen} == {str(project.root)}
    assert {event["featureId"] for event in seen} == {FEATURE}
    assert {event["type"] for event in seen} == {"session:updated"}
    assert "secret" not in json.dumps(seen)


def test_since_replays_and_says_whether_something_is_missing(client: Client) -> None:
    start = client.call("events.subscribe")["seq"]
    for number in range(3):
        client.call("session.addMessage", sessionId=PM, role="user", content=str(number))
    with client.subscribe(since=start, sessionId=PM) as events:
        assert events.answer["continuous"]
        seen = [next(events)["seq"] for _ in range(3)]
    with client.subscribe(since=seen[1]) as events:
        assert events.answer["continuous"]
        assert next(events)["seq"] == seen[2]
    for foreign in (0, -1, start - 10**6, seen[-1] + 10**9, 10**30):
        with client.subscribe(since=foreign) as events:
            assert not events.answer["continuous"]
            assert next(events)["seq"] <= seen[0]


def test_only_what_was_asked_for_arrives_and_nothing_after_unsubscribe(daemon: Daemon, client: Client) -> None:
    with daemon.connect() as connection:
        answers = lines(connection)
        connection.sendall(request("events.subscribe", 1, types=["git:changed"]))
        connection.sendall(request("events.subscribe", 2, sessionId=PM))
        subscriptions = [next(answers)["result"]["subscription"] for _ in range(2)]
        client.call("session.addMessage", sessionId=PM, role="user", content="x")
        answers = (each for each in answers if each.get("params", {}).get("action") != "context")
        assert next(answers)["params"]["action"] == "message_added"
        connection.sendall(request("events.unsubscribe", 3, subscription=subscriptions[1]))
        assert next(answers) == {"jsonrpc": "2.0", "result": {}, "id": 3}
        client.call("session.addMessage", sessionId=PM, role="user", content="y")
        connection.sendall(request("daemon.ping", 4))
        assert next(answers)["id"] == 4
