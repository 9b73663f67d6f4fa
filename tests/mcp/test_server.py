"""The MCP server on its lines: both eras, bad input, and no daemon; the SDK's client is in test_sdk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dagentd.jobs import briefs
from dagentd.mcp.server import NEW, serve
from dagentd.mcp.tools import TOOLS, Place
from dagentd.settings import Settings
from tests.agents.claude_lines import answer, user
from tests.conftest import FEATURE, SampleProject, git
from tests.e2e.daemon import Daemon
from tests.model.test_redaction import KEYS
from tests.patience import until

NEW_ERA = {"_meta": {"io.modelcontextprotocol/protocolVersion": NEW}}


def told(*asked: object) -> list[Any]:
    lines = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in asked)
    return [json.loads(line) for line in serve(lines)]


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call(name: object, arguments: Any = None) -> dict[str, Any]:
    [answer] = told(request("tools/call", name=name, arguments=arguments))
    return dict(answer.get("result") or answer["error"])


def test_each_era_gets_its_own_form() -> None:
    [new] = told(request("server/discover", **NEW_ERA))
    assert new["result"]["supportedVersions"] == [NEW] and new["result"]["resultType"] == "complete"
    [old] = told(request("initialize", protocolVersion="2025-11-25"))
    assert old["result"]["protocolVersion"] == "2025-11-25" and "resultType" not in old["result"]
    [unknown] = told(request("initialize", protocolVersion="1999-01-01"))
    assert unknown["result"]["protocolVersion"] == "2025-11-25"
    [listed] = told(request("tools/list", **NEW_ERA))
    assert listed["result"].keys() >= {"resultType", "ttlMs", "cacheScope", "tools"}
    [refused] = told(request("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01"}))
    assert refused["error"]["data"]["supported"] == [NEW]


def test_tools_are_listed_in_one_order_with_closed_schemas() -> None:
    [answer] = told(request("tools/list"))
    tools = answer["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["search", "sessions", "read", "brief", "note", "usage"]
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    assert [tool["name"] for tool in tools if not tool["annotations"]["readOnlyHint"]] == ["note"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700), (b"[" * 100_000, -32700), (b"\xff\xfe", -32700), (b"7", -32600), (b"[]", -32600),
        (b'{"id": 1}', -32600), (b'{"id": 1, "method": "nothing/here"}', -32601),
        (b'{"id": 1, "method": "tools/list", "params": 7}', -32602),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "rm"}}', -32602),
        (b'{"id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}', -32602),
        (b'{"id": 1, "method": "prompts/get", "params": {"name": "other"}}', -32602),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_an_error_and_the_next_line_counts(line: bytes, code: int) -> None:
    refused, fine = told(line, request("ping"))
    assert refused["error"]["code"] == code and fine["result"] == {}


def test_notifications_and_answers_get_no_answer() -> None:
    assert told({"method": "notifications/initialized"}, {"id": 3, "result": {}}, b"\n", b"  \n") == []


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("bad", [7, [], "x", {"other": 1}, {"query": 7}, {"session": {}}, {"limit": 0}, {"text": " "},
                                 {"tokens": True}, {"by": ["day"]}])  # fmt: skip
def test_each_tool_refuses_bad_input_in_words(name: str, bad: Any) -> None:
    found = call(name, bad)
    assert found["isError"] is True
    [said] = found["content"]
    assert said["text"].endswith(".") and len(said["text"]) < 200 and "dagentd does not run" not in said["text"]


@pytest.mark.parametrize(("name", "given"), [
    ("search", {"query": "x"}), ("sessions", {}), ("read", {"session": "x"}), ("brief", {}), ("note", {"text": "x"}),
    ("usage", {}),
])  # fmt: skip
def test_without_a_daemon_each_tool_says_so(name: str, given: dict[str, Any]) -> None:
    found = call(name, given)
    assert found["isError"] is True and "dagentd does not run" in found["content"][0]["text"]


def test_it_knows_its_place_in_any_worktree(project: SampleProject, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    git(project.root, "worktree", "add", "-q", "-b", "other", str(elsewhere))
    (elsewhere / "src").mkdir()
    for cwd, worktree in ((elsewhere / "src", elsewhere), (project.worktree, project.worktree),
                          (project.root, project.root)):  # fmt: skip
        assert Place.of(str(cwd))[:2] == (str(worktree), str(project.root))


def test_a_folder_that_names_a_repository_is_none_of_its_worktrees(project: SampleProject, tmp_path: Path) -> None:
    """As it may come in an archive: what the repository's own worktree has, or a link to its git folder."""
    for name in ("named", "linked"):
        (tmp_path / name).mkdir()
    shutil.copy(project.worktree / ".git", tmp_path / "named" / ".git")
    (tmp_path / "linked" / ".git").symlink_to(project.root / ".git")
    for name in ("named", "linked"):
        assert Place.of(str(tmp_path / name)).project == str(tmp_path / name)


