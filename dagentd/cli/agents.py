"""`dagentd agents`: whose conversations are kept, and who is connected."""

from __future__ import annotations

from typing import Any

import click

from dagentd import paths
from dagentd.agents import connecting, records
from dagentd.agents.connecting import Connection
from dagentd.agents.notes import Notes
from dagentd.agents.table import AGENTS
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option
from dagentd.cli.verbs import ask_of_all, have_daemon_look

_agent = click.argument("agent", type=click.Choice(list(AGENTS)))


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def agents(ctx: click.Context, as_json: bool) -> None:
    """Say whose conversations are kept, how many, and where, and who is connected.

    Kept are those of Claude Code and Codex in registered repositories and their worktrees: all that there were when
    dagentd first looked, and all lines since. Deleting one there does not delete it here; `dagentd forget` does.
    """
    if ctx.invoked_subcommand is not None:
        return
    found, connected = ask_of_all("agents.list"), connecting.connections()
    last = Notes(paths.connect_dir()).last()
    if as_json:
        output.print_json({"agents": [_with_connections(each, connected, last) for each in found["agents"]]})
        return
    columns = [Column("agent", style="cyan"), Column("is"), Column("kept", right=True), Column("size", right=True),
               Column("its folder", wrap=True)]  # fmt: skip
    rows = [(each["name"], "followed" if each["followed"] else "left alone", each["conversations"],
             output.size(each["bytes"]), each["folders"][0]) for each in found["agents"]]  # fmt: skip
    output.table(columns, rows)
    output.line(f"\nKept in {paths.agents_dir()}: one folder to back up.")
    for each in connected:
        output.line(_told(each, last.get(each.agent)))
    if len({each.agent for each in connected}) < len(AGENTS):
        output.line("`dagentd connect AGENT` has an agent ask dagentd, and be told what matters here.")


def _with_connections(agent: dict[str, Any], known: list[Connection], last: dict[str, str]) -> dict[str, Any]:
    mine = [each for each in known if each.agent == agent["name"]]
    places = [{"worktree": each.worktree and str(each.worktree), "at": each.at} for each in mine]
    return {**agent, "connected": places, "lastHookAt": last.get(agent["name"])}


def _told(found: Connection, last: str | None) -> str:
    came = "no hook of it has come" if last is None else f"its last hook came {output.ago(last)}"
    return f"{found.agent} is connected {found.where}, {output.ago(found.at)}; {came}."


@agents.command()
@_agent
def ignore(agent: str) -> None:
    """Keep nothing more of an agent's conversations; those that are kept stay."""
    records.ignore(paths.agents_dir(), agent, True)
    have_daemon_look()
    output.line(f"{AGENTS[agent].title} is left alone from now on. `dagentd agents follow {agent}` takes that back.")


@agents.command()
@_agent
def follow(agent: str) -> None:
    """Keep an agent's conversations again, also those of the time between."""
    records.ignore(paths.agents_dir(), agent, False)
    have_daemon_look()
    output.line(f"{AGENTS[agent].title} is followed.")
