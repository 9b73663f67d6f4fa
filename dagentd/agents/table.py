"""The agents whose conversations are followed, by their names."""

from __future__ import annotations

from dagentd.agents import claude_code, codex

AGENTS = {agent.name: agent for agent in (claude_code.AGENT, codex.AGENT)}
