"""`dagentd remove`: everything that `init` did is undone, and with `--purge` dagentd leaves for good."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dagentd import paths
from dagentd.adapters import disk, git
from dagentd.cli import hooks, output
from dagentd.cli.life import stop_daemon
from dagentd.cli.registering import follow
from dagentd.cli.service import tell as tell_service
from dagentd.errors import DagentdError, NotFound
from dagentd.jobs import exclude, keeping, leaving
from dagentd.jobs import hooks as hook_job
from dagentd.model.project import Project
from dagentd.store.registry import Registry


@click.command()
@click.argument("where", metavar="[PATH]", default=".", type=click.Path(path_type=Path))
@click.option(
    "--purge",
    is_flag=True,
    help="Delete also journals of sessions whose worktree is gone; and all that is "
    "dagentd's own, if it was the last project: the service, the log, the ledger.",
)
def remove(where: Path, purge: bool) -> int:
    """Stop serving a repository, and undo what `init` did.

    One that is not there any more can be named by the path it had. Session files stay where they are.
    """
    registry = Registry(paths.registry_file())
    project = _named(where, registry)
    if _is_registered(project, registry) or disk.is_missing(project.own_dir):  # else something was left of it
        registry.remove(project)
    output.line(f"{project.root} is no longer registered. Its session files stay where they are.")
    others = [each.project.root for each in registry.projects() if each.project.common_dir == project.common_dir]
    if others:  # a worktree of a repository whose git folder lies elsewhere is a project of its own
        output.line(f"- Its git folder is also that of {others[0]}, so what dagentd has there stays.")
    done = bool(others) or _undo(project)
    served = follow(lambda known: str(project.root) not in known)
    if done and not others and not disk.is_missing(project.common_dir):
        done = _clear_away(project, purge, str(project.root) in served)
    if not registry.projects() and not served:
        _end(purge and done)  # what could not be undone is undone by running it again
    if done:
        output.line("`dagentd init` takes it up again.")
    else:
        output.line("Something of dagentd is left there, as said above: `dagentd remove` can be run again.")
    return 0 if done else 1


def _end(purge: bool) -> None:
    """After the last project."""
    if stop_daemon():
        output.line("- It was the last project: dagentd stopped.")
    if purge:
        report, gone = leaving.leave()
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
