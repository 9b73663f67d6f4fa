"""What the sessions of one project share: where things are kept, how patiently, and whom to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters.temps import Temps
from dagentd.errors import NotAllowed
from dagentd.model.project import Project, SessionFolder
from dagentd.store.actions import Announce
from dagentd.store.index import Index
from dagentd.store.kept import Kept
from dagentd.store.projector import Tended


@dataclass(frozen=True)
class Resources:
    project: Project
    kept: Kept
    temps: Temps
    index: Index
    settle: float  # seconds for which a file that makes no sense must stay as it is
    read_only: bool
    soon: Callable[[Tended], None]  # there is something to write behind the journals
    announce: Announce
    changed: Callable[..., None]  # something was committed to the session that is given

    @property
    def search_file(self) -> Path | None:
        """Where the words of all messages are indexed; None: nowhere but in memory."""
        return self.index.path.with_name("search.sqlite3") if self.index.path else None

    def check_writable(self) -> None:
        if self.read_only:
            raise NotAllowed("is served read-only", path=self.project.root, hint="dagentd status says why.")

    def announce_update(self, folder: SessionFolder, task: object, **fields: Any) -> None:
        self.announce_about(folder, task, "session:updated", **fields)

    def announce_about(self, folder: SessionFolder, task: object, event: str, **fields: Any) -> None:
        self.announce(
            event, project=str(self.project.root), feature_id=folder.feature.id, session_id=folder.id,
            task_id=task if isinstance(task, str) else None, **fields,
        )  # fmt: skip
