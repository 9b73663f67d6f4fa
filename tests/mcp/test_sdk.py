"""The official Python SDK's client, in both eras of the protocol, over the real process."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon

PM = f"pm-feature-{FEATURE}"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_a_client_of_the_sdk_is_served(mode: str, daemon: Daemon, project: SampleProject) -> None:
    daemon.run(project.root)
    with daemon.client() as client:
        whose = {"type": "feature", "agentType": "pm", "featureId": FEATURE}
        client.call("session.getOrCreate", project=str(project.root), **whose)
        client.call("session.addMessage", sessionId=PM, role="user", content="We use PostgreSQL.", id="m1")
    asyncio.run(_talk(mode, project))


async def _talk(mode: Any, project: SampleProject) -> None:
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "dagentd.mcp"], cwd=str(project.worktree), env=dict(os.environ)
    )
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools] == ["search", "sessions", "read", "brief", "note", "usage"]
        found = await client.call_tool("search", {"query": "postgresql"})
        assert not found.is_error and PM in found.content[0].text  # type: ignore[union-attr]
        wrong = await client.call_tool("search", {})
        assert wrong.is_error
        templates = await client.list_resource_templates()
        assert [each.uri_template for each in templates.resource_templates] == ["dagent://session/{id}"]
        read = await client.read_resource(f"dagent://session/{PM}")
        assert "# Hand-over" in read.contents[0].text  # type: ignore[union-attr]
        prompts = await client.list_prompts()
        assert [each.name for each in prompts.prompts] == ["continue"]
        prompt = await client.get_prompt("continue", {"session": PM})
        assert "# Hand-over" in prompt.messages[0].content.text  # type: ignore[union-attr]
