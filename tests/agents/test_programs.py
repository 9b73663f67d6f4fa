"""What today's Claude Code and Codex write, read as it was said, and kept whatever becomes of theirs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.agents import removing
from dagentd.agents.conversation import ECHO, Agent, Conversation, Transcript, Usage
from tests.agents.programs import ClaudeCode, Codex, Programs
from tests.agents.reading import CLAUDE, CODEX, conversation, events
from tests.agents.stand_in_api import Call, StandInApi
from tests.agents.test_sessions import Place
from tests.conftest import git

pytestmark = pytest.mark.timeout(900)

# An MCP server named dagentd, and hooks, as `dagentd connect` installs them; what they say must not come back.
SERVER = """
import json, sys
tools = [{"name": "search", "description": "Search", "inputSchema": {"type": "object", "properties": {}}}]
server = {"name": "dagentd", "version": "1"}
info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
told = {"initialize": info, "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": "okapis, in May"}]}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        found = told.get(asked["method"])
        answer = {"result": found} if found else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


@pytest.fixture
def api() -> Iterator[StandInApi]:
    with StandInApi() as api:
        api.script("count the files", Call("Bash", {"command": "ls", "description": "List"}), "There is one file.")
        api.script("detailed summary", "<analysis>well</analysis><summary>Notes were written.</summary>")
        api.script("CONTEXT CHECKPOINT COMPACTION", "Notes were written.")
        yield api


def found(agent: Agent, home: Path) -> dict[Transcript, Path]:
    """All transcripts below the agent's folders; every file there has a place."""
    files = {
        path: agent.place(path.relative_to(root))
        for root in agent.roots({}, home)
        for path in root.rglob("*.jsonl")
        if path.is_file()
    }
    assert all(files.values()), files
    return {place: path for path, place in files.items() if isinstance(place, Transcript)}


def read(agent: Agent, path: Path, transcript: Transcript) -> Conversation:
    return conversation(agent, path.read_bytes().splitlines(keepends=True), transcript)


def said(conversation: Conversation) -> list[str]:
    return [each.text or "+".join(use.name for use in each.tool_uses) for each in conversation.messages]


def test_claude_code(installed: Programs, api: StandInApi, home: Path, repo: Path) -> None:
    claude = ClaudeCode(installed.claude, api, home)
    write = Call("Write", {"file_path": str(repo / "notes.txt"), "content": "hello\n"})
    api.script("write the notes", ["I write it.", write], "The notes are written.")
    agent = {"description": "Count", "prompt": "count the files", "subagent_type": "general-purpose"}
    api.script("ask a subagent", Call("Agent", agent), "It counted.")
    api.script("enter a worktree", Call("EnterWorktree", {"name": "spike"}), "I am there.")

    uuid = claude.say("write the notes", repo)
    claude.say("ask a subagent", repo, resume=uuid)
    claude.say("/compact", repo, resume=uuid)
    fork = claude.say("what did we do", repo, "--fork-session", resume=uuid)
    claude.say("enter a worktree", repo, resume=uuid)

    files = found(CLAUDE, home)
    (subagent,) = (each for each in files if each.subagent)
    assert set(files) == {Transcript(uuid), Transcript(fork), subagent}
    whole = read(CLAUDE, files[Transcript(uuid)], Transcript(uuid))
    words = said(whole)
    assert words[:5] == ["write the notes", "I write it.", "The notes are written.", "ask a subagent", "Agent"]
    assert words[-3:] == ["enter a worktree", "EnterWorktree", "I am there."]
    assert [(use.name, use.is_error) for use in whole.messages[1].tool_uses] == [("Write", False)]
    assert [(each.trigger, "Notes were written." in each.text) for each in whole.summaries] == [("manual", True)]
    assert (whole.first.cwd, whole.last.cwd) == (str(repo), str(repo / ".claude" / "worktrees" / "spike"))
    assert said(read(CLAUDE, files[subagent], subagent)) == ["count the files", "Bash", "There is one file."]
    assert said(read(CLAUDE, files[Transcript(fork)], Transcript(fork)))[-2:] == ["what did we do", "ok"]
    # Every answer but that of the summary is in one of the files, and none counts twice.
    keys = {each.key for place, path in files.items() for each in used(CLAUDE, path, place) if each.cost is None}
    assert len(keys) == len(api.calls()) - 1


