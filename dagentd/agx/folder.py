"""Where the files of AGX are in a project."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters.files import atomic, beneath, disk
from dagentd.agx import session_names
from dagentd.errors import NotAllowed, NotFound
from dagentd.model import ids

NAME = ".agx"
_MOST = 10_000  # sessions of one project that are looked at


@dataclass(frozen=True)
class AgxFolder:
    root: Path  # of the project

    @property
    def path(self) -> Path:
        return self.root / NAME

    @property
    def sessions(self) -> Path:
        return self.path / "sessions"

    @property
    def config_file(self) -> Path:
        return self.path / "config.json"

    @property
    def current_file(self) -> Path:
        return self.sessions / ".current"

    @property
    def lock_file(self) -> Path:
        return self.sessions / ".lock"

    @property
    def branch_file(self) -> Path:
        """Which branch was checked out when we last looked: another one since means a checkout."""
        return self.path / ".branch"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def trash(self) -> Path:
        return self.path / "trash"

    def session_file(self, session_id: str) -> Path:
        return self.sessions / f"{session_names.checked(session_id)}.json"

    def is_there(self) -> bool:
        """A project is one of AGX if it has the folder. One that leads elsewhere is an error and not absence."""
        for place in (self.path, self.sessions):
            if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(self.root)):
                raise NotAllowed("leads out of the project", path=place, hint="Replace the link by a folder.")
        return os.path.isdir(self.path)

    def ids(self) -> list[str]:
        """Of the sessions whose files are there."""
        if not self.is_there():
            return []
        try:
            with disk.explained(self.sessions):
                names = beneath.names(self.sessions)
        except NotFound:
            return []
        stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return sorted(stem for stem in stems if ids.is_safe(stem))[:_MOST]

    def make(self) -> None:
        """The folders, and that only the user may look into them."""
        self.is_there()
        make_private(self.path, self.sessions)


def make_private(*folders: Path) -> None:
    for folder in folders:
        with disk.explained(folder):
            if not folder.is_dir():
                with contextlib.suppress(FileExistsError):  # another process that makes it just now
                    disk.make_folder(folder)
            keep_private(folder, 0o700)


def sweep(*folders: Path) -> None:
    """Remove what a process left that died while it wrote: a document that was not yet, or no longer, in place. To be
    called with the lock held under which all in these folders is written."""
    for folder in folders:
        for temp, _ in atomic.left_beside(folder):
            with contextlib.suppress(OSError):
                disk.remove(temp)


def keep_private(path: Path, mode: int) -> None:
    """Close a file or folder to others, if another program left it open to them. One with another owner is left as it
    must be; a file that has another name too is somebody's who may want it read."""
    try:
        status = beneath.status(path)
        shared = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
        if status.st_mode & 0o077 and status.st_uid == os.geteuid() and not (shared or stat.S_ISLNK(status.st_mode)):
            fd = beneath.opened(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                disk.allow(fd, mode, path)
            finally:
                os.close(fd)
    except FileNotFoundError:
        return
