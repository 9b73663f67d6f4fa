"""`dagentd context`: what a session knows of its project, its feature and its task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from dagentd import alone
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option, reading, serving, settings_of, worktree_option
from dagentd.jobs import context as contexts
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.model.project import Project, SessionFolder

_SHOWN = {
    "projectRoot": "project", "worktree": "worktree", "gitBranch": "branch", "gitCommit": "commit",
    "featureName": "feature", "dagSummary": "tasks", "taskTitle": "task", "taskState": "task state",
}  # fmt: skip
_LISTS = {"dependencies": "depends on", "dependents": "needed by"}


@click.command()
@click.argument("session")
@click.option("--rebuild", is_flag=True, help="Read the worktree and the feature again now, and write the context.")
@project_option
@worktree_option
@json_option
def context(session: str, rebuild: bool, where: Path, worktree: str | None, as_json: bool) -> None:
    """Show what a session knows of its project, its feature and its task.

    With the size of each part, and notes on what is missing; --json prints the document itself.
    """
    with reading(where) as store:
        project, folder = store.project, store.find(session, worktree)
        contexts.check_there(folder)
        found = None if rebuild else contexts.read(folder)
    if rebuild:
        found = _rebuilt(project, folder)
    if as_json:
        output.print_json(found)
    elif found is None:
        output.line(f"No context yet: dagentd context {session} --rebuild")
    else:
        _print(found)


def _rebuilt(project: Project, folder: SessionFolder) -> dict[str, Any] | None:
    """By the daemon if one serves this project, because it has the lock; else by ourselves."""
    whose = {"sessionId": folder.id, "project": str(project.root), "worktree": str(folder.feature.tree.worktree)}
    with serving(project) as running:
        if running is not None:
            answer: dict[str, Any] | None = running.call("session.rebuildContext", **whose)
            return answer
    settings = settings_of(project)
    with alone.writing(project, settings) as store:
        return contexts.rebuild_one(store, folder, settings, Checkouts())


def _print(found: dict[str, Any]) -> None:
    pairs = [(title, found[key]) for key, title in _SHOWN.items() if isinstance(found.get(key), str)]
    lists = [(title, ", ".join(map(str, found[key]))) for key, title in _LISTS.items() if _is_list(found.get(key))]
    output.fields([*pairs, *lists, ("updated", output.ago(found.get("updatedAt")))])
    sizes = found.get("tokens")
    if isinstance(sizes, dict):
        output.line()
        rows = [(_words(name), output.tokens(size)) for name, size in sizes.items() if isinstance(size, int)]
        output.table([Column("part", style="cyan"), Column("size", right=True)], rows)
    if _is_list(found.get("notes")):
        output.line()
        for note in found["notes"]:
            output.line(f"! {note}")


def _words(name: str) -> str:
    """`claudeMd` as `claude md`."""
    return re.sub("(?=[A-Z])", " ", name).lower()


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value)
