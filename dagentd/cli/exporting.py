"""`dagentd export`: a session as a document to read, or to work on."""

from __future__ import annotations

from pathlib import Path

import click

from dagentd.adapters import disk, publishing
from dagentd.cli import output
from dagentd.cli.project import project_option, reading, worktree_option
from dagentd.errors import Conflict, NotAllowed
from dagentd.jobs.export import exported
from dagentd.model import jsontext
from dagentd.model.exported import as_markdown


@click.command()
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("-o", "--output", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write it to a file.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@project_option
@worktree_option
def export(session: str, as_json: bool, target: Path | None, force: bool, where: Path, worktree: str | None) -> None:
    """Print a whole session as Markdown: its state, its checkpoint, and all that was ever said.

    What left chat is in its place, with a mark where it left; tool calls and internal messages are folded. Sessions
    whose worktree is gone can be exported too.

    --json gives an object with `version` (1), `exportedAt`, `session` and `checkpoint` (the documents), `messages`
    (every one ever, in order), `inChat` (the ids of those that are in chat) and `moves`: what left chat or came back,
    each with `at`, `what` (`left` or `back`), `why` (`compacted`, `cleared`, `external`, `rollback`), `messageIds` and,
    for a compaction, `checkpointVersion`.
    """
    with reading(where) as store:
        found = exported(store.session(session, worktree))
    text = jsontext.pretty(found) if as_json else output.clean(as_markdown(found)).encode()
    if target is not None and str(target) != "-":
        _write(target, text, force)
        output.line(f"Wrote {target} ({output.size(len(text))}).")
    elif as_json:
        output.print_json(found)
    else:
        output.text(text.decode().removesuffix("\n"))


def _write(target: Path, data: bytes, force: bool) -> None:
    """For its owner alone, if it is new: a conversation may hold what nobody else should read."""
    if target.is_dir():
        raise NotAllowed("is a folder", path=target, hint="Give the name of a file in it.")
    with disk.explained(target):
        if force:
            publishing.put(target, data)
            return
        try:
            publishing.publish(target, [data], expect=None, sync=True)
        except publishing.Changed:
            raise Conflict("is there already", path=target, hint="Add --force to replace it.") from None
