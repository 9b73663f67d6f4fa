"""`dagentd agx new`, `switch`, `archive`, `complete`, `restore` and `claude`: one session is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd import alone
from dagentd.cli import output
from dagentd.cli.agx.asking import ask, make_sure
from dagentd.cli.project import json_option, project_option
from dagentd.model.agx import section

_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.command()
@click.argument("name", required=False)
@click.option("--description", default="", help="What it is for.")
@click.option("--tag", "tags", multiple=True, help="May be given several times.")
@project_option
@json_option
def new(name: str | None, description: str, tags: tuple[str, ...], where: Path, as_json: bool) -> None:
    """Make a session and switch to it; without NAME that of the branch that is checked out.

    With the first one the project gets its .agx folder, and is kept up from then on.
    """
    given = {"name": name, "description": description, "tags": list(tags)}
    raw = ask(where, "agx.new", given, lambda agx, root: agx.new(root, name, description, tags))
    _tell(raw, as_json, f"{raw['sessionId']} is the current session. `dagentd agx open` opens it in tmux.")


@click.command()
@click.argument("session")
@project_option
@json_option
def switch(session: str, where: Path, as_json: bool) -> None:
    """Make a session the current one of the project. Git is not touched."""
    raw = ask(where, "agx.switch", {"sessionId": session}, lambda agx, root: agx.switch(root, session))
    _tell(raw, as_json, f"{session} is the current session.")


@click.command()
@click.argument("session")
@_yes
@project_option
@json_option
def archive(session: str, yes: bool, where: Path, as_json: bool) -> None:
    """Archive a session; `dagentd agx restore` takes that back.

    What is archived is removed to the trash once it has not been used for as long again.
    """
    make_sure(f"Archive {session}?", alone.agx_jobs(), where, yes)
    raw = ask(where, "agx.archive", {"sessionId": session}, lambda agx, root: agx.archive(root, session))
    _tell(raw, as_json, f"{session} is archived. `dagentd agx restore {session}` takes that back.")


@click.command()
@click.argument("session")
@project_option
@json_option
def complete(session: str, where: Path, as_json: bool) -> None:
    """Say that what a session was for is done; `dagentd agx switch` goes on with it.

    The session of a branch that was merged into the default one is completed by itself.
    """
    raw = ask(where, "agx.complete", {"sessionId": session}, lambda agx, root: agx.complete(root, session))
    _tell(raw, as_json, f"{session} is completed.")


@click.command()
@click.argument("session")
@project_option
@json_option
def restore(session: str, where: Path, as_json: bool) -> None:
    """Bring a session back: from the archive, the trash, or a backup where its file is damaged."""
    raw = ask(where, "agx.restore", {"sessionId": session}, lambda agx, root: agx.restore(root, session))
    _tell(raw, as_json, f"{session} is back. `dagentd agx switch {session}` makes it the current one.")


@click.command()
@click.argument("claude_session")
@click.option("--session", help="The AGX session; without it the current one.")
@project_option
@json_option
def claude(claude_session: str, session: str | None, where: Path, as_json: bool) -> None:
    """Note the id of the Claude session that a session goes on with.

    A hook of Claude Code can call this. Without it, dagentd looks for the newest one of the branch in Claude Code's own
    files.
    """
    given = {"claudeSessionId": claude_session, "sessionId": session}
    raw = ask(where, "agx.claude", given, lambda agx, root: agx.claude(root, claude_session, session))
    resume = section(raw, "claude", "resumeInfo")
    told = resume.get("resumeCommand") if resume.get("canResume") else "; ".join(resume.get("resumeErrors") or [])
    _tell(raw, as_json, f"{raw['sessionId']}: {told}")


def _tell(raw: dict[str, Any], as_json: bool, sentence: str) -> None:
    if as_json:
        output.print_json(raw)
        return
    output.line(sentence)
    if "note" in raw:
        output.problem(raw["note"])
