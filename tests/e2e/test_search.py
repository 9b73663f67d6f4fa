"""`dagentd search` and `session.search`, with the daemon and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.rpc.client import Client, RpcError
from tests.conftest import SampleProject, git
from tests.e2e.dagentd import dagentd, dagentd_json, start
from tests.patience import patience

SESSION, OTHER = "pm-feature-feat-login", "dev-feature-feat-login"
CHATS = {
    SESSION: [
        {"id": "m1", "role": "user", "content": "Plan the\nlogin form", "timestamp": "2026-01-17T12:00:00.000Z"},
        {
            "id": "m2",
            "role": "assistant",
            "content": "No \x1b[31mredness here",
            "timestamp": "2026-01-17T12:01:00.000Z",
        },
    ],
    OTHER: [{"id": "m3", "role": "assistant", "content": "Login form: see getUserById", "timestamp": 5}],
}


@pytest.fixture
def here(project: SampleProject) -> Path:
    """A repository with two sessions that the desktop app wrote."""
    sessions = project.dagent / "sessions"
    sessions.mkdir()
    for name, messages in CHATS.items():
        (sessions / f"session_{name}.json").write_text(json.dumps({"id": name, "status": "active"}))
        (sessions / f"chat_{name}.json").write_text(json.dumps({"messages": messages}))
    return project.root


@pytest.fixture
def daemon(here: Path) -> Iterator[Client]:
    process = start("run", str(here), cwd=here)
    assert process.stdout is not None
    while "Ctrl-C" not in process.stdout.readline():
        assert process.poll() is None
    dagentd("call", "project.scan", json.dumps({"project": str(here)}), cwd=here)
    with Client() as client:
        yield client
    process.terminate()
    process.communicate(timeout=patience())


def snapshot(*roots: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for root in roots for path in sorted(root.rglob("*")) if path.is_file()}


def test_where_nothing_was_said_yet(repo: Path) -> None:
    told = dagentd("search", "plan", cwd=repo)
    assert told == "There is nothing to search yet. `dagentd new FEATURE` makes one, with a worktree for it.\n"


def _looks_right(here: Path) -> None:
    assert dagentd("search", "plan", cwd=here) == (
        "session                role  when\npm-feature-feat-login  user  2026-01-17  «Plan» the login form\n"
    )
    found = dagentd_json("search", '"LOGIN form"', cwd=here)["hits"]
    assert {hit["messageId"] for hit in found} == {"m1", "m3"}
    assert [hit["messageId"] for hit in dagentd_json("search", "login", "-n", "1", cwd=here)["hits"]] != []
    only = dagentd_json("search", "login", "form", "--session", OTHER, "-C", str(here / ".git"), cwd=here)["hits"]
    snippet = "«Login» «form»: see getUserById"
    assert only == [{"sessionId": OTHER, "messageId": "m3", "role": "assistant", "timestamp": 5, "snippet": snippet}]
    assert dagentd("search", "walrus", cwd=here).startswith("Nothing found.")
    assert "\\x1b[31m«redness»" in dagentd("search", "redness", cwd=here)
    assert "no session 'nope'" in dagentd("search", "login", "--session", "nope", cwd=here, status=1)
    assert "the query is empty" in dagentd("search", " ", cwd=here, status=1)


def test_without_a_daemon_everything_is_read_and_nothing_written(here: Path, home: Path) -> None:
    before = snapshot(here, home)
    _looks_right(here)
    assert snapshot(here, home) == before


def test_through_the_daemon(here: Path, home: Path, daemon: Client) -> None:
    _looks_right(here)
    assert (home / "state" / "dagentd" / "search.sqlite3").exists()


def test_over_the_socket(here: Path, daemon: Client) -> None:
    daemon.call("session.addMessage", sessionId=SESSION, role="user", content="a walrus", id="m9")
    assert [hit["messageId"] for hit in daemon.call("session.search", query="walrus")["hits"]] == ["m9"]
    daemon.call("session.clearMessages", sessionId=SESSION)
    found = daemon.call("session.search", query="walrus", sessionId=SESSION, project=str(here), limit=5)["hits"]
    assert [hit["messageId"] for hit in found] == ["m9"]
    for refused, code in (
        ({"query": ""}, -32602),
        ({"query": "x" * 1001}, -32004),
        ({"query": "x", "sessionId": "nope"}, -32001),
        ({"query": "x", "project": "/nowhere"}, -32001),
        ({"query": "x", "limit": 0}, -32602),
        ({}, -32602),
    ):
        with pytest.raises(RpcError) as raised:
            daemon.call("session.search", **refused)
        assert raised.value.code == code


def test_a_project_that_the_daemon_does_not_serve_is_read(daemon: Client, tmp_path: Path) -> None:
    other = tmp_path / "other"
    sessions = other / ".dagent" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "session_s.json").write_text(json.dumps({"id": "s"}))
    (sessions / "chat_s.json").write_text(json.dumps({"messages": CHATS[OTHER]}))
    git(tmp_path, "init", "-q", str(other))
    assert [hit["sessionId"] for hit in dagentd_json("search", "login", cwd=other)["hits"]] == ["s"]
