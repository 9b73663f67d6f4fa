"""`dagentd init`, `projects` and `remove`: which repositories the daemon serves."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from dagentd import paths
from dagentd.adapters import git
from dagentd.adapters.files import disk
from dagentd.agents import connecting, removing
from dagentd.cli import hooks, output
from dagentd.cli.life import ensure_running, stop_daemon
from dagentd.cli.output import Column
from dagentd.cli.project import how_to_begin, json_option, kept_conversations, reading, settings_of, there
from dagentd.cli.service import tell as tell_service
from dagentd.cli.sessions import print_gone
from dagentd.cli.verbs import asking, have_daemon_look
from dagentd.errors import DagentdError, InvalidInput, NotFound, Unreachable
from dagentd.jobs import exclude, retention, user_service
from dagentd.jobs import hooks as hook_job
from dagentd.model import oneline
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.store.registry import Registry

# `dagentd init`, `projects`: which repositories the daemon serves.

_TITLE = 60
_WAIT = 3.0  # seconds for the daemon to follow


@click.command()
@click.argument("where", metavar="[PATH]", default=".", type=click.Path(exists=True, path_type=Path))
def init(where: Path) -> int:
    """Have the daemon serve a repository from now on."""
    project = git.project_at(where)
    _register(project)
    output.line(f"{project.root} is registered, in {paths.registry_file()}.")
    output.line(f"- git leaves {_listed(exclude.PATTERNS)} out of commits: lines in {exclude.file_of(project)}.")
    _install_hooks(project)
    output.line(f"- {ensure_running()} `dagentd stop` stops it.")
    if str(project.root) not in follow(lambda known: str(project.root) in known):
        output.line("- It does not serve it yet: it was started for other projects. `dagentd restart` changes that.")
    agents = _tell_conversations(project)
    output.line(f"`dagentd remove{there(project.root)}` undoes all of this; session files stay where they are.")
    output.line(f"Next: {_next(project, agents)}")
    return 0


def _next(project: Project, agents: list[str]) -> str:
    """`agents` have conversations here, which may not be taken in yet."""
    with asking(project.root) as verbs:
        if not agents and not verbs.call("session.list")["sessions"]:
            return f"there is no session here yet. {how_to_begin(project.root, verbs.call)}"
    listed = f"`dagentd sessions{there(project.root)}` lists the sessions"
    with contextlib.suppress(DagentdError):  # which are connected cannot be read: `dagentd agents` says why
        connected = {each.agent for each in connecting.connections()}
        if asked := ", ".join(f"`dagentd connect {each}`" for each in agents if each not in connected):
            told = "what matters in them is told to the next ones"
            return f"{listed}; {asked}: {told}."
    return f"{listed}, `dagentd status` says how dagentd is."


def _tell_conversations(project: Project) -> list[str]:
    """Say which conversations other agents have had here, which are kept from now on; of which agents."""
    try:
        with kept_conversations() as kept:
            found = kept.following.conversations_in(str(project.root))
    except DagentdError as error:
        output.line(f"- Conversations of other agents: {error}. {error.hint}")
        return []
    for each in found:
        since = time.strftime("%B %Y", time.localtime(each.oldest))
        worktrees, count = output.counted(each.worktrees, "worktree"), output.counted(each.count, "conversation")
        now = "all of them kept" if each.kept == each.count else "taken in now in the background"
        told = f"{count} since {since} in {worktrees}, {output.size(each.bytes)}, {now}"
        output.line(f"- {each.agent.title}: {told}; off by `dagentd agents ignore {each.agent.name}`.")
    return [each.agent.name for each in found]


def _register(project: Project) -> None:
    """Both or none: without a home there is no registry."""
    registry = Registry(paths.registry_file())
    with disk.explained(exclude.file_of(project)):
        exclude.add(project)
    try:
        registry.add(project)
    except BaseException:
        exclude.remove(project)
        raise


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _install_hooks(project: Project) -> None:
    """That there are none is a note: the git folders are watched too."""
    try:
        hooks.tell_installed(hook_job.install(project))
    except DagentdError as error:
        output.line(f"- No git hooks: {error}. {error.hint}")


def follow(done: Callable[[set[str]], bool]) -> set[str]:
    """Have a running daemon read the registry now, and wait until it has; the projects it knows then."""
    known: set[str] = set()
    end = time.monotonic() + _WAIT
    with contextlib.suppress(Unreachable, ProcessLookupError), Client() as daemon:
        os.kill(daemon.call("daemon.status")["pid"], signal.SIGHUP)
        while time.monotonic() < end and not done(known := _known(daemon.call("daemon.status"))):
            time.sleep(0.02)
    return known


def _known(status: dict[str, Any]) -> set[str]:
    """Served, or not to be served for a reason that `dagentd status` tells."""
    troubled = {each["path"] for each in status["problems"] if each["id"] == "project"}
    return troubled | {each["root"] for each in status["projects"]}


@click.command()
@json_option
def projects(as_json: bool) -> None:
    """List the registered repositories."""
    found = Registry(paths.registry_file()).projects()
    if as_json:
        output.print_json({"projects": [each.raw() for each in found]})
        return
    rows = [(each.project.root, output.ago(each.added_at), _state(each.project.root)) for each in found]
    columns = [Column("project", style="cyan", wrap=True), Column("registered"), Column("is")]
    output.table(columns, rows, empty="No projects: add one with `dagentd init PATH`.")


def _state(root: Path) -> str:
    if os.path.isdir(root):
        return "there"
    moved = "not there; if it was moved, run `dagentd init` where it is now"
    return moved if disk.is_missing(root) else "closed to you; `dagentd doctor` says why"


# `dagentd remove`: everything that `init` did is undone, and with `--purge` dagentd leaves for good.


@click.command()
@click.argument("where", metavar="[PATH]", default=".", type=click.Path(path_type=Path))
@click.option(
    "--purge",
    is_flag=True,
    help="Delete also journals of sessions whose worktree is gone, and what is kept of other agents' conversations; "
    "and all that is dagentd's own, if it was the last project: the service, the log, the ledger.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(where: Path, purge: bool, yes: bool) -> int:
    """Stop serving a repository, and undo what `init` did.

    One that is not there any more can be named by the path it had. Session files stay where they are. Before --purge
    deletes the only copy of a conversation, it names it and asks.
    """
    registry = Registry(paths.registry_file())
    project = _named(where, registry)
    if purge and not yes:
        _ask_to_purge(_conversations(project), _gone(project))
    if _is_registered(project, registry) or disk.is_missing(project.own_dir):  # else something was left of it
        registry.remove(project)
    output.line(f"{project.root} is no longer registered. Its session files stay where they are.")
    others = [each.project.root for each in registry.projects() if each.project.common_dir == project.common_dir]
    if others:  # a worktree of a repository whose git folder lies elsewhere is a project of its own
        output.line(f"- Its git folder is also that of {others[0]}, so what dagentd has there stays.")
    if (project.root / ".agx").is_dir():
        output.line(f"- AGX sessions stay too, in {project.root / '.agx'}: they are yours.")
    done = bool(others) or _undo(project)
    served = follow(lambda known: str(project.root) not in known)
    if done and not others and not disk.is_missing(project.common_dir):
        done = _clear_away(project, purge, str(project.root) in served)
    last = not registry.projects() and not served
    if last and stop_daemon():  # first, for it may still take in what is deleted then
        output.line("- It was the last project: dagentd stopped.")
    _leave_conversations(project, purge)
    if last and purge and done:  # what could not be undone is undone by running it again
        _leave()
    if done:
        output.line(f"`dagentd init{there(project.root)}` takes it up again.")
    else:
        output.line("Something of dagentd is left there, as said above: `dagentd remove` can be run again.")
    return 0 if done else 1


def _gone(project: Project) -> list[dict[str, Any]]:
    """Sessions of which there is nothing but what was kept."""
    if disk.is_missing(project.kept_dir):
        return []
    with reading(project.root) as store:
        return retention.gone_sessions(store, settings_of(project))


def _conversations(project: Project) -> list[dict[str, Any]]:
    """Those that are kept of other agents."""
    with kept_conversations() as kept:
        return kept.sessions.listed(roots={str(project.root)})


def _ask_to_purge(found: list[dict[str, Any]], gone: list[dict[str, Any]]) -> None:
    if gone:
        print_gone(gone)
    only = [each for each in found if each["transcript"] == "deleted"]
    if only:
        columns = [Column("kept nowhere else", style="cyan"), Column("title", wrap=True), Column("last active")]
        output.table(columns, [(each["id"], oneline.cut(output.clean(each["title"] or ""), _TITLE),
                                output.ago(each["lastActiveAt"])) for each in only])  # fmt: skip
    lost = f"the only copy of {output.counted(len(gone), 'conversation')} whose worktree is gone"
    kept = f"what is kept of {output.counted(len(found), 'conversation')} of other agents"
    kept += f", {len(only)} of them nowhere else" if only else ""
    what = " and ".join([lost] * bool(gone) + [kept] * bool(found))
    if what and not output.can_ask():
        raise InvalidInput(f"this deletes {what}, and nobody can be asked", hint="Add --yes.")
    if what:
        output.make_sure(f"Delete {what}?")


def _leave_conversations(project: Project, purge: bool) -> None:
    with kept_conversations() as kept:
        found = all_found = kept.sessions.listed(roots={str(project.root)})
        while purge and found:  # and what was being taken in meanwhile
            kept.purge([each["id"] for each in found])
            found = kept.sessions.listed(roots={str(project.root)})
            all_found = [*all_found, *found]
    count = output.counted(len(all_found), "conversation")
    if all_found and purge:
        have_daemon_look()
        output.line(f"- {count} of other agents deleted; the agents' own files stay.")
    elif all_found:
        output.line(f"- {count} of other agents stay in {paths.agents_dir()}; `dagentd remove --purge` deletes them.")


def _leave() -> None:
    """After the last project."""
    for each in connecting.connections():
        connecting.disconnect(each)
        output.line(f"- {each.agent} is no longer connected: its entries are out of {each.settings[0]}.")
    removing.leave(paths.agents_dir())
    report, gone = user_service.leave()
    tell_service(report)
    state = paths.state_dir()
    output.line(f"removed {state}" if gone else f"- What is left in {state} is not dagentd's.")
    if paths.config_file().exists():
        output.line(f"- Your settings stay: {paths.config_file()}")


def _is_registered(project: Project, registry: Registry) -> bool:
    return any(each.project.root == project.root for each in registry.projects())


def _undo(project: Project) -> bool:
    """Whether git is as it was."""
    included = _include(project)
    return (disk.is_missing(project.common_dir) or _uninstall_hooks(project)) and included


def _clear_away(project: Project, purge: bool, served: bool) -> bool:
    """Whether all is gone that should be."""
    if served:
        output.line("- The running daemon was told to serve it all the same, so what it keeps in git's folder stays.")
        return True
    try:
        stay = retention.clear_away(project, purge=purge)
    except DagentdError as error:
        output.line(f"- Kept journals stay: {error}. {error.hint}")
        return False
    if stay:
        output.line(f"- Of sessions whose worktree is gone, {len(stay)} stay in {project.kept_dir}:")
        output.line("  `dagentd sessions --gone` lists them, `dagentd remove --purge` deletes them.")
    return True


def _include(project: Project) -> bool:
    """Whether git leaves nothing out any more because of us."""
    try:
        with disk.explained(exclude.file_of(project)):
            exclude.remove(project)
    except DagentdError as error:
        output.line(f"- {error}. {error.hint}")
        return False
    return True


def _uninstall_hooks(project: Project) -> bool:
    """Whether all are gone."""
    try:
        with disk.explained(project.common_dir):
            report = hook_job.uninstall(project)
    except DagentdError as error:
        output.line(f"- Hooks may be left: {error}. {error.hint}")
        return False
    hooks.tell_uninstalled(report)
    return not report.failed


def _named(where: Path, registry: Registry) -> Project:
    path = Path(os.path.realpath(where))
    known = next((each.project for each in registry.projects() if each.project.root == path), None)
    try:
        return known or git.project_at(where)
    except NotFound as error:
        raise NotFound(f"{error.message}, and not registered", path=error.path, hint="dagentd projects") from None
