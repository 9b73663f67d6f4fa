"""`dagentd export`: a session as a document to read, or to work on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dagentd import paths
from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk
from dagentd.cli import output
from dagentd.cli.naming import session_argument
from dagentd.cli.project import kept_conversations, project_option, reading, worktree_option
from dagentd.errors import Conflict, NotAllowed, NotFound
from dagentd.model import jsontext
from dagentd.model.export import as_markdown
from dagentd.model.ids import is_followed
from dagentd.store.sessions.session import Session

_VERSION = 1  # of the document: another number where a field changes its meaning or goes
_ALL = 1 << 62


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("-o", "--output", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write it to a file.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.option("--raw", is_flag=True, help="The transcript of another agent, byte for byte as that wrote it.")
@project_option
@worktree_option
def export(
    session: str, as_json: bool, target: Path | None, force: bool, raw: bool, where: Path, worktree: str | None
) -> None:
    """Print a whole session as Markdown: its state, its checkpoint, and all that was ever said.

    What left chat is in its place, with a mark where it left; tool calls and internal messages are folded. Sessions
    whose worktree is gone can be exported too.

    --json gives an object with `version` (1), `exportedAt`, `session` and `checkpoint` (the documents), `messages`
    (every one ever, in order), `inChat` (the ids of those that are in chat) and `moves`: what left chat or came back,
    each with `at`, `what` (`left` or `back`), `why` (`compacted`, `cleared`, `external`, `rollback`), `messageIds` and,
    for a compaction, `checkpointVersion`.
    """
    if raw:
        _export_raw(session, target, force)
        return
    if is_followed(session):
        with kept_conversations() as kept:
            found = kept.sessions.export(session)
    else:
        with reading(where) as store:
            found = _exported(store.session(session, worktree))
    text = jsontext.pretty(found) if as_json else output.clean(as_markdown(found)).encode()
    if target is not None and str(target) != "-":
        _write(target, text, force)
        output.line(f"Wrote {target} ({output.size(len(text))}).")
    elif as_json:
        output.print_json(found)
    else:
        output.text(text.decode().removesuffix("\n"))


def _exported(session: Session) -> dict[str, Any]:
    """With all that was ever said in it, as one document."""
    return {
        "version": _VERSION,
        "exportedAt": clock.stamp(),
        "session": session.document(),
        "checkpoint": session.checkpoint(),
        "messages": session.history(limit=_ALL)[0],
        "inChat": [raw.get("id") for raw in session.chat()],
        "moves": session.moves(),
    }


def _export_raw(session: str, target: Path | None, force: bool) -> None:
    if not is_followed(session):
        hint = "Its journal is in its folder: dagentd show SESSION --json"
        raise NotFound(f"{session} is no conversation of another agent", hint=hint)
    with kept_conversations() as kept, kept.sessions.raw(session) as pieces:
        if target is None or str(target) == "-":
            for piece in pieces:
                output.put_bytes(piece)
            return
        data = b"".join(pieces)
    _write(target, data, force)
    output.line(f"Wrote {target} ({output.size(len(data))}).")


def _write(target: Path, data: bytes, force: bool) -> None:
    """For its owner alone, if it is new: a conversation may hold what nobody else should read."""
    if target.is_dir():
        raise NotAllowed("is a folder", path=target, hint="Give the name of a file in it.")
    if disk.is_missing(target.parent):
        raise NotFound("the folder is not there", path=target.parent, hint=f"mkdir -p {target.parent}")
    if force and _is_own(target):
        raise NotAllowed("is in a folder of dagentd's own", path=target, hint="Choose another folder.")
    try:
        with disk.explained(target):
            if force:
                atomic.put(target, data)
            else:
                atomic.publish(target, [data], expect=None, sync=True)
    except atomic.Changed:
        if force:
            raise Conflict("was changed by another program meanwhile", path=target, hint="Try again.") from None
        raise Conflict("is there already", path=target, hint="Add --force to replace it.") from None


def _is_own(target: Path) -> bool:
    """Replaced by a document, a kept journal or transcript would be lost, and with it the only copy of a session."""
    ways = (os.path.abspath(target.parent), os.path.realpath(target.parent))
    places = ("/.dagent/", "/.git/dagentd/", f"{paths.state_dir()}/", f"{os.path.realpath(paths.state_dir())}/")
    return any(place in f"{way}/" for way in ways for place in places)
