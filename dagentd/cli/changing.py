"""`dagentd add`, `dagentd clear` and `dagentd archive`: what a user changes in a session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dagentd import alone
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.project import json_option, project_option, reading, serving, settings_of, worktree_option
from dagentd.errors import InvalidInput
from dagentd.store.new_message import ROLES
from dagentd.store.session import Session

_STDIN = "-"


@click.command()
@click.argument("session")
@click.argument("text", metavar="[TEXT|-]", required=False)
@click.option("--role", type=click.Choice(ROLES), default="user", show_default=True, help="Who says it.")
@project_option
@worktree_option
@json_option
def add(session: str, text: str | None, role: str, where: Path, worktree: str | None, as_json: bool) -> None:
    """Add a message to a session.

    Without TEXT, or with -, it is what comes on standard input, without the line break at its end. The message is on
    disk when the command ends. An archived session is active again.
    """
    said = {"role": role, "content": _given(text)}
    added = _change("session.addMessage", session, worktree, where, said, lambda held: held.add([said])[0])
    if as_json:
        output.print_json(added)
    else:
        output.line(f"Added to {session} as {added['id']}.")


@click.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
@worktree_option
@json_option
def clear(session: str, yes: bool, where: Path, worktree: str | None, as_json: bool) -> None:
    """Let all messages of a session leave its chat; they stay in history.

    `dagentd history`, `search` and `export` still have every one. The checkpoint stays too. Compactions before it
    can no longer be undone.
    """
    if not yes:
        _ask(session, worktree, where)
    done = _change(
        "session.clearMessages", session, worktree, where, {}, lambda held: {"messagesCleared": held.clear()}
    )
    if as_json:
        output.print_json(done)
    else:
        output.line(_cleared(session, done["messagesCleared"]))


@click.command()
@click.argument("session")
@project_option
@worktree_option
@json_option
def archive(session: str, where: Path, worktree: str | None, as_json: bool) -> None:
    """Give a session the status `archived`; it can still be read.

    It is active again as soon as something is added to it. Sessions whose feature or task has ended are archived by
    themselves.
    """
    found = _change("session.archive", session, worktree, where, {}, _archived)
    if as_json:
        output.print_json(found)
    else:
        output.line(f"{session} is archived. `dagentd add {session}` makes it active again.")


def _change(
    method: str, session: str, worktree: str | None, where: Path, given: dict[str, Any],
    act: Callable[[Session], dict[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    """By the daemon if one serves the project, because it has the lock; else by ourselves."""
    project = git.project_at(where)
    whose = {"sessionId": session, "project": str(project.root)} | ({"worktree": worktree} if worktree else {})
    with serving(project) as running:
        if running is not None:
            return dict(running.call(method, **whose, **given))
    with alone.writing(project, settings_of(project)) as store, store.using(session, worktree) as held:
        return act(held)


def _archived(held: Session) -> dict[str, Any]:
    held.archive()
    return held.document()


# --- what is said ---------------------------------------------------------------------------------------------


def _given(text: str | None) -> str:
    if text is None and output.can_ask():
        raise click.UsageError("There is nothing to add: give the text, or - to type it and end with Ctrl-D.")
    found = _typed() if text in (None, _STDIN) else text
    if not found or not found.strip():
        raise InvalidInput("there is nothing to add", hint="dagentd add SESSION 'What is to be said'")
    try:
        found.encode()
    except UnicodeEncodeError:  # bytes of an argument that are no text come as lone surrogates
        raise InvalidInput("the text is not UTF-8", hint="Convert it, for example with `iconv -t utf-8`.") from None
    return found


def _typed() -> str:
    """Whatever the locale says: sessions are UTF-8."""
    data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    return data.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


# --- asking and telling ---------------------------------------------------------------------------------------


def _ask(session: str, worktree: str | None, where: Path) -> None:
    with reading(where) as store:
        total = store.session(session, worktree).in_chat
    if total and not output.can_ask():
        raise InvalidInput("this takes all messages out of the chat, and nobody can be asked", hint="Add --yes.")
    if total:
        output.make_sure(f"Let {output.counted(total, 'message')} leave the chat of {session}? History keeps all.")


def _cleared(session: str, count: int) -> str:
    if not count:
        return f"The chat of {session} is empty already."
    return f"{output.counted(count, 'message')} left the chat of {session}; `dagentd history {session}` has all of it."
