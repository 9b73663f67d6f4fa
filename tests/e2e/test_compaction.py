"""Compaction by the real daemon: by itself, on demand, beside all else, and never by halves."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dagentd.rpc.client import RpcError
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, until
from tests.e2e.dagentd import dagentd, dagentd_json
from tests.jobs.compaction.conversing import add, answering, names
from tests.messages_api import MessagesApi, slow
from tests.patience import patience

PM = f"pm-feature-{FEATURE}"
SMALL = "[budget]\nlimit = 4000\nprompt_buffer = 100\n"
WORDS = "We talked about the weather and the colour of the sky for a good while. " * 4  # some 65 tokens, 100 calibrated


class Talking:
    """A session of a served project."""

    def __init__(self, daemon: Daemon, project: SampleProject, settings: str = SMALL) -> None:
        self.daemon, self.project = daemon, project
        self.daemon.configure(settings)
        self.process = daemon.run(project.root)
        self.call("session.getOrCreate", type="feature", agentType="pm", featureId=FEATURE, sessionId=None)

    def call(self, method: str, **params: Any) -> Any:
        given = {"project": str(self.project.root), "sessionId": PM} | params
        return self.daemon.call(method, **{key: value for key, value in given.items() if value is not None})

    def add(self, content: Any, role: str = "user") -> str:
        return str(self.call("session.addMessage", role=role, content=content)["id"])

    def fill(self, count: int) -> list[str]:
        return [self.add(f"{number}: {WORDS}") for number in range(count)]

    @property
    def shown(self) -> list[str]:
        return [one["id"] for one in self.call("session.getMessages", limit=1000)["messages"]]

    @property
    def history(self) -> list[str]:
        return [one["id"] for one in self.call("session.getHistory", limit=1000)["messages"]]

    @property
    def checkpoint(self) -> dict[str, Any]:
        return dict(self.call("session.getCheckpoint"))

    def document(self, name: str) -> Path:
        return self.project.dagent / "sessions" / f"{name}_{PM}.json"


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def by_model(daemon: Daemon, project: SampleProject, api: MessagesApi, monkeypatch: Any) -> Callable[..., Talking]:
    def start(budget: str = SMALL, more: str = "") -> Talking:
        monkeypatch.setenv("DAGENTD_API_KEY", "the-key")
        return Talking(daemon, project, f'{budget}[compaction]\nbase_url = "{api.url}"\n{more}')

    return start


def test_a_session_over_its_budget_is_compacted_by_itself(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project)
    events: list[dict[str, Any]] = []
    with daemon.client() as client, client.subscribe(sessionId=PM) as subscription:
        talking.add("Let's use PostgreSQL 16 for storage.")
        added = talking.fill(40)
        for event in subscription:
            events.append(event)
            if event["type"] == "session:compaction-complete":
                break
    levels = [event["level"] for event in events if event["type"] == "session:budget"]
    assert levels == sorted(set(levels)) and set(levels) <= {0.75, 0.85, 0.9} and levels[-1] == 0.9
    told = next(event for event in events if event["type"] == "session:budget")
    assert told["parts"][0]["part"] == "messages" and told["limit"] == 4000
    kinds = [event["type"] for event in events if event["type"].startswith("session:compaction")]
    assert kinds[:2] == ["session:compaction-start", "session:compaction-complete"]
    assert talking.checkpoint["backend"] == "local"
    assert "Let's use PostgreSQL 16 for storage." in talking.checkpoint["summary"]["decisions"]
    assert talking.history[1:] == added
    assert set(talking.shown) < set(added)
    until(lambda: json.loads(talking.document("chat").read_text())["messages"][:1] != added[:1], "the chat on disk")
    # The first may have come when half of them were there: then there is another one.
    until(lambda: not talking.call("session.previewRequest")["breakdown"]["needsCompaction"], "room again")
    assert "compacted" in {event.get("action") for event in events}


def test_each_level_is_told_once_on_the_way_up(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project, SMALL + "[compaction]\nenabled = false\n")
    levels: list[float] = []
    with daemon.client() as client, client.subscribe(types=["session:budget"]) as subscription:
        while len(levels) < 3:
            talking.fill(1)
            talking.call("session.previewRequest")
            until(lambda: daemon.status["queues"]["waiting"] == [] and daemon.status["queues"]["running"] == [])
            share = talking.call("session.previewRequest")["breakdown"]
            if (share["total"] + 100) / 4000 > (0.76, 0.86, 0.91)[len(levels)]:
                levels.append(next(iter(subscription))["level"])
    assert levels == [0.75, 0.85, 0.9]


def test_undo_and_then_nothing_by_itself_before_the_limit(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project)
    added: list[str] = []
    while len(talking.shown) == len(added):
        added += talking.fill(1)
        until(lambda: daemon.status["queues"]["waiting"] == [] and daemon.status["queues"]["running"] == [])
    assert talking.call("session.undoCompaction")["messagesRestored"] > len(added) // 2, "all but the last"
    assert talking.shown == added
    assert talking.call("session.previewRequest")["breakdown"]["needsCompaction"] is True
    talking.add("one more")
    until(lambda: daemon.status["queues"]["running"] == [] and daemon.status["queues"]["waiting"] == [])
    assert len(talking.shown) == len(added) + 1
    count = len(added) + 1 + len(talking.fill(20))
    until(lambda: len(talking.shown) < count, "a compaction at the limit itself")


def test_parts_that_stay_over_budget_cost_no_call_and_are_told_once(
    by_model: Callable[..., Talking], daemon: Daemon, project: SampleProject, api: MessagesApi
) -> None:
    (project.worktree / "CLAUDE.md").write_text("Rule: be brief, and never say more than you must.\n" * 400)
    talking = by_model()
    until(lambda: (talking.call("session.getContext") or {}).get("claudeMd"), "the context")
    talking.fill(6)
    found = until(lambda: [one for one in daemon.status["problems"] if one["id"] == "budget"], "the problem")
    assert len(found) == 1 and "context" in found[0]["message"] and "budget.limit" in found[0]["hint"]
    assert (daemon.status["health"], api.calls()) == ("ok", [])
    assert len(talking.shown) == 6
    assert "is over budget because of its context" in dagentd("status", cwd=project.root)


def test_a_request_waits_for_room_and_gets_it(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project, SMALL + "[compaction]\nenabled = true\n")
    talking.fill(60)
    built = talking.call("session.buildRequest", userMessage="Go on")
    assert built["totalTokens"] < 4000
    assert built["userPrompt"] == "Go on"


@pytest.mark.parametrize("pause", [0, 0.1])  # as fast as they go, and 10 a second for 5 seconds
def test_a_slow_model_holds_up_nobody(
    by_model: Callable[..., Talking], daemon: Daemon, api: MessagesApi, pause: float
) -> None:
    """Messages that come while it is asked are answered at once and stay in chat, in order."""
    api.always(slow(600, answering(add("The weather was talked about", "m1"))))
    talking = by_model()
    before = talking.fill(30)
    until(lambda: api.calls(), "the call")
    during = []
    for number in range(50):
        during.append(talking.add(f"during {number}"))
        time.sleep(pause)
    assert daemon.call("daemon.ping") == {}
    _check_that_it_shows(daemon, talking)
    api.release()
    until(lambda: talking.checkpoint.get("backend") == "anthropic", "the compaction")
    assert talking.shown[-50:] == during
    assert talking.history == before + during
    assert talking.shown == (before + during)[len(names(api.calls()[0].body)) :]
    until(lambda: daemon.status["spend"]["calls"] == len(api.calls()), "each call being in the ledger")


def _check_that_it_shows(daemon: Daemon, talking: Talking) -> None:
    (told,) = daemon.status["compacting"]
    assert (told["sessionId"], told["project"]) == (PM, str(talking.project.root)) and told["since"]
    (listed,) = [each for each in daemon.call("session.list")["sessions"] if "compacting" in each]
    assert (listed["id"], listed["compacting"]) == (PM, told["since"])
    for command in (("status",), ("sessions",), ("show", PM), ("top",)):
        assert "compacting" in dagentd(*command, cwd=talking.project.root), command


@pytest.mark.timeout(300)
def test_thirty_sessions_at_once_stay_within_the_caps_and_let_a_user_pass(
    by_model: Callable[..., Talking], daemon: Daemon, api: MessagesApi
) -> None:
    """Two of them wait for a model that does not answer, and all others behind these; a user's own does not. When the
    model is there again, the caps still hold, and all are compacted."""
    hanging = slow(600, answering())
    api.then(hanging, hanging)
    api.always(answering(add("The weather was talked about", "m1")))
    talking = by_model(more="max_calls_per_hour = 5\n")
    names = [_of_task(talking, number) for number in range(30)]
    said = [{"role": "user", "content": f"{number}: {WORDS}"} for number in range(40)]
    for name in names:
        talking.call("session.addMessages", sessionId=name, messages=said)
    until(lambda: len(daemon.status["queues"]["waiting"]) > 25 and len(api.calls()) == 2, "the queue")
    assert talking.call("session.forceCompact", sessionId=names[-1])["method"] == "anthropic"
    assert len(daemon.status["queues"]["waiting"]) > 25, "nobody else came before"
    before = daemon.status["memory"]["resident"]
    api.release()
    until(lambda: not any(daemon.status["queues"][each] for each in ("waiting", "running")), "all of them", 200)
    backends = [talking.call("session.getCheckpoint", sessionId=name).get("backend") for name in names]
    assert (set(backends), len(api.calls())) == ({"anthropic", "local"}, 5)
    assert daemon.status["spend"]["calls"] == 5
    assert daemon.status["memory"]["resident"] < before + (100 << 20)


def _of_task(talking: Talking, number: int) -> str:
    task = {"type": "task", "agentType": "dev", "featureId": FEATURE, "taskId": f"t{number}", "taskState": "in_dev"}
    return str(talking.call("session.getOrCreate", sessionId=None, **task)["id"])


def test_a_stop_while_a_model_is_asked_changes_nothing(
    by_model: Callable[..., Talking], daemon: Daemon, api: MessagesApi
) -> None:
    api.always(slow(600, answering()))
    talking = by_model()
    talking.fill(30)
    until(lambda: api.calls(), "the call")
    daemon.dagentd("stop")
    assert talking.process.wait(patience()) == 0
    assert not daemon.processes()
    chat = json.loads(talking.document("chat").read_text())
    assert len(chat["messages"]) == 30
    assert "backend" not in json.loads(talking.document("checkpoint").read_text())


def test_a_kill_while_a_model_is_asked_leaves_no_process_behind(
    by_model: Callable[..., Talking], daemon: Daemon, project: SampleProject, api: MessagesApi
) -> None:
    api.always(slow(600, answering()))
    talking = by_model()
    talking.fill(30)
    until(lambda: api.calls(), "the call")
    assert _children_of_the_api()
    os.kill(talking.process.pid, signal.SIGKILL)
    until(lambda: not _children_of_the_api(), "the end of the process that called")
    assert talking.process.wait(patience()) == -signal.SIGKILL  # its last thread holds the socket until then
    again = Talking(daemon, project)
    assert len(again.history) == 30
    ledger = (daemon.state / "ledger.jsonl").read_text().splitlines()
    assert json.loads(ledger[0])["t"] == "call"
    assert daemon.status["spend"]["tokens"] > 16_000  # what it may have cost


def _children_of_the_api() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"anthropic_child.py" in line and os.environ["HOME"].encode() in _environ(entry):
                found.append(line.decode())
    return found


def _environ(entry: Path) -> bytes:
    try:
        return (entry / "environ").read_bytes()
    except OSError:
        return b""


def test_previewed_and_applied_as_it_was(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project)
    talking.add("Let's use PostgreSQL 16 for storage.")
    proposal = talking.call("session.previewCompaction")
    decided = [each["text"] for each in proposal["added"] if each["list"] == "decisions"]
    assert decided == ["Let's use PostgreSQL 16 for storage."]
    assert len(talking.shown) == 1
    later = talking.add("Let's use Redis 7 for the cache.")
    done = talking.call("session.forceCompact", proposalId=proposal["proposalId"])
    assert (done["method"], done["messagesCompacted"]) == ("local", 1)
    assert talking.shown == [later]
    assert talking.checkpoint["summary"]["decisions"] == ["Let's use PostgreSQL 16 for storage."]
    with pytest.raises(RpcError) as refused:
        talking.call("session.forceCompact", proposalId=proposal["proposalId"])
    assert refused.value.code == -32002
    with pytest.raises(RpcError) as unknown:
        talking.call("session.forceCompact", proposalId="nothing")
    assert unknown.value.code == -32001


def test_what_was_previewed_before_a_restart_is_refused_and_nothing_else_done(
    daemon: Daemon, project: SampleProject
) -> None:
    talking = Talking(daemon, project)
    said = talking.add("Let's use PostgreSQL 16 for storage.")
    proposal = talking.call("session.previewCompaction")["proposalId"]
    daemon.dagentd("stop")
    again = Talking(daemon, project)
    with pytest.raises(RpcError) as unknown:
        again.call("session.forceCompact", proposalId=proposal)
    assert unknown.value.code == -32001
    assert (again.shown, "backend" in again.checkpoint) == ([said], False)


def test_with_nothing_to_compact_all_is_zero(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project)
    assert talking.call("session.previewCompaction")["proposalId"] is None
    done = talking.call("session.forceCompact")
    assert (done["messagesCompacted"], done["tokensReclaimed"], done["checkpointVersion"]) == (0, 0, 1)
    with pytest.raises(RpcError) as refused:
        talking.call("session.undoCompaction")
    assert refused.value.code == -32002


def test_pinned_messages_and_items_stay(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project)
    first, second = talking.add("Let's use PostgreSQL 16 for storage."), talking.add("Let's use Redis 7 as the cache.")
    talking.call("session.pin", messageId=first)
    assert talking.call("session.forceCompact")["messagesCompacted"] == 1
    assert talking.shown == [first] and second in talking.history
    item = next(each["id"] for each in talking.checkpoint["items"] if each["list"] == "decisions")
    talking.call("session.pin", itemId=item)
    assert [each["id"] for each in talking.checkpoint["items"] if each.get("pinned")] == [item]
    assert f"{item}  [pinned] Let's use Redis 7 as the cache." in dagentd("show", PM, cwd=project.root)
    for wrong in ({"itemId": "nothing"}, {"messageId": "nothing"}):
        with pytest.raises(RpcError) as refused:
            talking.call("session.pin", **wrong)
        assert refused.value.code == -32001


def test_the_commands_with_a_daemon_and_without(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project)
    talking.add("Let's use PostgreSQL 16 for storage.")
    for serving in (True, False):
        if not serving:
            daemon.dagentd("stop")
        shown = dagentd("compact", PM, "--preview", cwd=project.root)
        assert "1 message would leave" in shown and "  + Let's use PostgreSQL 16 for storage." in shown
        assert "by rules" in dagentd("compact", PM, cwd=project.root)
        assert "Nothing in the chat" in dagentd("compact", PM, cwd=project.root)
        assert "no model to ask" in dagentd("compact", PM, "--again", cwd=project.root, status=1)
        assert dagentd_json("undo", PM, cwd=project.root)["messagesRestored"] == 1
        assert "not compacted" in dagentd("undo", PM, cwd=project.root, status=1)
        message = dagentd_json("messages", PM, cwd=project.root)["messages"][0]["id"]
        assert dagentd("pin", PM, message, "--message", cwd=project.root) == f"{message} stays.\n"
        assert "Nothing in the chat" in dagentd("compact", PM, cwd=project.root)
        dagentd("pin", PM, message, "--message", "--off", cwd=project.root)


def test_one_shot_compacts_what_is_due(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project, "[compaction]\nenabled = true\n")
    talking.fill(60)
    daemon.dagentd("stop")
    daemon.configure(SMALL)
    assert "58 messages compacted by local" in dagentd("run", "--once", cwd=project.root)
    assert len(json.loads(talking.document("chat").read_text())["messages"]) == 2, "the last exchange"
    assert "up to date" in dagentd("run", "--once", cwd=project.root)


def test_what_was_too_full_while_nobody_looked_is_found_at_the_start(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project, "[compaction]\nenabled = false\n")
    talking.fill(60)
    daemon.dagentd("stop")
    again = Talking(daemon, project)
    until(lambda: len(again.shown) < 60, "the compaction")


def test_who_does_not_want_it_is_left_alone(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project, SMALL + "[compaction]\nenabled = false\n")
    talking.fill(60)
    until(lambda: daemon.status["queues"]["running"] == [] and daemon.status["queues"]["waiting"] == [])
    assert len(talking.shown) == 60


def test_task_sessions_carry_their_loop(daemon: Daemon, project: SampleProject) -> None:
    talking = Talking(daemon, project)
    task = {"type": "task", "agentType": "dev", "featureId": FEATURE, "taskId": "t1", "taskState": "in_dev"}
    session = talking.call("session.getOrCreate", sessionId=None, **task)["id"]
    node = project.dagent / "nodes" / "t1"
    checks = [{"id": "1", "description": "tests pass", "status": "failed", "error": "2 failed"}]
    (node / "plan.json").write_text(json.dumps({"taskId": "t1", "iteration": 3, "checklist": checks}))
    results = [{"name": "build", "passed": True}, {"name": "lint", "passed": False, "error": "E501 line too long"}]
    metadata = {"iteration": 2, "verificationResults": results}
    talking.call("session.addMessage", sessionId=session, role="assistant", content="Built it.", metadata=metadata)
    talking.call("session.forceCompact", sessionId=session)
    loop = talking.call("session.getCheckpoint", sessionId=session)["ralphLoop"]
    assert (loop["currentIteration"], loop["passedChecks"]) == (3, ["build"])
    assert (loop["failedChecks"], loop["lastError"]) == (["lint", "tests pass"], "2 failed")


def test_several_clients_at_once(daemon: Daemon, project: SampleProject) -> None:
    """Compactions, undos and appends in any order: each message is in history once, and in chat or behind it."""
    talking = Talking(daemon, project)
    added: list[str] = []
    refused: list[int] = []

    def append() -> None:
        for number in range(40):
            added.append(talking.add(f"{number} {WORDS}"))

    def press(method: str) -> None:
        for _ in range(15):
            try:
                talking.call(method)
            except RpcError as error:
                refused.append(error.code)

    threads = [threading.Thread(target=append) for _ in range(2)]
    pressed = ("session.forceCompact", "session.undoCompaction")
    threads += [threading.Thread(target=press, args=(name,)) for name in pressed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(talking.history) == sorted(added)
    assert set(refused) <= {-32002}
    shown = talking.shown  # asked for once: a compaction may still be under way
    assert len(shown) == len(set(shown))
