"""`dagentd add`, `clear`, `archive`, `restore` and `forget`: what a user changes in a session."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dagentd import oneshot, paths
from dagentd.adapters import git
from dagentd.agents import removing
from dagentd.cli import output
from dagentd.cli.naming import lost_session_argument, past_session_argument, session_argument
from dagentd.cli.new import make_sure_of, yes_option
from dagentd.cli.project import (
    json_option,
    kept_conversations,
    project_option,
    reading,
    settings_of,
    worktree_option,
)
from dagentd.cli.verbs import ask, asking, have_daemon_look
from dagentd.errors import InvalidInput, NotFound
from dagentd.model.ids import is_followed
from dagentd.model.project import Project
from dagentd.model.scrubbed_text import Trace, forms
from dagentd.store import scrubbing, writer_lock
from dagentd.store.registry import Registry
from dagentd.store.sessions.changes import ROLES

# `dagentd add`, `dagentd clear` and `dagentd archive`: what a user changes in a session.

_STDIN = "-"


@click.command()
@session_argument
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
    known = click.get_current_context().meta  # of standard input, which is read once: a session may be looked for again
    said = known["dagentd.said"] = known.get("dagentd.said") or _given(text)
    added = ask(where, "session.addMessage", sessionId=session, worktree=worktree, role=role, content=said)
    if as_json:
        output.print_json(added)
    else:
        output.line(f"Added to {session} as {added['id']}.")


@click.command()
@session_argument
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
    done = ask(where, "session.clearMessages", sessionId=session, worktree=worktree)
    if as_json:
        output.print_json(done)
    else:
        output.line(_cleared(session, done["messagesCleared"]))


@click.command()
@session_argument
@click.option("--off", is_flag=True, help="Make it active again.")
@project_option
@worktree_option
@json_option
def archive(session: str, off: bool, where: Path, worktree: str | None, as_json: bool) -> None:
    """Give a session the status `archived`; it can still be read.

    It is active again with --off, or as soon as something is added to it. Sessions whose feature or task has ended are
    archived by themselves.
    """
    found = ask(where, "session.archive", sessionId=session, worktree=worktree, archived=not off)
    if as_json:
        output.print_json(found)
    elif off:
        output.line(f"{session} is active.")
    else:
        output.line(f"{session} is archived. `dagentd archive {session} --off` makes it active again.")


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
    """Read the text from standard input, as UTF-8 whatever the locale says: sessions are UTF-8."""
    data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    return data.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


# --- asking and telling ---------------------------------------------------------------------------------------


def _ask(session: str, worktree: str | None, where: Path) -> None:
    total = ask(where, "session.getMessages", sessionId=session, worktree=worktree, limit=0, includeInternal=True)[
        "total"
    ]
    if total and not output.can_ask():
        raise InvalidInput("this takes all messages out of the chat, and nobody can be asked", hint="Add --yes.")
    if total:
        output.make_sure(f"Let {output.counted(total, 'message')} leave the chat of {session}? History keeps all.")


def _cleared(session: str, count: int) -> str:
    if not count:
        return f"The chat of {session} is empty already."
    return f"{output.counted(count, 'message')} left the chat of {session}; `dagentd history {session}` has all of it."


# `dagentd restore`: a session whose worktree is gone gets a place again.


@click.command()
@lost_session_argument
@click.option("--into", "feature", metavar="FEATURE", help="The feature to restore it into; without it, its own.")
@click.option("--worktree", help="The worktree, where several have the feature.")
@yes_option
@project_option
@json_option
def restore(session: str, feature: str | None, worktree: str | None, may_add: bool, where: Path, as_json: bool) -> None:
    """Bring a session back whose worktree is gone, or a transcript that its agent has deleted.

    `dagentd sessions --gone` lists the former. Such a session goes on with the same journal: every message it ever had
    is in its history again. A transcript of Claude Code or Codex is put back where that agent looks for it, if nothing
    is there. A feature that is not there is made, and before it its worktree, if you say so.
    """
    with asking(where) as verbs:
        gone = verbs.call("session.list", status="gone")["sessions"]
        lost = [each for each in gone if session in (each["id"], Path(each["kept"]).stem)]
        goal = feature or (lost[-1].get("featureId") if lost else None)
        if lost and goal and worktree is None:
            make_sure_of(goal, git.project_at(where), verbs, may_add)
        found = verbs.call("session.restore", sessionId=session, featureId=feature, worktree=worktree)
    if as_json:
        output.print_json(found)
    elif "written" in found:
        for path in found["written"]:
            output.line(path)
        output.line(f"{session} is back. Go on with it: {found['resume']}")
    else:
        output.line(f"{session} is back, in {found['worktree']}. `dagentd show {session}` shows it.")


# `dagentd forget`: a session and all its traces are removed, for a secret that leaked into it.


@click.command()
@past_session_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
def forget(session: str, yes: bool, where: Path) -> int:
    """Remove a session and all its traces for good.

    Its documents, journal, kept journals, backups and what was set aside, in every worktree; its links in feature.json
    and task.json; its part of the indexes. Nothing of it can be restored. A program that still shows the session may
    write it again: close it first. Of a conversation of Claude Code or Codex the agent's own transcript stays, and is
    not kept again.
    """
    if is_followed(session):
        return _forget_followed(session, yes)
    project = git.project_at(where)
    with reading(where) as store:
        found = store.remover.traces(session)
    if not found:
        raise NotFound(f"there is nothing of a session {session}", hint="dagentd sessions")
    if not yes:
        _ask_to_forget(found, project.root)
    # Not on the socket: an agent that may add messages must not be able to destroy them. The daemon lets go instead.
    with writer_lock.claimed(project):
        have_daemon_look()
        with oneshot.writing(project, settings_of(project)) as store:
            removed = store.forget(session)
    have_daemon_look()
    output.line(f"{session} is forgotten: {len(removed)} files removed.")
    return 0


def _forget_followed(session: str, yes: bool) -> int:
    with kept_conversations() as kept:
        found = kept.sessions.get(session)
        if not yes:
            _ask_to_forget([Path(path) for path in found["kept"]], paths.agents_dir())
        removed = kept.forget(session)
    have_daemon_look()
    output.line(f"{session} is forgotten: {output.counted(len(removed), 'file')} removed. The agent's own file stays.")
    return 0


# `dagentd scrub`: a text that leaked is removed from all that is kept, wherever it stands.


@click.command()
@click.argument("text")
@click.option("--yes", is_flag=True, help="Do not ask.")
def scrub(text: str, yes: bool) -> int:
    """Remove a text, as a pasted key, from all that dagentd keeps.

    From kept conversations of other agents, from journals and documents of all registered projects, also those that
    outlived their worktree, from memory, logs and indexes. In its place stand as many asterisks. It is looked for as it
    is and as JSON has it. The agents' own files stay as they are, and so do AGX's: clear them there. What an agent or a
    program that still shows the session writes again is kept again. The exit status is 1 if something had to stay.
    """
    wanted = forms(text)
    with kept_conversations() as kept:
        projects = [entry.project for entry in Registry(paths.registry_file()).projects()]
        places = {project.root: scrubbing.traces(scrubbing.of_project(project), wanted) for project in projects}
        of_agents = removing.traces(kept.following, wanted)
        own = [each for each in scrubbing.traces([paths.state_dir()], wanted) if not _is_of_agents(each.path)]
        found = [*of_agents, *(trace for held in places.values() for trace in held), *own]
        if not any(trace.times for trace in found):
            output.line("Nothing that dagentd keeps has this text.")
            return _tell_what_stays(found)
        for trace in found:
            if trace.error is None:
                output.line(f"{trace.path}: {output.counted(trace.times, 'time')}")
        if not yes:
            if not output.can_ask():
                raise InvalidInput("this cannot be undone, and nobody can be asked", hint="Add --yes.")
            output.make_sure("Remove it from all of these for good?")
        if of_agents:
            removing.scrub(kept.following, kept.reading, wanted)
        for trace in own:
            scrubbing.remove(trace.path, wanted)
    for project in (each for each in projects if places[each.root]):
        _scrub_project(project, wanted)
    have_daemon_look()
    output.line("Removed. The agents' own files stay as they are.")
    return _tell_what_stays(found)


def _scrub_project(project: Project, wanted: list[bytes]) -> None:
    """Not on the socket, as `forget` is not. The daemon lets go, and reads it anew."""
    with writer_lock.claimed(project):
        have_daemon_look()
        with oneshot.writing(project, settings_of(project)) as store:
            scrubbing.scrub(store, wanted)


def _is_of_agents(path: Path) -> bool:
    return path.is_relative_to(paths.agents_dir())


def _tell_what_stays(found: list[Trace]) -> int:
    stays = [trace for trace in found if trace.error is not None]
    for trace in stays:
        times = f", {output.counted(trace.times, 'time')}" if trace.times else ""
        output.error(f"{trace.path}: {trace.error}; it stays{times}", "`dagentd forget` removes a whole session.")
    return 1 if stays else 0


def _ask_to_forget(found: list[Path], root: Path) -> None:
    if not output.can_ask():
        raise InvalidInput("this removes a session for good, and nobody can be asked", hint="Add --yes.")
    for path in found:
        output.line(str(path).removeprefix(f"{root}/"))
    output.make_sure("Remove all of these for good?")
