"""What a command does by itself where no daemon serves the project: the same jobs under the same locks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dagentd import paths
from dagentd.adapters import clock, disk
from dagentd.errors import DagentdError
from dagentd.jobs.reconcile import Report
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.index import Index
from dagentd.store.registry import Registry
from dagentd.store.store import Store

if TYPE_CHECKING:
    from dagentd.jobs.agx import Agx

LOCK_WAIT = 5.0  # seconds that a command waits for a busy project


def once(project: Project, settings: Settings) -> Report:
    """Do everything that is due in one project."""
    from dagentd.jobs import due

    with writing(project, settings) as store:
        report = due.in_project(store, settings)
        paused = store.pauses.of_project() is not None
    return report if paused else Report(report.lines, [*report.problems, *_agx_once(project, settings)])


def _agx_once(project: Project, settings: Settings) -> list[Problem]:
    """What is due in AGX, and what was wrong."""
    if not settings.agx.enabled or not os.path.lexists(project.root / ".agx"):
        return []
    agx = agx_jobs(project.root)
    errors = []
    for act in (agx.settle, agx.check, lambda root: agx.check_all()):
        try:
            act(project.root)
        except DagentdError as error:
            errors.append(error)
    return [Problem.of("agx", error, clock.stamp()) for error in (*errors, *agx.problems())]


def agx_jobs(root: Path | None = None) -> Agx:
    """AGX of the registered projects and of this one."""
    from dagentd import settings as loading
    from dagentd.jobs.agx import Agx

    given = loading.load(paths.config_file()).agx
    roots = {each.project.root for each in Registry(paths.registry_file()).projects()}
    return Agx(lambda: given, lambda: sorted({*roots, root} if root is not None else roots))


@contextlib.contextmanager
def writing(project: Project, settings: Settings) -> Iterator[Store]:
    """The project's store with its lock held; what is behind is written before it is let go."""
    index = Index(index_file())
    try:
        store = Store(project, index, settle=settings.watch.settle_ms / 1000, wait=LOCK_WAIT)
        try:
            yield store
        finally:
            store.close()
    finally:
        index.close()


def index_file() -> Path | None:
    """None, and so an index in memory, where the state folder cannot be made: it is only a cache."""
    try:
        with disk.explained(paths.state_dir()):
            disk.make_folders(paths.state_dir())
    except DagentdError:
        return None
    return paths.index_file()
