"""`dagentd messages` and `dagentd history`: what was said in a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.naming import session_argument, tell_gone
from dagentd.cli.project import json_option, project_option, worktree_option
from dagentd.cli.verbs import ask
from dagentd.model import conversation


@click.command()
@session_argument
@click.option("-n", "--limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many.")
@click.option("--internal", is_flag=True, help="Also those that are not meant for the user.")
@project_option
@worktree_option
@json_option
def messages(session: str, limit: int, internal: bool, where: Path, worktree: str | None, as_json: bool) -> None:
    """Print the last messages in a session's chat."""
    whose = {"sessionId": session, "worktree": worktree}
    found = ask(where, "session.getMessages", **whose, limit=limit, includeInternal=internal)
    if as_json:
        output.print_json(found)
    else:
        tell_gone(found, session)
        _print(found["messages"], "No messages in chat.")


@click.command()
@session_argument
@click.option("-n", "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="How many.")
@click.option("--before", metavar="ID", help="Only those before this message.")
@project_option
@worktree_option
@json_option
def history(session: str, limit: int, before: str | None, where: Path, worktree: str | None, as_json: bool) -> None:
    """Print every message a session ever had, also those that left chat."""
    found = ask(where, "session.getHistory", sessionId=session, worktree=worktree, before=before, limit=limit)
    if as_json:
        output.print_json(found)
        return
    tell_gone(found, session)
    if found["more"]:
        output.line(f"(earlier ones: dagentd history {session} --before {found['messages'][0]['id']})\n")
    _print(found["messages"], "No messages yet.")


def _print(found: list[dict[str, Any]], empty: str) -> None:
    if not found:
        output.line(empty)
    for number, message in enumerate(found):
        if number:
            output.line()
        output.heading(f"{message.get('role')}  {_when(message.get('timestamp'))}".rstrip())
        if (told := conversation.text(message.get("content"))) or not output.tool_calls(message):
            output.text(told)
        for call in output.tool_calls(message):
            output.line(output.cut(call))


def _when(timestamp: object) -> str:
    """For a person `3 min ago`; a pipe gets it as it is."""
    written = timestamp if isinstance(timestamp, str) else ""
    return output.ago(written) or written if output.on_terminal() else written
