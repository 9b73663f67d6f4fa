"""One writer per project: a lock in git's common folder, whoever and wherever the other one is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from dagentd.adapters.files import beneath, disk
from dagentd.adapters.files.flock import Lock, attempt, holder, is_held
from dagentd.errors import Conflict
from dagentd.model.project import Project


def take(project: Project, wait: float = 0.0) -> Lock:
    """The project's lock; Conflict naming the holder if it stays busy."""
    path = project.lock_file
    for folder in (project.kept_dir, project.temp_dir, project.spool_dir):
        beneath.check_own_folder(project, folder)
    deadline = time.monotonic() + wait
    with disk.explained(path):
        if not project.own_dir.is_dir():
            disk.make_folder(project.own_dir)
        while (lock := attempt(path)) is None:
            if time.monotonic() >= deadline:
                raise Conflict(f"{holder(path)} is writing to this project", path=path, hint="dagentd status")
            time.sleep(0.05)
    return lock


@contextlib.contextmanager
def claimed(project: Project) -> Iterator[None]:
    """While this lasts, a daemon that holds the project's lock lets go of it as soon as it looks, and takes it again
    afterwards: for what is not to be asked for on the socket. If we die, the claim ends with us."""
    path = _claim(project)
    beneath.check_own_folder(project, project.own_dir)
    with disk.explained(path):
        if not project.own_dir.is_dir():
            disk.make_folder(project.own_dir)
        held = attempt(path)
    if held is None:
        raise Conflict(f"{holder(path)} wants the project for itself", path=path, hint="Try again when it has ended.")
    try:
        yield
    finally:
        held.release()


def is_claimed(project: Project) -> bool:
    return is_held(_claim(project))


def _claim(project: Project) -> Path:
    return project.own_dir / "lock.wanted"
