"""Which project a command is about, and its sessions opened for reading."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from dagentd import paths, settings
from dagentd.adapters import git
from dagentd.errors import NotRunning
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.store import Store

Command = Callable[..., Any]
PATIENCE = 60.0  # seconds for an answer of the daemon


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
