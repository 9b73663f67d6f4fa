"""`dagentd show`: one session at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.naming import session_argument, tell_gone
from dagentd.cli.paused import in_full
from dagentd.cli.project import json_option, project_option, worktree_option
from dagentd.cli.verbs import asking
from dagentd.model.compaction.items import TITLES, in_words, items_of, record_of

_LAST = 3  # messages that are shown
_SHOWN = {
    "id": "session", "status": "status", "agentType": "role", "featureId": "feature", "taskId": "task",
    "taskState": "task state", "worktree": "worktree",
}  # fmt: skip


@click.command()
@session_argument
@project_option
@worktree_option
@json_option
def show(session: str, where: Path, worktree: str | None, as_json: bool) -> None:
    """Show a session: its state, its checkpoint, its last messages."""
    whose = {"sessionId": session, "worktree": worktree}
    with asking(where) as verbs:
        found = verbs.call("session.get", **whose)
        checkpoint = verbs.call("session.getCheckpoint", **whose)
        if budget := found.get(
            "budget"
        ):  # in the place of what was estimated for a list: as `compact --preview` counts
            tokens = verbs.call("session.getCompactionMetrics", **whose)["tokens"]
            share = round(tokens / budget["limit"], 3)
            found |= {"tokens": tokens, "budget": {"limit": budget["limit"], "share": share, "estimated": False}}
        last = [] if as_json else verbs.call("session.getMessages", **whose, limit=_LAST)["messages"]
    if as_json:
        output.print_json({"session": found, "checkpoint": checkpoint})
        return
    tell_gone(found)
    (_print_followed if found.get("type") == "followed" else _print)(found)
    _print_checkpoint(checkpoint or {})
    if last:
        output.line()
        output.heading("Last messages")
    for message in last:
        told = str(message.get("content")).strip() or "\n".join(output.tool_calls(message)).strip()
        first = told.splitlines()[0] if told else ""
        output.line(f"  {message.get('role')}: {first if len(first) <= 100 else f'{first[:99]}…'}")
    for problem in found.get("problems", ()):
        output.problem(problem["message"], problem["hint"], problem["path"].removeprefix(f"{found['project']}/"))


def _print(found: dict[str, Any]) -> None:
    shown = [(title, found[key]) for key, title in _SHOWN.items() if found.get(key)]
    if "paused" in found:
        shown.append(("paused", in_full(found["paused"], found["id"])))
    if "compacting" in found:
        shown.append(("compacting", f"began {output.ago(found['compacting'])}"))
    made, changed = (output.ago(found.get(key)) for key in ("createdAt", "updatedAt"))
    shown.append(("made", f"{made}, changed {changed}" if changed else made))
    # Documents of somebody else may not tell how many there ever were.
    known = {"in chat": found.get("messages"), "in total": found.get("total")}
    counts = ", ".join(f"{count} {where}" for where, count in known.items() if count is not None)
    shown.append(("messages", counts or "unknown"))
    if budget := found.get("budget"):
        share, limit = output.share(budget["share"]), output.tokens(budget["limit"])
        shown.append(("budget", f"{output.tokens(found['tokens'])}, {share} of {limit}"))
    output.fields(shown)


def _print_followed(found: dict[str, Any]) -> None:
    made, last = output.ago(found["startedAt"]), output.ago(found["lastActiveAt"])
    version, deleted = f" {found['version']}" if found["version"] else "", found["transcript"] == "deleted"
    told = {
        "session": found["id"],
        "title": found["title"],
        "agent": f"{found['agent']}{version}",
        "model": found["model"],
        "status": found["status"],
        "worktree": found["worktree"],
        "branch": found["branch"],
        "forked from": found["forkedFrom"],
        "parent": found["parent"],
        "began": f"{made}, last active {last}" if last else made,
        "messages": f"{found['total']}, {found['messages']} of them since the agent compacted",
        "subagents": len(found["subagents"]) or None,
        "kept": f"{found['kept'][-1]} ({output.size(found['size'])})",
        "transcript": "deleted by its agent; `dagentd restore` puts it back" if deleted else None,
        "go on by": found["resume"],
    }  # fmt: skip
    if not found["compactions"]:
        told["messages"] = found["total"]
    output.fields([(name, value) for name, value in told.items() if value])


def _print_checkpoint(checkpoint: dict[str, Any]) -> None:
    """Each item with its id, by which it can be pinned."""
    items, record = items_of(checkpoint), record_of(checkpoint)
    if told := [(title, text) for title, text in (("goal", record.goal), ("next step", record.next)) if text]:
        output.line()
        output.fields(told)
    for name, title in TITLES.items():
        listed = [item for item in items if item.list == name]
        if listed:
            output.line()
            output.heading(title)
        for item in listed:
            output.line(f"  {item.id}  {'[pinned] ' if item.pinned else ''}{in_words(item)}")
    if left := checkpoint.get("itemsLeft"):
        output.line(f"\n{left} earlier items are only in history.")
