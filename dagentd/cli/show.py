"""`dagentd show`: one session at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd.cli import output
from dagentd.cli.gone import tell_gone
from dagentd.cli.paused import in_full
from dagentd.cli.project import (
    json_option,
    project_option,
    reading,
    settings_of,
    tell_problems,
    under_way,
    worktree_option,
)
from dagentd.jobs import pausing, summary
from dagentd.model.compaction.items import TITLES, in_words, items_of, record_of
from dagentd.store.session import Session

_SHOWN = {
    "id": "session", "status": "status", "agentType": "role", "featureId": "feature", "taskId": "task",
    "taskState": "task state", "worktree": "worktree",
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
        (document,) = summary.with_compactions([found.document()], under_way())
        if as_json:
            document |= summary.paused(store, found.id)
            output.print_json({"session": document, "checkpoint": found.checkpoint()})
            return
        sizes = {} if found.folder.gone else summary.session(store, found.folder, settings_of(store.project))
        _print(found, document, sizes, pausing.of_session(store, found.id))


def _print(session: Session, document: dict[str, Any], sizes: dict[str, Any], paused: dict[str, Any] | None) -> None:
    tell_gone(session)
    messages, _ = session.messages(3)
    shown = [(title, document[key]) for key, title in _SHOWN.items() if document.get(key)]
    made, changed = (output.ago(document.get(key)) for key in ("createdAt", "updatedAt"))
    output.fields([
        *shown,
        *([("paused", in_full(paused, session.id))] if paused is not None else []),
        *([("compacting", f"began {output.ago(document['compacting'])}")] if "compacting" in document else []),
        ("made", f"{made}, changed {changed}" if changed else made),
        ("in chat", output.counted(session.in_chat, "message")),
        *_budget(sizes),
    ])  # fmt: skip
    _print_checkpoint(session.checkpoint() or {})
    if messages:
        output.line()
        output.heading("Last messages")
    for message in messages:
        output.line(f"  {message.get('role')}: {_first_line(message.get('content'))}")
    tell_problems(session.problems, session.project)


def _budget(sizes: dict[str, Any]) -> list[tuple[str, str]]:
    """Estimated, because counting takes half a second."""
    if "budget" not in sizes:
        return []
    share, limit = output.share(sizes["budget"]["share"]), output.tokens(sizes["budget"]["limit"])
    return [("budget", f"about {output.tokens(sizes['tokens'])}, {share} of {limit}")]


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


def _first_line(content: object) -> str:
    text = content if isinstance(content, str) else str(content)
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= 100 else f"{line[:99]}…"
