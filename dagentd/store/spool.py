"""The spool: word that git hooks leave, as files whose names say what happened and in which worktree."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dagentd.adapters import git
from dagentd.adapters.files import beneath, disk, fileio
from dagentd.errors import DagentdError
from dagentd.model.project import Project

EVENTS = ("post-commit", "post-checkout", "post-merge", "post-rewrite")
# Names looked at in one go; hooks leave at most four for each worktree. With more, `overflow` says to look everywhere.
_MOST = 10_000
_PROBE = "probe."
_PING = "ping"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Note:
    """`worktree` is None where it cannot be told which: then it may be any."""

    event: str
    worktree: Path | None


class Spool:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._folder = project.spool_dir
        self._told: set[str] = set()

    def make(self) -> None:
        beneath.check_own_folder(self._project, self._folder)
        with disk.explained(self._folder):
            disk.make_folders(self._folder)

    def remove(self) -> None:
        """With all that hooks left; what else somebody put there stays."""
        for name in self._names():
            self._removed(name)
        try:
            disk.remove_folder(self._folder)
        except OSError:
            return

    def count(self) -> int:
        """How many files are there, up to a limit."""
        return len(self._names())

    def take(self) -> list[Note]:
        """All there is, each emptied before it is returned. Nothing is lost by that: a hook runs after the change it
        tells of, so whoever looks at the worktree after this sees the change of a hook that was just writing.
        What is in a file does not matter: its name says all."""
        names = self._names()
        taken = [name for name in names if not name.startswith(_PROBE) and self._took(name)]
        foreign = [name for name in taken if name != _PING and _event(name) not in EVENTS]
        if foreign:
            _log.warning("%s: removed %d files that no hook of ours wrote", self._folder, len(foreign))
        notes = [self._note(name) for name in taken if _event(name) in EVENTS]
        if len(names) == _MOST:
            notes.append(Note("overflow", None))
        return notes

    # --- what `dagentd hooks status` asks --------------------------------------------------------------------

    def expect(self, event: str, worktree: str) -> None:
        """Make room for a probe: hooks write over nothing. `worktree` is its name in the git folder, empty for the
        main one."""
        self._removed(_probe(event, worktree))

    def arrived(self, event: str, worktree: str, token: str) -> bool:
        """Whether a probe left word; it is removed."""
        try:
            beneath.check_own_folder(self._project, self._folder)
            found = fileio.read(self._folder / _probe(event, worktree)).strip() == token.encode()
        except (FileNotFoundError, DagentdError):
            return False
        self._removed(_probe(event, worktree))
        return found

    def ping(self) -> None:
        """Leave a file that means nothing, for a daemon to take."""
        beneath.check_own_folder(self._project, self._folder)
        with disk.explained(self._folder / _PING), contextlib.suppress(FileExistsError):  # one that was never taken
            os.close(disk.create(self._folder / _PING))

    def ping_is_there(self) -> bool:
        return os.path.lexists(self._folder / _PING)

    def withdraw_ping(self) -> bool:
        return self._removed(_PING)

    # --- inside ----------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        if not beneath.is_own_folder(self._project, self._folder):  # what is behind a link is not ours to take
            return []
        try:
            with beneath.entries(self._folder) as entries:
                return [entry.name for entry in islice(entries, _MOST)]
        except OSError:  # not there: then hooks leave no word either
            return []

    def _note(self, name: str) -> Note:
        event, dot, worktree = name.partition(".")
        if not dot:
            return Note(event, self._project.root)
        return Note(event, git.checkout_of(self._project.common_dir, worktree))

    def _took(self, name: str) -> bool:
        """Whether there was word. The file stays, empty: to make a new one for each commit costs a hook up to 1 ms on
        ext4, which looks for an inode that was not freed lately; to write to an empty one costs 0.1 ms."""
        try:
            status = beneath.status(self._folder / name)
        except OSError:
            return False
        if _event(name) not in EVENTS or not stat.S_ISREG(status.st_mode):
            return self._removed(name)
        if self._is_of_no_worktree(name) or status.st_nlink > 1:  # emptied, it would be so under its other name too
            return self._removed(name) and status.st_size > 0
        return status.st_size > 0 and self._emptied(name)

    def _emptied(self, name: str) -> bool:
        """Where the disk does not allow it there is word all the same, and it is found once more the next time."""
        try:
            fd = disk.open_append(self._folder / name)
        except OSError:
            return self._removed(name)
        try:
            with contextlib.suppress(OSError):
                disk.cut(fd, 0, self._folder / name)
        finally:
            os.close(fd)
        return True

    def _is_of_no_worktree(self, name: str) -> bool:
        worktree = name.partition(".")[2]
        return worktree != "" and not os.path.isdir(self._project.common_dir / "worktrees" / worktree)

    def _removed(self, name: str) -> bool:
        """A folder stays, and so does what we may not remove; it is named once."""
        if not beneath.is_own_folder(self._project, self._folder):
            return False
        try:
            disk.remove(self._folder / name)
        except OSError as error:
            if not isinstance(error, FileNotFoundError) and name not in self._told:
                self._told.add(name)
                _log.warning("%s: cannot be removed: %s", self._folder / name, error.strerror)
            return False
        return True


def _probe(event: str, worktree: str) -> str:
    return f"{_PROBE}{event}{'.' if worktree else ''}{worktree}"


def _event(name: str) -> str:
    return name.partition(".")[0]
