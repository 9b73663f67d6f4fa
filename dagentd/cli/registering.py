"""`dagentd init`, `remove`, `projects`: which repositories the daemon serves."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dagentd import paths
from dagentd.adapters import disk, git
from dagentd.cli import hooks, output
from dagentd.cli.life import ensure_running, stop_daemon
from dagentd.cli.output import Column
from dagentd.cli.project import json_option
from dagentd.errors import DagentdError, Unreachable
from dagentd.jobs import exclude, keeping
from dagentd.jobs import hooks as hook_job
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.store.registry import Registry

_WAIT = 3.0  # seconds for the daemon to follow
_here = click.argument("where", metavar="[PATH]", default=".", type=click.Path(exists=True, path_type=Path))
_once_here = click.argument("where", metavar="[PATH]", default=".", type=click.Path(path_type=Path))


@click.command()
@_here
def init(where: Path) -> int:
    """Have the daemon serve a repository from now on."""
    project = git.project_at(where)
    with disk.explained(exclude.file_of(project)):
        added = exclude.add(project)
    Registry(paths.registry_file()).add(project)
    output.line(f"{project.root} is registered; `dagentd remove` undoes all of this.")
    if added:
        output.line(f"- git leaves {', '.join(added)} out ({exclude.file_of(project)}).")
    _install_hooks(project)
    output.line(f"- {ensure_running()}")
    if str(project.root) not in _follow(lambda known: str(project.root) in known):
        output.line("- It does not serve it yet: it was started for other projects. `dagentd restart` changes that.")
    return 0


@click.command()
@_once_here
@click.option("--purge", is_flag=True, help="Delete also what was kept of sessions whose worktree is gone.")
def remove(where: Path, purge: bool) -> int:
    """Stop serving a repository, and undo what `init` did.

    One that is not there any more can be named by the path it had. Session files stay where they are.
    """
    registry = Registry(paths.registry_file())
    project = _named(where, registry)
    if _is_registered(project, registry) or not project.own_dir.is_dir():  # else something was left of it
        registry.remove(project)
    output.line(f"{project.root} is no longer served. Its session files stay where they are.")
    others = [each.project.root for each in registry.projects() if each.project.common_dir == project.common_dir]
    if others:  # a worktree of a repository whose git folder lies elsewhere is a project of its own
        output.line(f"- Its git folder is also that of {others[0]}, so what dagentd has there stays.")
    done = bool(others) or _undo(project)
    served = _follow(lambda known: str(project.root) not in known)
    if done and not others and project.common_dir.is_dir():
        done = _clear_away(project, purge, str(project.root) in served)
    if not registry.projects() and not served and stop_daemon():
        output.line("It was the last project: dagentd stopped.")
    if not done:
        output.line("Something of dagentd is left there, as said above: `dagentd remove` can be run again.")
    return 0 if done else 1


def _is_registered(project: Project, registry: Registry) -> bool:
    return any(each.project.root == project.root for each in registry.projects())


def _undo(project: Project) -> bool:
    """Whether git is as it was."""
    included = _include(project)
    return (not project.common_dir.is_dir() or _uninstall_hooks(project)) and included


def _clear_away(project: Project, purge: bool, served: bool) -> bool:
    """Whether all is gone that should be."""
    if served:
        output.line("- The running daemon was told to serve it all the same, so what it keeps in git's folder stays.")
        return True
    try:
        stay = keeping.clear_away(project, purge=purge)
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


def _install_hooks(project: Project) -> None:
    """That there are none is a note: the git folders are watched too."""
    try:
        hooks.tell_installed(hook_job.install(project))
    except DagentdError as error:
        output.line(f"- No git hooks: {error}. {error.hint}")


def _uninstall_hooks(project: Project) -> bool:
    """Whether all are gone."""
    report = hook_job.uninstall(project)
    hooks.tell_uninstalled(report)
    return not report.failed


def _named(where: Path, registry: Registry) -> Project:
    path = Path(os.path.realpath(where))
    known = next((each.project for each in registry.projects() if each.project.root == path), None)
    return known or git.project_at(where)


def _follow(done: Callable[[set[str]], bool]) -> set[str]:
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
    columns = [Column("project", style="cyan", wrap=True), Column("registered"), Column("")]
    output.table(columns, rows, empty="No projects: add one with `dagentd init PATH`.")


def _state(root: Path) -> str:
    return "" if root.is_dir() else "not there; if it was moved, run `dagentd init` in its new place"
