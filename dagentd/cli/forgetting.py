"""`dagentd forget`: a session and all its traces are removed, for a secret that leaked into it."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import click

from dagentd import alone
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.project import project_option, reading, settings_of
from dagentd.errors import InvalidInput, NotFound, Unreachable
from dagentd.rpc.client import Client
from dagentd.store import lock


@click.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
def forget(session: str, yes: bool, where: Path) -> int:
    """Remove a session and all its traces for good.

    Its documents, journal, kept journals, backups and what was set aside, in every worktree; its links in feature.json
    and task.json; its part of the indexes. Nothing of it can be restored. A program that still shows the session may
    write it again: close it first.
    """
    project = git.project_at(where)
    with reading(where) as store:
        found = store.traces(session)
    if not found:
        raise NotFound(f"there is nothing of a session {session}", hint="dagentd sessions")
    if not yes:
        _ask(found, project.root)
    # Not on the socket: an agent that may add messages must not be able to destroy them. The daemon lets go instead.
    with lock.claimed(project):
        _have_daemon_look()
        with alone.writing(project, settings_of(project)) as store:
            removed = store.forget(session)
    _have_daemon_look()
    output.line(f"{session} is forgotten: {len(removed)} files removed.")
    return 0


def _ask(found: list[Path], root: Path) -> None:
    if not output.can_ask():
        raise InvalidInput("this removes a session for good, and nobody can be asked", hint="Add --yes.")
    for path in found:
        output.line(str(path).removeprefix(f"{root}/"))
    output.make_sure("Remove all of these for good?")


def _have_daemon_look() -> None:
    """Now, and not at its next heartbeat."""
    with contextlib.suppress(Unreachable, ProcessLookupError), Client() as running:
        os.kill(running.call("daemon.status")["pid"], signal.SIGHUP)
