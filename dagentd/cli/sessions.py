"""`dagentd sessions`: the sessions of a repository."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.paused import in_brief
from dagentd.cli.project import how_to_begin, json_option
from dagentd.cli.verbs import Verbs, asking
from dagentd.model import figures, oneline

_TITLE = 60  # characters: what was asked first, which may be a page


@click.command()
@click.argument("where", metavar="[PATH]", required=False, default=".", type=click.Path(exists=True, path_type=Path))
@click.option("--gone", "lost", is_flag=True, help="Those whose worktree is gone; `dagentd restore` brings one back.")
@click.option("--agent", metavar="NAME", help="Only conversations of this agent: claude-code or codex.")
@click.option("--worktree", metavar="NAME", help="Only those of this worktree.")
@click.option("--since", metavar="TIME", help="Only conversations of agents with a line since then, as 2026-11-01.")
@click.option("--parent", metavar="ID", help="The subagents of a conversation.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="How many at most.")
@json_option
def sessions(where: Path, lost: bool, as_json: bool, **chosen: Any) -> int:
    """List the sessions of a repository, and the conversations that other agents had in it.

    PATH is any path in it; without one, the repository here. Conversations of Claude Code and Codex stand by worktree,
    the last active first; of one that its agent has deleted, `dagentd restore` puts the transcript back.
    A budget with ~ is estimated by the sizes of files; `dagentd show` counts.
    """
    root = str(git.project_at(where).root)
    with asking(where) as verbs:
        answer = verbs.call("session.list", status="gone" if lost else None, **chosen)
        found, closed = answer["sessions"], answer.get("closed", [])
        none = "" if found or closed or lost else _none(where, root, verbs, narrowed=any(chosen.values()))
    if as_json:
        output.print_json({"project": root, "sessions": found})
    else:
        followed = [each for each in found if each.get("type") == "followed"]
        own = [each for each in found if each.get("type") != "followed"]
        if own or not followed:
            print_gone(own) if lost else _print(own, none or f"No sessions in {root} that may be read.")
        _print_followed(followed, root, bool(own))
        _tell_errors(own)
    for each in closed:
        output.error(f"{each['path']}: {each['message']}", each["hint"])
    return 1 if closed or any("error" in each for each in found) else 0


def _none(where: Path, root: str, verbs: Verbs, *, narrowed: bool) -> str:
    if narrowed and verbs.call("session.list")["sessions"]:
        return f"No session in {root} is such a one. `dagentd sessions` lists all."
    gone = len(verbs.call("session.list", status="gone")["sessions"])
    were = f" `dagentd sessions --gone` lists {gone} whose worktree is gone." if gone else ""
    return f"No sessions in {root}. {how_to_begin(where, verbs.call)}{were}"


def _print(found: list[dict[str, Any]], none: str) -> None:
    numbers = [Column(name, right=True) for name in ("messages", "budget")]
    columns = [Column("session", style="cyan"), Column("worktree"), Column("status"), *numbers, Column("updated")]
    output.table(columns, map(_row, found), empty=none)


def print_gone(found: list[dict[str, Any]]) -> None:
    columns = [Column("session", style="cyan"), Column("feature"), Column("total", right=True), Column("updated"),
               Column("days left", right=True)]  # fmt: skip
    seen = Counter(each["id"] for each in found)
    rows = []
    for each in found:
        name = each["id"] if seen[each["id"]] == 1 else Path(each["kept"]).stem
        left = "for good" if each["daysLeft"] is None else each["daysLeft"]
        total, updated = each.get("total", "unreadable"), output.ago(each.get("updatedAt"))
        rows.append((name, each.get("featureId"), total, updated, left))
    output.table(columns, rows, empty="No session is gone. `dagentd sessions` lists those that are here.")


def _print_followed(found: list[dict[str, Any]], root: str, below: bool) -> None:
    """By worktree, in the order of their last activity."""
    columns = [Column("session", style="cyan"), Column("agent"), Column("title", wrap=True),
               Column("messages", right=True), Column("size", right=True), Column("last active"),
               Column("")]  # fmt: skip
    for number, worktree in enumerate(dict.fromkeys(each["worktree"] for each in found)):
        if number or below:
            output.line()
        gone = "" if Path(worktree).is_dir() else " (gone)"
        output.heading(f"{worktree.removeprefix(f'{root}/') or worktree}{gone}")
        output.table(columns, [_followed(each) for each in found if each["worktree"] == worktree])


def _followed(each: dict[str, Any]) -> tuple[object, ...]:
    deleted = "deleted by its agent" if each["transcript"] == "deleted" else ""
    note = ", ".join(filter(None, (each["status"] if each["status"] != "idle" else "", deleted)))
    title, active = oneline.cut(output.clean(each["title"] or ""), _TITLE), output.ago(each["lastActiveAt"])
    return each["id"], each["agent"], title, each["total"], output.size(each["size"]), active, note


def _tell_errors(found: list[dict[str, Any]]) -> None:
    for each in found:
        if "error" in each:
            output.error(each["error"], each["hint"])


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    doing = "compacting" if "compacting" in each else ""
    status = ", ".join(filter(None, (each.get("status", "unreadable"), in_brief(each.get("paused")), doing)))
    updated = output.ago(each.get("updatedAt"))
    return each["id"], Path(each["worktree"]).name, status, _messages(each), _budget(each), updated


def _messages(each: dict[str, Any]) -> str:
    """How many are in chat, and of how many that ever were, if some left it."""
    messages, total = each.get("messages"), each.get("total")
    return "" if messages is None else figures.in_chat(messages, total)


def _budget(each: dict[str, Any]) -> str:
    """Estimated by the sizes of files: `dagentd show SESSION` counts."""
    return figures.budget(each["budget"]) if "budget" in each else ""
