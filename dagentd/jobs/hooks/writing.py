"""Changing hook files: whole, runnable from their first moment, and never over another program's change."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters import disk, files, publishing
from dagentd.adapters.temps import Temps
from dagentd.errors import Conflict, DagentdError

_TEMPS = Temps()


@dataclass(frozen=True)
class Change:
    """None is no file. `folder`: one that is missing is made, one that is left empty goes."""

    before: bytes | None
    after: bytes | None
    folder: bool = False


def apply(changes: Mapping[Path, Change]) -> dict[Path, DagentdError]:
    """What could not be done, and why; the rest is done."""
    failed: dict[Path, DagentdError] = {}
    for path, change in changes.items():
        try:
            with disk.explained(path):
                _apply(path, change)
        except publishing.Changed:
            failed[path] = Conflict("was changed by another program meanwhile", path=path, hint="Try again.")
        except DagentdError as error:
            failed[path] = error
    return failed


def _apply(path: Path, change: Change) -> None:
    if change.after is None:
        disk.remove(path)
        with contextlib.suppress(OSError):
            if change.folder:
                disk.remove_folder(path.parent)
    elif change.before is None:
        if not path.parent.is_dir():
            _make_folder(path.parent)
        _create_executable(path, change.after)
    else:
        done = publishing.publish(path, [change.after], expect=files.digest(change.before), sync=True)
        if done.replaced is not None:
            done.replaced.close()


def _make_folder(folder: Path) -> None:
    """As open as the one it is in: where git may not look into it, it prints that the hook is ignored."""
    disk.make_folder(folder)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        disk.allow(fd, folder.parent.stat().st_mode & 0o777, folder)
    finally:
        os.close(fd)


def _create_executable(path: Path, data: bytes) -> None:
    """A new file that can be run from its first moment on: git prints a hint about one that cannot."""
    temp, fd = _TEMPS.create(path)
    try:
        disk.write(fd, data, temp)
        disk.allow(fd, 0o755, temp)
        disk.sync(fd, temp)
        disk.rename_new(temp, path)
    except FileExistsError:
        raise publishing.Changed(path) from None
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):  # it is not there any more, or the disk is what failed before
            disk.remove(temp)
    disk.sync_folder(path.parent)