def test_a_conversation_of_another_repository_is_not_told(
    daemon: Daemon, project: SampleProject, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    uuid = "11111111-2222-4333-8444-555555555555"
    transcript = home / ".claude/projects/-other" / f"{uuid}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(user("The aquarium pump is green.", other) + answer("Yes.", other))
    daemon.register(project.root, other)
    daemon.run()
    until(lambda: daemon.call("session.search", query="aquarium")["hits"], "the conversation to be kept")
    monkeypatch.chdir(other)
    for name, given in (("search", {"query": "aquarium"}), ("read", {"session": f"claude-{uuid}"}), ("brief", {})):
        assert "pump" in call(name, given)["content"][0]["text"]
    monkeypatch.chdir(project.worktree)
    session = f"claude-{uuid}"
    asked: list[tuple[str, dict[str, str]]] = [
        ("search", {"query": "aquarium"}),
        ("search", {"query": "aquarium", "session": session}),
        ("sessions", {}),
        ("read", {"session": session}),
        ("brief", {"session": session}),
        ("brief", {"session": str(other)}),
        ("brief", {}),
        ("usage", {"by": "session"}),
    ]
    for name, given in asked:
        told = call(name, given)["content"][0]["text"]
        assert "pump" not in told and "Yes." not in told, (name, given)


def test_tools_answer_about_the_project_alone(
    daemon: Daemon, project: SampleProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = daemon.run(project.root)
    pm, key = f"pm-feature-{FEATURE}", "sk-ant-api03-" + "a1B2c3D4" * 11
    with daemon.client() as client:
        whose = {"type": "feature", "agentType": "pm", "featureId": FEATURE}
        client.call("session.getOrCreate", project=str(project.root), **whose)
        said = f"We use PostgreSQL\x1b[31m, not SQLite. {key}"
        client.call("session.addMessage", sessionId=pm, role="user", content=said, id="m1")
    monkeypatch.chdir(project.worktree)

    def ask(name: str, **given: Any) -> str:
        found = call(name, given)
        assert found["isError"] is False, found
        text = str(found["content"][0]["text"])
        assert "\x1b" not in text and "a1B2c3D4a1B2c3D4" not in text
        return text

    assert pm in ask("search", query="postgresql") and "[m1]" in ask("search", query="postgresql")
    assert "Nothing found" in ask("search", query="oracle")
    assert ask("sessions").startswith(f"{pm} active")
    assert "not SQLite" in ask("read", session=pm)
    assert "# Hand-over" in ask("brief") and "# Hand-over" in ask("brief", session=FEATURE)
    assert "decides nothing until the user confirms" in ask("note", text="The tests need redis.")
    assert "total: 0 in" in ask("usage")
    [read] = told(request("resources/read", uri=f"dagent://session/{pm}"))
    assert read["result"]["contents"][0]["text"].startswith("# Hand-over")
    [prompt] = told(request("prompts/get", name="continue", arguments={"session": pm}))
    assert "# Hand-over" in prompt["result"]["messages"][0]["content"]["text"]
    for bad in ({"session": "no-such"}, {"session": "../../etc"}):
        assert call("read", bad)["isError"] and call("brief", bad)["isError"]
    assert call("usage", {"by": "moon"})["isError"] and call("note", {"text": "x" * 1001})["isError"]
    process.terminate()
    process.wait()
    assert "dagentd does not run" in call("sessions", {})["content"][0]["text"]
    daemon.run(project.root)
    assert ask("sessions").startswith(pm)


@pytest.mark.parametrize("name", KEYS)
def test_what_is_cut_has_no_half_of_a_key(name: str) -> None:
    """The key stands across each place at which a long message is cut."""
    key, pm = KEYS[name], f"pm-feature-{FEATURE}"
    for cut in (1000, 1500):
        said = f"{'word ' * 1000}"[: cut - len(key) // 2 - 1] + f" {key} {'word ' * 500}"
        message = {"id": "m1", "role": "user", "content": said}
        read = TOOLS["read"].answer({"session": pm}, Place("/w", "/w", None), partial(_history, message))
        brief = briefs.of_conversation({"id": pm}, None, [message], (), Settings(), 4000)
        assert "word" in read and key[:10] not in read
        assert "word" in brief and key[:10] not in brief


def _history(message: dict[str, Any], *_: object, **__: object) -> dict[str, Any]:
    return {"messages": [message], "more": False}


@pytest.mark.parametrize("uses", [{"name": "Bash"}, [{"name": "Bash"}, {"tool": "Read"}]])
def test_the_tools_that_a_message_used_are_named(uses: Any) -> None:
    """One, or a list of them, as conversations of other agents have it."""
    message = {"id": "m", "role": "assistant", "content": "", "metadata": {"toolUse": uses}}
    read = TOOLS["read"].answer({"session": "s"}, Place("/w", "/w", None), partial(_history, message))
    assert f"[used {'Bash, Read' if isinstance(uses, list) else 'Bash'}]" in read


def test_a_pipe_in_the_place_of_the_pointer_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert Place.of(str(tmp_path))[:2] == (str(tmp_path), str(tmp_path))


def test_it_is_small() -> None:
    """15 MB with a call that reaches for the daemon; the standard library alone."""
    code = """if True:
        import json, sys
        from dagentd.mcp.server import serve
        asked = {"id": 1, "method": "tools/call", "params": {"name": "sessions"}}
        print(list(serve([json.dumps(asked).encode()])))
        heavy = [name for name in ("click", "pydantic", "rich", "pygit2", "hashlib") if name in sys.modules]
        most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print(json.dumps([heavy, int(most.split()[1])]))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    heavy, kilobytes = json.loads(done.stdout.splitlines()[-1])
    assert heavy == [] and kilobytes < 15 * 1024
