"""Uninstalling what dagentd has for a user beside any project, when the last project is removed for good."""

from __future__ import annotations

import stat
from pathlib import Path

from dagentd import paths
from dagentd.adapters.files import disk, flock
from dagentd.jobs import user_service


def leave() -> tuple[user_service.Report, bool]:
    """Take the service away and clear the state folder: registry, log, ledger, indexes. Settings are the user's own
    and stay. What was done, and whether the state folder is gone."""
    manager = user_service.manager()
    report = user_service.apply(user_service.plan_uninstall(manager, user_service.present(manager)), manager)
    held = flock.single_instance()  # no daemon starts meanwhile
    try:
        _remove_files(paths.state_dir(), keep=held.path)
        disk.remove(held.path)
    finally:
        held.release()
    if (own := paths.socket_dir()) and own.is_dir():
        _remove_empty(own)
    return report, _remove_empty(paths.state_dir())


def _remove_files(folder: Path, keep: Path) -> None:
    """Folders and links are none of ours."""
    with disk.explained(folder):
        for path in folder.iterdir():
            mode = path.lstat().st_mode
            if path != keep and (stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
                disk.remove(path)


def _remove_empty(folder: Path) -> bool:
    with disk.explained(folder):
        if any(folder.iterdir()):
            return False
        disk.remove_folder(folder)
    return True
