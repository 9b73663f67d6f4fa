"""`dagentd connect` and `disconnect`: agents that tell dagentd when something was said, and may ask it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dagentd.adapters import git
from dagentd.agents import connecting
from dagentd.agents.connecting import Connection
from dagentd.agents.plugins import HOSTS
from dagentd.agents.table import AGENTS
from dagentd.cli import output
from dagentd.cli.verbs import have_daemon_look
from dagentd.errors import NotFound

_agent = click.argument("agent", type=click.Choice(list(HOSTS)))


def _scope(command: Callable[..., Any]) -> Callable[..., Any]:
    told = "For you in every folder (the default), or in the checkout here alone."
    return click.option("--user/--project", "everywhere", default=True, help=told)(command)


@click.command()
@_agent
@_scope
def connect(agent: str, everywhere: bool) -> None:
    """Have an agent tell dagentd when something was said, and ask it.

    Installs a plug-in by the agent's own commands: hooks and the MCP server. A conversation that begins or goes on is
    told what was decided and left open here; that reaches the agent's provider, so secrets are left out, and it is of
    this repository alone.
    """
    made = connecting.connect(agent, _checkout(everywhere))
    have_daemon_look()
    output.line(f"{AGENTS[agent].title} is connected, {made.where}: noted in {made.settings[0]}.")
    if made.host.once:
        output.line(made.host.once)
    output.line(f"It counts from the next conversation on. Undo it with `{_undo(made)}`.")


@click.command()
@_agent
@_scope
def disconnect(agent: str, everywhere: bool) -> None:
    """Undo what `connect` did.

    The agent's settings are byte for byte as before, unless you have changed them since: then your changes stay.
    """
    worktree = _checkout(everywhere)
    found = [each for each in connecting.connections() if each.is_for(agent, worktree)]
    if not found:
        raise NotFound(
            f"{AGENTS[agent].title} is not connected{f' in {worktree}' if worktree else ''}", hint="dagentd agents"
        )
    tell_disconnected(found[0])


def tell_disconnected(found: Connection) -> None:
    done = connecting.disconnect(found)
    output.line(f"{AGENTS[found.agent].title} is no longer connected, {found.where}.")
    if done.refused:
        output.line(f"- Its own command did not do it: {done.refused}")
    for path, restored in done.settings.items():
        told = "is as it was before" if restored else "has been changed since: the changes stay, our entries are out"
        output.line(f"- {path} {told}.")
    for path in done.left:
        output.line(f"- Left by {found.host.program}'s own uninstaller: {path}")


def _undo(made: Connection) -> str:
    return f"dagentd disconnect {made.agent}{'' if made.worktree is None else ' --project'}"


def _checkout(everywhere: bool) -> Path | None:
    return None if everywhere else git.checkout_at(Path.cwd())
