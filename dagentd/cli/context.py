"""`dagentd context`: what a session knows of its project, its feature and its task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.naming import session_argument
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option, worktree_option
from dagentd.cli.verbs import asking
from dagentd.errors import NotFound
from dagentd.model import sections
from dagentd.model.documents import Context

_SUM = "total"  # of the bare parts: in a request they have words around them, and that is the size that counts


@click.command()
@session_argument
@click.option("--rebuild", is_flag=True, help="Read the worktree and the feature again now, and write the context.")
@project_option
@worktree_option
@json_option
def context(session: str, rebuild: bool, where: Path, worktree: str | None, as_json: bool) -> None:
    """Show what a session knows of its project, its feature and its task.

    In the words that its agent reads; then the size of each part, and notes on what is missing. --json prints the
    document itself.
    """
    whose = {"sessionId": session, "worktree": worktree}
    with asking(where) as verbs:
        found = verbs.call("session.rebuildContext" if rebuild else "session.getContext", **whose)
        if found is None and verbs.call("session.get", **whose).get("gone"):
            told = f"the worktree of {session} is gone, and its context with it"
            raise NotFound(told, hint=f"dagentd restore {session}")
    if as_json:
        output.print_json(found)
    elif found is None:
        output.line(f"No context yet: dagentd context {session} --rebuild")
    else:
        _print(session, found)


def _print(session: str, found: dict[str, Any]) -> None:
    output.text(sections.context(Context.parse(found)))
    output.line(f"\nMade {output.ago(found.get('updatedAt')) or 'at an unknown time'}.")
    sizes = found.get("tokens")
    if isinstance(sizes, dict):
        output.line()
        known = [(name, size) for name, size in sizes.items() if isinstance(size, int) and name != _SUM]
        rows = [(_words(name), output.tokens(size)) for name, size in known]
        output.table([Column("part", style="cyan"), Column("size", right=True)], rows)
        output.line(f"\n`dagentd request {session} --sizes` says what all of it takes in a request.")
    if _is_list(found.get("notes")):
        output.line()
        for note in found["notes"]:
            output.line(f"! {note}")


def _words(name: str) -> str:
    """`claudeMd` as `claude md`."""
    return re.sub("(?=[A-Z])", " ", name).lower()


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value)
