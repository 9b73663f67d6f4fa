"""`dagentd request`: what an agent would be sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.naming import session_argument
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option, reading, settings_of, worktree_option
from dagentd.jobs import requests

_PARTS = {
    "agentDescTokens": "agent description", "contextTokens": "context", "checkpointTokens": "checkpoint",
    "messagesTokens": "messages", "userPromptTokens": "user message", "total": "total",
}  # fmt: skip


@click.command()
@session_argument
@click.argument("message", default="")
@click.option("--sizes", is_flag=True, help="Only what each part costs.")
@project_option
@worktree_option
@json_option
def request(session: str, message: str, sizes: bool, where: Path, worktree: str | None, as_json: bool) -> None:
    """Print the request an agent would be sent, with MESSAGE as the user's."""
    with reading(where) as store:
        built = requests.preview(store, store.session(session, worktree), message, settings_of(store.project))
    if built.get("overLimit") and not as_json:
        sizes_of = ", ".join(f"{part['part']} {part['tokens']}" for part in built["parts"])
        output.problem(f"the request is over the limit: {sizes_of}", "Shorten the biggest part, or raise budget.limit.")
    if as_json:
        output.print_json(built)
    elif sizes:
        _print_sizes(built["breakdown"])
    else:
        output.text(built["systemPrompt"])
        if message:
            output.text(f"\n{message}")


def _print_sizes(breakdown: dict[str, Any]) -> None:
    rows = [(title, output.tokens(breakdown[key])) for key, title in _PARTS.items()]
    output.table([Column("part", style="cyan"), Column("size", right=True)], [*rows, _limit(breakdown)])


def _limit(breakdown: dict[str, Any]) -> tuple[str, str]:
    needed = " (compaction is due)" if breakdown["needsCompaction"] else ""
    return f"limit{needed}", output.tokens(breakdown["limit"])
