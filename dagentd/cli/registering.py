"""`dagentd init`, `projects`: which repositories the daemon serves."""

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
from dagentd.adapters import disk, git
from dagentd.cli import hooks, output
from dagentd.cli.life import ensure_running
from dagentd.cli.output import Column
from dagentd.cli.project import json_option
from dagentd.errors import DagentdError, Unreachable
from dagentd.jobs import exclude
from dagentd.jobs import hooks as hook_job
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.store.registry import Registry

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
    output.line("`dagentd remove` undoes all of this; session files stay where they are.")
    output.line("Next: `dagentd sessions` lists the sessions here, `dagentd status` says how dagentd is.")
    return 0


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
