"""`dagentd agx new`, `switch`, `archive`, `complete`, `restore`, `claude`, `cleanup` and `open`: one session is
changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dagentd import oneshot
from dagentd.adapters import git, tmux
from dagentd.adapters.tmux import Window
from dagentd.agx.agx import Agx
from dagentd.agx.values import section_of
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option
from dagentd.cli.verbs import ask
from dagentd.errors import InvalidInput

# Asking the user before something of AGX is taken away.


def make_sure(question: str, agx: Agx, where: Path, yes: bool) -> None:
    """Ask before something is taken away, unless the user does not want to be asked (`ui.confirmDestructive`)."""
    if yes or not agx.config(git.project_at(where).root).confirm_destructive:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("nobody can be asked whether this is meant", hint="Add --yes.")
    output.make_sure(question)


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
    raw = ask(where, "agx.new", name=name, description=description, tags=list(tags))
    _tell(raw, as_json, f"{raw['sessionId']} is the current session. `dagentd agx open` opens it in tmux.")


@click.command()
@click.argument("session")
@project_option
@json_option
def switch(session: str, where: Path, as_json: bool) -> None:
    """Make a session the current one of the project. Git is not touched."""
    raw = ask(where, "agx.switch", sessionId=session)
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
    make_sure(f"Archive {session}?", oneshot.agx_jobs(), where, yes)
    raw = ask(where, "agx.archive", sessionId=session)
    _tell(raw, as_json, f"{session} is archived. `dagentd agx restore {session}` takes that back.")


@click.command()
@click.argument("session")
@project_option
@json_option
def complete(session: str, where: Path, as_json: bool) -> None:
    """Say that what a session was for is done; `dagentd agx switch` goes on with it.

    The session of a branch that was merged into the default one is completed by itself.
    """
    raw = ask(where, "agx.complete", sessionId=session)
    _tell(raw, as_json, f"{session} is completed.")


@click.command()
@click.argument("session")
@project_option
@json_option
def restore(session: str, where: Path, as_json: bool) -> None:
    """Bring a session back: from the archive, the trash, or a backup where its file is damaged."""
    raw = ask(where, "agx.restore", sessionId=session)
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
    raw = ask(where, "agx.claude", claudeSessionId=claude_session, sessionId=session)
    resume = section_of(raw, "claude", "resumeInfo")
    told = resume.get("resumeCommand") if resume.get("canResume") else "; ".join(resume.get("resumeErrors") or [])
    _tell(raw, as_json, f"{raw['sessionId']}: {told}")


def _tell(raw: dict[str, Any], as_json: bool, sentence: str) -> None:
    if as_json:
        output.print_json(raw)
        return
    output.line(sentence)
    if "note" in raw:
        output.problem(raw["note"])


# `dagentd agx cleanup`: what is no longer used goes, step by step.

_WORDS = {"archive": "archive", "remove": "remove to the trash", "delete": "delete from the trash, for good"}


@click.command()
@click.argument("names", metavar="[SESSION]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
@json_option
def cleanup(names: tuple[str, ...], dry_run: bool, yes: bool, where: Path, as_json: bool) -> None:
    """Archive sessions that were not used for long, and remove those that were archived for as long.

    With SESSION remove just these, to the trash. `dagentd agx restore SESSION` brings one back from there.
    """
    steps = _ask(where, names, True)["steps"]
    if steps and not dry_run:
        if not as_json:
            _tell_cleanup(steps)
        make_sure("Do this?", oneshot.agx_jobs(), where, yes)
        steps = _ask(where, names, False)["steps"]
    if as_json:
        output.print_json({"steps": steps})
    elif dry_run or not steps:
        _tell_cleanup(steps)
    else:
        output.line("Done.")


def _ask(where: Path, names: tuple[str, ...], dry_run: bool) -> dict[str, Any]:
    return dict(ask(where, "agx.cleanup", sessionIds=list(names), dryRun=dry_run))


def _tell_cleanup(steps: list[dict[str, Any]]) -> None:
    rows = [(each["sessionId"], _WORDS[each["action"]], each["reason"].replace("_", " ")) for each in steps]
    output.table([Column("session", style="cyan"), Column("do"), Column("because")], rows, empty="Nothing to clean up.")


# `dagentd agx open`: a session in tmux, for as long as the user stays in it.

_OF_PROJECT = "The configuration of this project has these commands run:"
_RESUMES = "The conversation of this session can go on:"


@click.command("open")
@click.argument("session", required=False)
@click.option("--detached", is_flag=True, help="Only make the tmux session.")
@click.option("--yes", is_flag=True, help="Run the commands of its windows without asking.")
@project_option
def open_session(session: str | None, detached: bool, yes: bool, where: Path) -> int:
    """Open a session in tmux, made with the windows of the project's configuration if it does not run.

    Commands in there come with the project: they are shown, and run only once you have confirmed them; after any change
    of them they are shown again. Where a conversation with Claude can be resumed, that is offered in the same way.
    """
    if not detached and not sys.stdin.isatty():
        raise InvalidInput("tmux needs a terminal", hint="Add --detached to only make the session.")
    root = git.project_at(where).root
    # Here and not in the daemon: it runs commands, in the user's own environment.
    agx = oneshot.agx_jobs(root)
    asks = sys.stdin.isatty()
    name, made = agx.open(
        root, session, lambda windows: yes or _confirmed(_OF_PROJECT, windows),
        lambda windows: yes or (asks and _confirmed(_RESUMES, windows)),
    )  # fmt: skip
    if detached:
        output.line(f"{name} {'was made' if made else 'runs already'}: tmux attach -t '={name}'")
        return 0
    status = tmux.attach(name)
    agx.closed(root, name)
    return 1 if status else 0


def _confirmed(told: str, windows: Sequence[Window]) -> bool:
    rows = [(each.name, each.path, each.command) for each in windows]
    output.line(told)
    output.table([Column("window", style="cyan"), Column("in", wrap=True), Column("command", wrap=True)], rows)
    if not sys.stdin.isatty():
        raise InvalidInput("nobody can be asked whether they may run", hint="Add --yes if you trust them.")
    return click.confirm("Run them now and from now on?")
