"""The real Claude Code as a client: its model finds, by our tool, words of a conversation that was deleted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.agents.programs import ClaudeCode, NotHere, programs
from tests.agents.stand_in_api import Call, StandInApi
from tests.conftest import SampleProject
from tests.e2e.daemon import Daemon
from tests.patience import until


def test_search_finds_words_of_a_deleted_conversation(daemon: Daemon, project: SampleProject, home: Path) -> None:
    try:
        program = programs().claude
    except NotHere as reason:
        pytest.skip(str(reason))
    daemon.run(project.root)
    own = {name: value for name, value in os.environ.items() if name.startswith(("XDG_", "DAGENTD_"))}
    server = {"command": sys.executable, "args": ["-m", "dagentd.mcp"], "env": own}
    config = home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"dagentd": server}}))
    with StandInApi() as api:
        api.script("what colour", Call("mcp__dagentd__search", {"query": "aquarium"}), "Green.")
        claude = ClaudeCode(program, api, home)
        first = claude.say("Remember that the aquarium pump is green.", project.worktree)
        with daemon.client() as client:
            until(lambda: client.call("session.search", query="aquarium")["hits"], "the conversation to be found")
        for transcript in (home / ".claude" / "projects").rglob(f"{first}.jsonl"):
            transcript.unlink()
        claude.say("Say what colour the pump has.", project.worktree, "--mcp-config", str(config))
        with daemon.client() as client:
            client.call(
                "memory.add", project=str(project.root), by="user", text="No fish.", worktree=str(project.worktree)
            )
            brief = client.call("session.brief", sessionId=f"claude-{first}", project=str(project.root))["brief"]
        assert "> Remember that the aquarium pump is green." in brief and "- No fish. (remembered)" in brief
        asked = [json.dumps(seen.body) for seen in api.seen]
    assert "mcp__dagentd__brief" in asked[-1]
    assert any(f"claude-{first}" in body and "pump is green" in body.replace("\\u00ab", "").replace("\\u00bb", "")
               for body in asked)  # fmt: skip
