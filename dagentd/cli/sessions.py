"""`dagentd sessions`: the sessions of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, reading
from dagentd.errors import DagentdError
from dagentd.model.project import SessionFolder
from dagentd.store import layout
from dagentd.store.store import Store


@click.command()
@click.argument("where", metavar="[PATH]", required=False, default=".", type=click.Path(exists=True, path_type=Path))
@json_option
def sessions(where: Path, as_json: bool) -> int:
    """List the sessions of a repository.

    PATH is any path in it; without one, the repository here.
    """
    with reading(where) as store:
        found = [_summary(store, folder) for folder in store.folders()]
        root = str(store.project.root)
    if as_json:
        output.print_json({"project": root, "sessions": found})
    else:
        _print(found, root)
    return 1 if any("error" in each for each in found) else 0


def _summary(store: Store, folder: SessionFolder) -> dict[str, Any]:
    """From session.json alone where it can be read: a list must not read every chat."""
    place = {"id": folder.id, "featureId": folder.feature.id, "worktree": folder.feature.tree.name}
    try:
        try:
            raw = layout.read_object(folder.document("session"))
        except FileNotFoundError:
            raw = store.open(folder).document()
    except DagentdError as error:
        return {**place, "error": str(error), "hint": error.hint}
    kept = ("type", "agentType", "taskId", "taskState", "status", "createdAt", "updatedAt", "stats")
    return {**place, **{key: raw[key] for key in kept if key in raw}}


def _print(found: list[dict[str, Any]], root: str) -> None:
    columns = [Column("session", style="cyan"), Column("worktree"), Column("status"), Column("messages", right=True),
               Column("updated")]  # fmt: skip
    output.table(columns, map(_row, found), empty=f"No sessions in {root}: nothing under .dagent-worktrees/*/.dagent.")
    for each in found:
        if "error" in each:
            output.error(each["error"], each["hint"])


def _row(summary: dict[str, Any]) -> tuple[object, ...]:
    status, updated = summary.get("status", "unreadable"), output.ago(summary.get("updatedAt"))
    return summary["id"], summary["worktree"], status, _messages(summary), updated


def _messages(summary: dict[str, Any]) -> object:
    stats = summary.get("stats")
    return stats.get("totalMessages") if isinstance(stats, dict) else None
