"""A project whose contexts are rebuilt, and what of it is written."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters.files import disk
from dagentd.adapters.git import project_at
from dagentd.jobs.context import Rebuilt, rebuild
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store

NODES: list[dict[str, Any]] = [
    {"id": "t1", "title": "Types", "status": "completed"},
    {"id": "t2", "title": "OAuth\nflow", "status": "in_dev", "dependencies": ["t0"]},
    {"id": "t3", "title": "Cookie", "status": "odd"},
]
DAG = {"nodes": NODES, "connections": [{"from": "t1", "to": "t2"}, {"from": "t2", "to": "t3"}]}


class Contexts:
    def __init__(self, root: Path, settings: Settings | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.store = Store(project_at(root), Index(None), settle=0.01, announce=self._heard)
        self.settings = settings or Settings()
        self.shared = Checkouts()

    def _heard(self, type: str, **fields: Any) -> None:
        if fields.get("action") == "context":
            self.events.append({"type": type, **fields})

    def feature(self, name: str) -> FeatureFolder:
        return self.store.catalogue.feature(name)

    def session(self, feature: str, task: str | None = None, agent: str = "dev", state: str = "in_dev") -> Path:
        """Make a session; where its context is."""
        if task is None:
            session = self.store.maker.get_or_create("feature", "pm", feature)
        else:
            session = self.store.maker.get_or_create("task", agent, feature, task, state)
        session.leave()
        return session.folder.document("context")

    def rebuild(self, feature: str, **more: Any) -> Rebuilt:
        return rebuild(self.store, self.feature(feature), self.settings, self.shared, **more)

    def written(self, feature: str, **more: Any) -> list[str]:
        rebuilt = self.rebuild(feature, **more)
        assert rebuilt.errors == ()
        return [folder.id for folder in rebuilt.written]

    def document(self, feature: str) -> dict[str, Any]:
        """The rebuilt context of a feature's own session."""
        path = self.session(feature)
        assert self.rebuild(feature).errors == ()
        return read(path)


class Steps:
    """Counts what this thread changes on the disk: behind it a store still tidies up after a session, later if busy."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[str, Path]] = []
        self._thread = threading.get_ident()
        monkeypatch.setattr(disk, "step", self._step)

    def _step(self, what: str, path: Path) -> None:
        if threading.get_ident() == self._thread:
            self.seen.append((what, Path(path)))

    def taken(self) -> list[tuple[str, Path]]:
        """Since it was last asked."""
        seen, self.seen = self.seen, []
        return seen


def read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def write_json(path: Path, raw: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw), encoding="utf-8")