def test_codex(installed: Programs, api: StandInApi, home: Path, repo: Path) -> None:
    codex = Codex(installed.codex, api, home)
    api.script("count the files", Call("exec_command", {"cmd": "ls"}), "There is one file.")
    write = Call("exec_command", {"cmd": "echo hello > notes.txt; false"})
    api.script("write the notes", ["I write it.", write], "The notes are written.")
    spawn = Call("spawn_agent", {"message": "count the files"}, "multi_agent_v1")
    wait = Call("exec_command", {"cmd": "sleep 2"})
    api.script("ask a subagent", spawn, wait, "It counts.")

    uuid = codex.say("write the notes", repo)
    api.sizes.append(200_000)
    codex.say("go on", repo, "-c", "model_auto_compact_token_limit=100000", resume=uuid)
    codex.say("and now", repo, "-c", "model_auto_compact_token_limit=100000", resume=uuid)
    fork = codex.say("what did we do", repo, fork=uuid)
    asking = codex.say("ask a subagent", repo)

    files = found(CODEX, home)
    whole = read(CODEX, files[Transcript(uuid)], Transcript(uuid))
    assert said(whole)[:3] == ["write the notes", "I write it.", "The notes are written."]
    (use,) = whole.messages[1].tool_uses
    assert (use.name, use.result, use.is_error) == ("exec_command", "", True)
    assert ["Notes were written." in each.text for each in whole.summaries] == [True]
    assert said(whole)[whole.since :][0] == "and now"
    assert not any("Notes were" in text for text in said(whole))
    origin = read(CODEX, files[Transcript(fork)], Transcript(fork))
    assert (origin.first.forked_from, said(origin)[0]) == (uuid, "what did we do")
    (spawned,) = set(files) - {Transcript(uuid), Transcript(fork), Transcript(asking)}
    subagent = read(CODEX, files[spawned], spawned)
    assert subagent.first.parent == asking
    assert said(subagent)[0] == "count the files"
    keys = [each.key for place, path in files.items() for each in used(CODEX, path, place)]
    assert len(keys) == len(set(keys)) == len(api.calls("/v1/responses"))


def used(agent: Agent, path: Path, transcript: Transcript) -> list[Usage]:
    lines = path.read_bytes().splitlines(keepends=True)
    return [each for each in events(agent, lines, transcript) if isinstance(each, Usage)]


def test_a_conversation_outlives_its_transcript_its_worktree_and_its_repository(
    installed: Programs, api: StandInApi, home: Path, repo: Path, tmp_path: Path
) -> None:
    claude, place = ClaudeCode(installed.claude, api, home), Place(home, repo, tmp_path / "state")
    worktree, clone = tmp_path / "beside", tmp_path / "clone"
    git(repo, "worktree", "add", "-q", "-b", "spike", str(worktree))
    git(tmp_path, "clone", "-q", str(repo), str(clone))
    write = Call("Write", {"file_path": str(worktree / "notes.txt"), "content": "hello\n"})
    api.script("write about zebras", ["I write it.", write], "The notes are written.")
    agent = {"description": "Count", "prompt": "count the files", "subagent_type": "general-purpose"}
    api.script("ask a subagent", Call("Agent", agent), "It counted.")

    uuid = claude.say("write about zebras", worktree)
    place.look()
    assert place.texts(f"claude-{uuid}") == ["write about zebras", "I write it.", "The notes are written."]
    for prompt in ("ask a subagent", "/compact"):
        claude.say(prompt, worktree, resume=uuid)
        place.look()
    written = {each: path.read_bytes() for each, path in found(CLAUDE, home).items()}
    whole = place.texts(f"claude-{uuid}")

    shutil.rmtree(home / ".claude" / "projects")
    git(repo, "worktree", "remove", "--force", str(worktree))
    shutil.rmtree(repo)
    git(tmp_path, "clone", "-q", str(clone), str(repo))
    place.stop()
    place.start()
    place.look()

    for transcript, data in written.items():
        name = f"claude-{transcript.uuid}" + (f".{transcript.subagent}" if transcript.subagent else "")
        with place.sessions.raw(name) as pieces:
            assert b"".join(pieces) == data
    assert place.texts(f"claude-{uuid}") == whole
    assert place.found("zebras") == ["write about «zebras»"]
    assert [listed["transcript"] for listed in place.sessions.listed()] == ["deleted"]

    removing.restore(place.following, place.sessions, f"claude-{uuid}")
    assert {each: path.read_bytes() for each, path in found(CLAUDE, home).items()}[Transcript(uuid)] == written[
        Transcript(uuid)
    ]
    assert claude.say("and now about okapis", repo, resume=uuid) == uuid
    place.look()
    assert place.texts(f"claude-{uuid}")[: len(whole) + 1] == [*whole, "and now about okapis"]
    place.stop()


