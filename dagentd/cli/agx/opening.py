"""`dagentd agx open`: a session in tmux, for as long as the user stays in it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from dagentd import alone
from dagentd.adapters import git, tmux
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import project_option
from dagentd.errors import InvalidInput
from dagentd.model.agx.config import Window

_OF_PROJECT = "The configuration of this project has these commands run:"
_RESUMES = "The conversation of this session can go on:"


@click.command("open")
@click.argument("session", required=False)
@click.option("--detached", is_flag=True, help="Only make the tmux session.")
@click.option("--yes", is_flag=True, help="Run the commands of its windows without asking.")
@project_option
def open_session(session: str | None, detached: bool, yes: bool, where: Path) -> int:
    """Open a session in tmux, made with the windows of the project's configuration if it does not run.

    Commands in there come with the project: they are shown, and run only once you have confirmed them; after any change
    of them they are shown again. Where a conversation with Claude can be resumed, that is offered in the same way.
    """
    if not detached and not sys.stdin.isatty():
        raise InvalidInput("tmux needs a terminal", hint="Add --detached to only make the session.")
    root = git.project_at(where).root
    # Here and not in the daemon: it runs commands, in the user's own environment.
    agx = alone.agx_jobs(root)
    asks = sys.stdin.isatty()
    name, made = agx.open(
        root, session, lambda windows: yes or _confirmed(_OF_PROJECT, windows),
        lambda windows: yes or (asks and _confirmed(_RESUMES, windows)),
    )  # fmt: skip
    if detached:
        output.line(f"{name} {'was made' if made else 'runs already'}: tmux attach -t '={name}'")
        return 0
    status = tmux.attach(name)
    agx.closed(root, name)
    return 1 if status else 0


def _confirmed(told: str, windows: Sequence[Window]) -> bool:
    rows = [(each.name, each.path, each.command) for each in windows]
    output.line(told)
    output.table([Column("window", style="cyan"), Column("in", wrap=True), Column("command", wrap=True)], rows)
    if not sys.stdin.isatty():
        raise InvalidInput("nobody can be asked whether they may run", hint="Add --yes if you trust them.")
    return click.confirm("Run them now and from now on?")
