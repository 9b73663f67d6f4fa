"""Which project a command is about, and its sessions opened for reading."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from dagentd import paths, settings
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.errors import DagentdError, NotRunning
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.store import Store

Command = Callable[..., Any]
PATIENCE = 60.0  # seconds for an answer of the daemon
_SOON = 2.0  # seconds for one without which a command does too


def project_option(command: Command) -> Command:
    return click.option(
        "-C", "--project", "where", type=click.Path(exists=True, path_type=Path), default=".", show_default="here",
        help="A path in the repository.",
    )(command)  # fmt: skip


def worktree_option(command: Command) -> Command:
    return click.option("--worktree", help="The worktree, where several have a session of this id.")(command)


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def settings_of(project: Project) -> Settings:
    return settings.load(paths.config_file(), paths.project_config_file(project.root))


@contextlib.contextmanager
def reading(where: Path) -> Iterator[Store]:
    """The project's sessions as they are on disk. Nothing is written and no lock is taken, so this works beside a
    daemon and in a read-only folder."""
    index = Index(None)
    store = Store(git.project_at(where), index, read_only=True)
    try:
        yield store
    finally:
        store.close()
        index.close()


def under_way() -> list[dict[str, str]]:
    """The compactions under way, if a daemon runs that says so: they are nowhere on disk."""
    try:
        with Client(timeout=_SOON) as running:
            return list(running.call("daemon.status").get("compacting", ()))
    except DagentdError:
        return []


@contextlib.contextmanager
def serving(project: Project, timeout: float = PATIENCE) -> Iterator[Client | None]:
    """The daemon, if one runs and writes to this project; None if a command has to do it by itself."""
    try:
        client = Client(timeout=timeout)
    except NotRunning:
        yield None
        return
    with client as running:
        served = [each["root"] for each in running.call("project.list")["projects"] if not each["readOnly"]]
        yield running if str(project.root) in served else None


def tell_problems(problems: list[Problem], project: Project) -> None:
    """Each in one sentence with its file, named from the root of the project, and what to do."""
    for problem in problems:
        output.problem(problem.message, problem.hint, problem.path.removeprefix(f"{project.root}/"))
