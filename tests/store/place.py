"""A project without git's own part, for tests that need many: the store needs its folders only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dagentd.model.project import Project
from dagentd.store.journal.index import Index
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.torture.reader import Files

FEATURE, NESTED, TASK = "feat-login", "feat-nested", "task-1"
PM, PM_NESTED, DEV = f"pm-feature-{FEATURE}", f"pm-feature-{NESTED}", f"dev-task-{FEATURE}-{TASK}-in_dev"


@dataclass(frozen=True)
class Place:
    root: Path

    @property
    def project(self) -> Project:
        return Project(self.root, self.root / ".git")

    @property
    def flat(self) -> Path:
        return self.root / ".dagent-worktrees" / FEATURE / ".dagent"

    @property
    def nested(self) -> Path:
        return self.root / ".dagent" / "features" / NESTED

    @property
    def kept(self) -> Path:
        return self.root / ".git" / "dagentd" / "kept"

    @property
    def pm(self) -> Files:
        return Files(self.flat / "sessions", PM)

    @property
    def pm_nested(self) -> Files:
        return Files(self.nested / "sessions" / PM_NESTED, PM_NESTED)

    @property
    def dev(self) -> Files:
        return Files(self.flat / "sessions", DEV)

    def make(self) -> Place:
        (self.root / ".git").mkdir(parents=True, exist_ok=True)
        for folder, name in ((self.flat, FEATURE), (self.nested, NESTED)):
            folder.mkdir(parents=True)
            (folder / "feature.json").write_text(json.dumps({"id": name, "name": "F", "theirs": [1]}))
        return self

    @contextmanager
    def store(self, settle: float = 0.002) -> Iterator[Store]:
        """Open for the time of a with block; the index is in memory."""
        index = Index(None)
        store = Store(self.project, index, settle=settle)
        try:
            yield store
        finally:
            store.close()
            index.close()

    @contextmanager
    def session(self, settle: float = 0.002) -> Iterator[Session]:
        """The feature's session, made if it is not there."""
        with self.store(settle) as store:
            yield store.maker.get_or_create("feature", "pm", FEATURE)


def said(*ids: str) -> list[dict[str, str]]:
    return [{"id": one, "role": "user", "content": one} for one in ids]
