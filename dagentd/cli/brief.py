"""`dagentd brief`: a hand-over to whoever goes on."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.project import json_option, project_option
from dagentd.cli.verbs import asking
from dagentd.errors import DagentdError, NotFound


@click.command()
@click.argument("what", metavar="[SESSION|WORKTREE]", required=False)
@click.option("--tokens", type=click.IntRange(200, 20_000), default=2000, show_default=True, help="At most so many.")
@project_option
@json_option
def brief(what: str | None, tokens: int, where: Path, as_json: bool) -> None:
    """Print a hand-over of a session: what whoever goes on must know.

    The goal, your orders and decisions in your words, what is done, open and failing, the files, the last exchange, and
    how to go on. Of a WORKTREE, by its path or its name, it is of the session that was last at work there; without any,
    of this one's. Keys and other secrets are left out.
    """
    with asking(where) as verbs:
        if what is None or os.path.isdir(what):
            found = verbs.call("session.brief", worktree=str(git.checkout_at(Path(what or where))), tokens=tokens)
        else:
            try:
                found = verbs.call("session.brief", sessionId=what, tokens=tokens)
            except DagentdError as error:
                if error.code != NotFound.code:
                    raise
                found = verbs.call("session.brief", worktree=what, tokens=tokens)
    if as_json:
        output.print_json(found)
    else:
        output.text(found["brief"].rstrip("\n"))
