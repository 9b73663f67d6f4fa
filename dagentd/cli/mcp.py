"""`dagentd mcp`: what agents may ask, by the Model Context Protocol."""

from __future__ import annotations

import os
import shlex
import sys

import click

from dagentd.cli import output
from dagentd.model import jsontext

# Without this command line, which an agent's process need not load. -P: it is started in a repository, and what is
# there by the name of a module must not be loaded.
_SERVER = (sys.executable, "-P", "-m", "dagentd.mcp")


@click.command()
@click.option("--print-config", "print_config", is_flag=True, help="Print how agents are told of it, and end.")
def mcp(print_config: bool) -> None:
    """Answer an agent by MCP on standard input and output.

    Agents start this themselves; --print-config says what goes into their settings. It has the tools search, sessions,
    read, brief, note and usage, about the repository in which it runs. What it answers goes to the agent's provider:
    keys and other secrets are left out of it.
    """
    if print_config:
        _print_config()
        return
    os.execv(_SERVER[0], _SERVER)


def _print_config() -> None:
    program, *arguments = _SERVER
    entry = {"command": program, "args": arguments}
    output.line("Claude Code, in a terminal:")
    output.text(f"  claude mcp add dagentd -- {shlex.join(_SERVER)}")
    output.line("\nCodex, in ~/.codex/config.toml:")
    output.text(f"  [mcp_servers.dagentd]\n  command = {_quoted(program)}\n  args = {_quoted(arguments)}")
    output.line("\nClaude Code (.mcp.json), Cursor (.cursor/mcp.json) and most others:")
    output.text(jsontext.pretty({"mcpServers": {"dagentd": entry}}).decode().rstrip("\n"))


def _quoted(value: object) -> str:
    """JSON's texts and lists are TOML's too."""
    return jsontext.encode(value).decode()