def test_codex_goes_on_with_what_was_restored(
    installed: Programs, api: StandInApi, home: Path, repo: Path, tmp_path: Path
) -> None:
    codex, place = Codex(installed.codex, api, home), Place(home, repo, tmp_path / "state")
    api.script("write about zebras", Call("exec_command", {"cmd": "echo hello"}), "The notes are written.")
    uuid = codex.say("write about zebras", repo)
    place.look()
    (written,) = found(CODEX, home).values()
    data = written.read_bytes()
    written.unlink()
    place.look()
    assert removing.restore(place.following, place.sessions, f"codex-{uuid}") == [written]
    assert written.read_bytes() == data
    assert codex.say("and now about okapis", repo, resume=uuid) == uuid
    place.look()
    texts = ["write about zebras", "", "The notes are written.", "and now about okapis", "The notes are written."]
    assert place.texts(f"codex-{uuid}") == texts
    place.stop()


def hooks(*events: str) -> dict[str, object]:
    def saying(event: str) -> list[object]:
        told = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "okapis, by a hook"}}
        return [{"hooks": [{"type": "command", "command": f"echo '{json.dumps(told)}'"}]}]

    return {"hooks": {event: saying(event) for event in events}}


def test_what_dagentd_told_an_agent_is_not_read_again(
    installed: Programs, api: StandInApi, home: Path, repo: Path, tmp_path: Path
) -> None:
    place, server = Place(home, repo, tmp_path / "state"), tmp_path / "server.py"
    server.write_text(SERVER)
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text(json.dumps(hooks("SessionStart", "UserPromptSubmit")))
    config = {"mcpServers": {"dagentd": {"command": sys.executable, "args": [str(server)]}}}
    api.script("ask dagentd", Call("mcp__dagentd__search", {"query": "x"}), "It told me.")
    claude = ClaudeCode(installed.claude, api, home).say("ask dagentd", repo, "--mcp-config", json.dumps(config))
    api.script("ask dagentd", Call("search", {"query": "x"}, "mcp__dagentd"), "It told me.")
    options = (f"command={json.dumps(sys.executable)}", f"args={json.dumps([str(server)])}")
    settings = [part for option in options for part in ("-c", f"mcp_servers.dagentd.{option}")]
    codex = Codex(installed.codex, api, home).say("ask dagentd", repo, *settings)

    place.look()
    written = [path.read_bytes() for agent in (CLAUDE, CODEX) for path in found(agent, home).values()]
    assert [b"okapis, in May" in data for data in written] == [True, True]
    assert b"okapis, by a hook" in written[0]
    assert place.found("okapis") == []
    for session_id in (f"claude-{claude}", f"codex-{codex}"):
        messages, _ = place.sessions.messages(session_id, 10)
        assert [each["content"] for each in messages] == ["ask dagentd", "", "It told me."]
        assert messages[1]["metadata"]["toolUse"][0]["result"] == ECHO
        assert "okapis" not in json.dumps(messages)
    place.stop()
