"""`dagentd restore`: a session whose worktree is gone gets a place again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd import alone
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.project import json_option, project_option, serving, settings_of
from dagentd.model.project import Project


@click.command()
@click.argument("session")
@click.option("--into", "feature", metavar="FEATURE", help="The feature to restore it into; without it, its own.")
@click.option("--worktree", help="The worktree, where several have the feature.")
@project_option
@json_option
def restore(session: str, feature: str | None, worktree: str | None, where: Path, as_json: bool) -> None:
    """Bring a session back whose worktree is gone.

    `dagentd sessions --gone` lists them. The session goes on with the same journal: every message it ever had is in
    its history again.
    """
    project = git.project_at(where)
    given = {"featureId": feature, "worktree": worktree}
    found = _by_daemon(project, session, {key: value for key, value in given.items() if value is not None})
    if found is None:
        with alone.writing(project, settings_of(project)) as store:
            found = store.restore(session, feature, worktree).document()
    if as_json:
        output.print_json(found)
    else:
        output.line(f"{session} is back, in {found['worktree']}. `dagentd show {session}` shows it.")


def _by_daemon(project: Project, session: str, given: dict[str, str]) -> dict[str, Any] | None:
    """None if no daemon serves the project."""
    with serving(project) as running:
        if running is None:
            return None
        return dict(running.call("session.restore", sessionId=session, project=str(project.root), **given))
