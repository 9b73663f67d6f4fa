"""`dagentd sessions`: the sessions of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.gone import print_list as print_gone
from dagentd.cli.output import Column
from dagentd.cli.paused import in_brief
from dagentd.cli.project import json_option, reading, settings_of, under_way
from dagentd.errors import DagentdError
from dagentd.jobs import summary
from dagentd.jobs.gone import sessions as gone_sessions
from dagentd.store.closed import closed


@click.command()
@click.argument("where", metavar="[PATH]", required=False, default=".", type=click.Path(exists=True, path_type=Path))
@click.option("--gone", "lost", is_flag=True, help="Those whose worktree is gone; `dagentd restore` brings one back.")
@json_option
def sessions(where: Path, lost: bool, as_json: bool) -> int:
    """List the sessions of a repository.

    PATH is any path in it; without one, the repository here.
    """
    with reading(where) as store:
        found = (gone_sessions if lost else summary.sessions)(store, settings_of(store.project))
        root = str(store.project.root)
        hidden = [] if lost else list(closed(store.project))
    found = summary.with_compactions(found, under_way())
    if as_json:
        output.print_json({"project": root, "sessions": found})
    else:
        print_gone(found) if lost else _print(found, root, hidden)
        _tell_errors(found)
    for error in hidden:
        output.error(str(error), error.hint)
    return 1 if hidden or any("error" in each for each in found) else 0


def _print(found: list[dict[str, Any]], root: str, hidden: list[DagentdError]) -> None:
    columns = [Column("session", style="cyan"), Column("worktree"), Column("status"), Column("messages", right=True),
               Column("budget", right=True), Column("updated")]  # fmt: skip
    none = f"No sessions in {root}: nothing under .dagent-worktrees/*/.dagent."
    gone = f"{none} `dagentd sessions --gone` lists those that were there."
    output.table(columns, map(_row, found), empty=f"No sessions in {root} that may be read." if hidden else gone)


def _tell_errors(found: list[dict[str, Any]]) -> None:
    for each in found:
        if "error" in each:
            output.error(each["error"], each["hint"])


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    doing = "compacting" if "compacting" in each else ""
    status = ", ".join(filter(None, (each.get("status", "unreadable"), in_brief(each.get("paused")), doing)))
    updated = output.ago(each.get("updatedAt"))
    return each["id"], Path(each["worktree"]).name, status, _messages(each), _budget(each), updated


def _budget(each: dict[str, Any]) -> str:
    """Estimated by the sizes of files: `dagentd request SESSION --sizes` counts."""
    return output.share(each["budget"]["share"]) if "budget" in each else ""


def _messages(each: dict[str, Any]) -> object:
    stats = each.get("stats")
    return stats.get("totalMessages") if isinstance(stats, dict) else None
