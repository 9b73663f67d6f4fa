"""A store with one session open, and what is on disk of that session, read without dagentd's own code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dagentd.adapters import git
from dagentd.model.project import SessionFolder
from dagentd.store.journal.index import Index
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.store.app import App

SETTLE = 0.02


class Served:
    """Opened when made; `again` closes and opens, as a restart of the daemon does."""

    def __init__(self, worktree: Path, feature: str, index: Path | None, settle: float = SETTLE) -> None:
        self.worktree, self.feature, self.settle = worktree, feature, settle
        self.index_file = index
        self.project = git.project_at(worktree)
        self._open = False
        self.open()
        folder = self.session.folder
        self.folder: SessionFolder = folder
        self.journal = folder.journal
        self.app = App({name: folder.document(name) for name in ("chat", "checkpoint", "session")})
        self.flush()

    def open(self) -> None:
        self._index = Index(self.index_file)
        self.store = Store(self.project, self._index, settle=self.settle)
        self._open = True
        self.session: Session = self.store.maker.get_or_create("feature", "pm", self.feature)

    def close(self) -> None:
        if self._open:
            self._open = False
            self.store.close()
            self._index.close()

    def again(self) -> None:
        self.close()
        self.open()
        self.flush()

    # --- doing ----------------------------------------------------------------------------------------------

    def add(self, *ids: str) -> None:
        """Ours, and in chat on disk when this returns."""
        self.session.add([{"id": one, "role": "user", "content": f"text of {one}"} for one in ids])
        self.flush()

    def flush(self) -> None:
        """Look at the files and write what is behind, now."""
        self.session.reconcile()

    # --- looking --------------------------------------------------------------------------------------------

    @property
    def kept(self) -> list[Path]:
        return sorted(self.project.kept_dir.glob(f"{self.session.id}.*.jsonl"))

    def records(self, *kinds: str, path: Path | None = None) -> list[dict[str, Any]]:
        """The records of the journal, those of some kinds if any are given; lines that are none are left out."""
        found = []
        for line in (path or self.journal).read_bytes().split(b"\n")[:-1]:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and (not kinds or record.get("t") in kinds):
                found.append(record)
        return found

    def written(self, path: Path | None = None) -> list[str]:
        """The ids of all message records, as often as they are in the journal."""
        return [record["message"]["id"] for record in self.records("message", path=path)]

    def shown(self) -> list[str]:
        """The ids in chat on disk."""
        return [message["id"] for message in self.app.read()["messages"]]

    def known(self) -> list[str]:
        """The ids in chat as dagentd answers them."""
        return [message["id"] for message in self.session.chat()]

    def all(self) -> list[str]:
        """The ids of every message ever seen, in order."""
        return [message["id"] for message in self.session.history(limit=1 << 30)[0]]

    def problems(self) -> set[str]:
        return {problem.id for problem in self.session.problems}
