"""Kept journals: each journal is also linked into git's common folder, so that it outlives its worktree."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from dagentd.adapters import beneath, disk
from dagentd.errors import told
from dagentd.model import ids
from dagentd.model.project import Project
from dagentd.store import own_folder

_ENTRY = re.compile(r"(.+)\.([0-9]+)\.jsonl")


class Kept:
    """`dagentd/kept/{sid}.{n}.jsonl`; entries are never replaced."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.folder = project.kept_dir

    def make(self) -> None:
        for folder in (self.folder.parent, self.folder):
            if not folder.is_dir():
                disk.make_folder(folder)

    def all(self) -> dict[str, list[Path]]:
        """The entries of every session, oldest first."""
        matches = [match for name in self._names() if (match := _ENTRY.fullmatch(name))]
        found: dict[str, list[Path]] = {}
        for match in sorted(matches, key=lambda match: (match[1], int(match[2]))):
            if ids.is_safe(match[1]):
                found.setdefault(match[1], []).append(self.folder / match[0])
        return found

    def of(self, session_id: str) -> list[Path]:
        """The entries of one session, oldest first."""
        pattern = re.compile(re.escape(session_id) + r"\.([0-9]+)\.jsonl")
        matches = [match for name in self._names() if (match := pattern.fullmatch(name))]
        return [self.folder / match[0] for match in sorted(matches, key=lambda match: int(match[1]))]

    def _names(self) -> list[str]:
        """What is behind a link was not kept by us."""
        if not own_folder.is_own(self._project, self.folder):
            return []
        try:
            return beneath.names(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise told(error, self.folder) from error

    def free(self, session_id: str) -> Path:
        held = self.of(session_id)
        last = int(held[-1].name.rsplit(".", 2)[1]) if held else 0
        return self.folder / f"{session_id}.{last + 1}.jsonl"

    def with_inode(self, session_id: str, status: os.stat_result) -> Path | None:
        return next((path for path in self.of(session_id) if os.path.samestat(beneath.status(path), status)), None)

    def keep(self, session_id: str, journal: Path) -> Path | None:
        """Make sure that this journal's file is kept; None where the file system cannot link it there."""
        held = self.with_inode(session_id, beneath.status(journal))
        if held is not None:
            return held
        self.make()
        target = self.free(session_id)
        try:
            disk.link(journal, target)
        except OSError as error:
            if error.errno == errno.ELOOP:  # it was behind a link at that moment
                raise
            return None
        disk.sync_folder(self.folder)
        return target
