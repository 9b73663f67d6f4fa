"""One writer per project: a lock in git's common folder, whoever and wherever the other one is."""

from __future__ import annotations

import time

from dagentd.adapters import disk
from dagentd.adapters.lock import Lock, attempt, holder
from dagentd.errors import Conflict
from dagentd.model.project import Project


def take(project: Project, wait: float = 0.0) -> Lock:
    """The project's lock; Conflict naming the holder if it stays busy."""
    path = project.lock_file
    deadline = time.monotonic() + wait
    with disk.explained(path):
        if not project.own_dir.is_dir():
            disk.make_folder(project.own_dir)
        while (lock := attempt(path)) is None:
            if time.monotonic() >= deadline:
                raise Conflict(f"{holder(path)} is writing to this project", path=path, hint="dagentd status")
            time.sleep(0.05)
    return lock
