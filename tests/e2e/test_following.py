"""Conversations of Claude Code as a user meets them: the real daemon, the real commands, real files."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.agents.claude_lines import answer, call, compacted, title, user
from tests.agents.desk import ID, grow
from tests.conftest import git
from tests.e2e.daemon import Daemon, until

CLAUDE = f"claude-{ID}"


@pytest.fixture
def transcript(home: Path) -> Path:
    path = home / ".claude/projects/-repo" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    return path


def test_a_day_with_it(daemon: Daemon, repo: Path, transcript: Path, home: Path) -> None:
    worktree = repo / ".claude/worktrees/auth"
    git(repo, "worktree", "add", "-q", str(worktree))
    asked = user("Please mend the zebra.", worktree)
    read = call("t1", "Read", {"file_path": "zebra.py"}, worktree)
    transcript.write_bytes(asked + read + answer("Mended.", worktree) + title("Zebra"))
    elsewhere = transcript.with_name("99999999-2222-4333-8444-555555555555.jsonl")
    elsewhere.write_bytes(user("A secret walrus of another folder.", home))

    told = daemon.dagentd("init", str(repo))
    assert "Claude Code: 1 conversation since" in told and f"`dagentd sessions {repo}` lists" in told
    assert "`dagentd connect claude-code`: what matters in them" in told and "connect codex" not in told
    found = until(lambda: json.loads(daemon.dagentd("search", "zebra", "--json", "-C", str(repo)))["hits"])
    assert [hit["sessionId"] for hit in found] == [CLAUDE]
    assert "Nothing found" in daemon.dagentd("search", "walrus", "-C", str(repo))

    with daemon.client() as client, client.subscribe(types=["session:updated"]) as events:
        grow(transcript, user("And the okapi?", worktree) + answer("That one too.", worktree))
        event = next(each for each in events if each["sessionId"] == CLAUDE)
        assert (event["action"], event["total"], event["project"]) == ("message_added", 5, str(repo))
        assert daemon.call("session.search", query="okapi")["hits"][0]["sessionId"] == CLAUDE

    listed = daemon.dagentd("sessions", cwd=repo)
    assert "auth" in listed and "Zebra" in listed and "claude-code" in listed
    shown = daemon.dagentd("show", CLAUDE, cwd=repo)
    assert f"claude --resume {ID}" in shown and "That one too." in shown
    assert "[Read] zebra.py" in daemon.dagentd("history", CLAUDE, cwd=repo)
    assert "1 conversation of Claude Code" in daemon.dagentd("status")
    assert "claude-opus-5" in daemon.dagentd("usage", "--by", "model", cwd=repo)
    assert "followed" in daemon.dagentd("agents")
    assert "Zebra" in daemon.dagentd("usage", "--by", "session", cwd=repo)
    assert daemon.call("session.list", since="2026-10-01")["sessions"]
    assert "no day and no moment" in daemon.dagentd("sessions", "--since", "yesterday", status=1, cwd=repo)
    assert "lists all" in daemon.dagentd("sessions", "--agent", "codex", cwd=repo)
    assert daemon.dagentd("export", "--raw", ID[:8], cwd=repo).encode() == transcript.read_bytes()

    data = transcript.read_bytes()
    transcript.unlink()
    git(repo, "worktree", "remove", "--force", str(worktree))
    os.kill(pid := daemon.pid, signal.SIGKILL)
    daemon.ends(pid)
    daemon.start()
    assert daemon.call("session.get", sessionId=CLAUDE)["transcript"] == "deleted"
    assert "okapi" in daemon.dagentd("history", CLAUDE, cwd=repo)
    assert "okapi" in daemon.dagentd("export", CLAUDE, cwd=repo)
    target = home / "raw.jsonl"
    daemon.dagentd("export", "--raw", CLAUDE, "-o", str(target), cwd=repo)
    assert target.read_bytes() == data

    assert str(transcript) in daemon.dagentd("restore", CLAUDE, cwd=repo)
    assert transcript.read_bytes() == data
    daemon.dagentd("forget", CLAUDE, "--yes", cwd=repo)
    assert daemon.call("session.list")["sessions"] == []
    assert not [path for path in daemon.state.rglob("*") if path.is_file() and b"okapi" in path.read_bytes()]


def test_what_cannot_be_done_to_it_is_refused(daemon: Daemon, repo: Path, transcript: Path) -> None:
    transcript.write_bytes(user("one", repo, uuid="m1") + answer("two", repo) + compacted("short", repo))
    daemon.dagentd("init", str(repo))
    until(lambda: daemon.call("session.list")["sessions"])
    assert daemon.call("session.getContext", sessionId=CLAUDE) is None
    assert daemon.call("session.getAgentDescription", sessionId=CLAUDE) is None
    assert daemon.call("session.getMessages", sessionId=CLAUDE)["messages"] == []
    assert len(daemon.call("session.getHistory", sessionId=CLAUDE)["messages"]) == 2
    assert daemon.call("session.getCheckpoint", sessionId=CLAUDE)["agentSummary"]["text"] == "short"
    assert daemon.call("session.pin", sessionId=CLAUDE, messageId="m1") == {"pinned": True}
    assert daemon.call("session.archive", sessionId=CLAUDE)["status"] == "archived"
    with daemon.client() as client:
        for method, given in (
            ("addMessage", {"role": "user", "content": "x"}), ("clearMessages", {}), ("forceCompact", {}),
            ("buildRequest", {"userMessage": "x"}), ("updateCheckpoint", {"checkpoint": {}}), ("pause", {}),
            ("previewCompaction", {}), ("rebuildContext", {}), ("setAgentDescription", {"agentDescription": {}}),
        ):  # fmt: skip
            with pytest.raises(Exception) as refused:
                client.call(f"session.{method}", sessionId=CLAUDE, **given)
            assert getattr(refused.value, "code", None) == -32006, method
            assert CLAUDE in getattr(refused.value, "hint", "")


def test_off_is_off_and_a_text_is_scrubbed(daemon: Daemon, repo: Path, transcript: Path) -> None:
    transcript.write_bytes(user("the key is sk-zyzzyva-1", repo))
    daemon.dagentd("agents", "ignore", "claude-code")
    daemon.dagentd("init", str(repo))
    assert daemon.call("session.list")["sessions"] == []
    daemon.dagentd("agents", "follow", "claude-code")
    until(lambda: daemon.call("session.list")["sessions"])
    assert "asked" in daemon.dagentd("scrub", "sk-zyzzyva-1", status=1)
    assert "1 time" in daemon.dagentd("scrub", "sk-zyzzyva-1", "--yes")
    feature = repo / ".dagent-worktrees/login/.dagent"
    feature.mkdir(parents=True)
    (feature / "feature.json").write_text('{"id": "login", "name": "login"}')
    given = {"project": str(repo), "type": "feature", "agentType": "pm", "featureId": "login"}
    own = daemon.call("session.getOrCreate", **given)["id"]
    daemon.call("session.addMessage", sessionId=own, role="user", content="it is sk-of-our-own")
    daemon.call("memory.add", project=str(repo), by="user", text="not sk-of-our-own")
    daemon.call("session.search", query="own")
    (repo / ".dagent/notes.md").parent.mkdir(exist_ok=True)
    (repo / ".dagent/notes.md").write_text("sk-of-our-own")
    told = daemon.dagentd("scrub", "sk-of-our-own", "--yes")
    assert f"history_{own}.jsonl: 1 time" in told and "memory.jsonl: 1 time" in told
    daemon.call("session.addMessage", sessionId=own, role="user", content="and on")
    texts = [each["content"] for each in daemon.call("session.getMessages", sessionId=own)["messages"]]
    assert texts == ["it is *************", "and on"]
    assert daemon.call("session.getHistory", sessionId=own)["messages"][0]["content"] == texts[0]
    assert daemon.call("session.search", query="own")["hits"] == []
    assert "Nothing is wrong" in daemon.dagentd("doctor")
    before = daemon.call("session.getHistory", sessionId=CLAUDE)
    assert "a name in the format" in daemon.dagentd("scrub", "timestamp", "--yes", status=1)
    assert daemon.call("session.getHistory", sessionId=CLAUDE) == before
    grow(transcript, answer("I see.", repo))
    until(lambda: daemon.call("session.search", query="see")["hits"])
    assert daemon.call("session.search", query="zyzzyva")["hits"] == []
    daemon.dagentd("stop")
    for folder in (daemon.state, repo):
        for path in (each for each in folder.rglob("*") if each.is_file()):
            assert b"zyzzyva" not in path.read_bytes() and b"of-our-own" not in path.read_bytes(), path
    assert "the key is ***" in daemon.dagentd("history", CLAUDE, cwd=repo)


def test_removing_leaves_what_is_kept_and_purging_names_it(daemon: Daemon, repo: Path, transcript: Path) -> None:
    transcript.write_bytes(user("hello", repo))
    daemon.dagentd("init", str(repo))
    until(lambda: daemon.call("session.list")["sessions"])
    assert "1 conversation" in daemon.dagentd("remove", str(repo))
    assert (daemon.state / "agents/claude-code" / f"{ID}.jsonl").exists()
    daemon.dagentd("init", str(repo))
    told = daemon.dagentd("remove", "--purge", str(repo), status=1)
    assert "1 conversation" in told and CLAUDE not in told, "a thousand that their agent still has are not named"
    data = transcript.read_bytes()
    transcript.unlink()
    until(lambda: daemon.call("session.list")["sessions"][0]["transcript"] == "deleted")
    told = daemon.dagentd("remove", "--purge", str(repo), status=1)
    assert CLAUDE in told and "1 of them nowhere else" in told
    transcript.write_bytes(data)
    daemon.dagentd("remove", "--purge", "--yes", str(repo))
    assert not daemon.state.exists()
    assert transcript.exists()


def test_a_repository_may_go_and_come_again(daemon: Daemon, repo: Path, transcript: Path) -> None:
    transcript.write_bytes(user("about the quokka", repo))
    daemon.dagentd("init", str(repo))
    until(lambda: daemon.call("session.search", query="quokka")["hits"])
    copy = repo.with_name("copy")
    git(repo.parent, "clone", "-q", "--no-hardlinks", str(repo), str(copy))
    shutil.rmtree(repo)
    shutil.rmtree(transcript.parent)
    copy.rename(repo)
    daemon.dagentd("init", str(repo))
    assert "quokka" in daemon.dagentd("search", "quokka", cwd=repo)
    assert "quokka" in daemon.dagentd("history", CLAUDE, cwd=repo)
