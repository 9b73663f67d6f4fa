"""`dagentd show`: one session at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.gone import tell_gone
from dagentd.cli.paused import in_full
from dagentd.cli.project import json_option, project_option, reading, worktree_option
from dagentd.cli.serving import tell_problems
from dagentd.jobs import pausing, summary
from dagentd.model.compaction.items import items_of
from dagentd.model.rendering import line
from dagentd.store.session import Session

_LISTS = {
    "completed": "Completed", "inProgress": "In progress", "pending": "Pending", "blockers": "Blockers",
    "decisions": "Decisions",
}  # fmt: skip


@click.command()
@click.argument("session")
@project_option
@worktree_option
@json_option
def show(session: str, where: Path, worktree: str | None, as_json: bool) -> None:
    """Show a session: its state, its checkpoint, its last messages."""
    with reading(where) as store:
        found = store.session(session, worktree)
        if as_json:
            document = {**found.document(), **summary.paused(store, found.id)}
            output.print_json({"session": document, "checkpoint": found.checkpoint()})
        else:
            _print(found, pausing.of_session(store, found.id))


def _print(session: Session, paused: dict[str, Any] | None) -> None:
    tell_gone(session)
    document = session.document()
    messages, total = session.messages(3)
    shown = ("id", "status", "agentType", "featureId", "taskId", "taskState", "worktree", "createdAt")
    pairs = [(key, document[key]) for key in shown if document.get(key)]
    if paused is not None:
        pairs.append(("paused", in_full(paused, session.id)))
    output.fields([*pairs, ("updated", output.ago(document.get("updatedAt"))), ("in chat", f"{total} messages")])
    _print_checkpoint(session.checkpoint() or {})
    if messages:
        output.line("\nLast messages")
    for message in messages:
        output.line(f"  {message.get('role')}: {_first_line(message.get('content'))}")
    tell_problems(session.problems, session.project)


def _print_checkpoint(checkpoint: dict[str, Any]) -> None:
    """Each item with its id, by which it can be pinned."""
    items = items_of(checkpoint)
    for name, title in _LISTS.items():
        listed = [item for item in items if ("completed" if item.resolved else item.list) == name]
        if listed:
            output.line(f"\n{title}")
        for item in listed:
            output.line(f"  {item.id}  {'[pinned] ' if item.pinned else ''}{line(item.entry)}")
    if left := checkpoint.get("itemsLeft"):
        output.line(f"\n{left} earlier items are only in history.")


def _first_line(content: object) -> str:
    text = content if isinstance(content, str) else str(content)
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= 100 else f"{line[:99]}…"
