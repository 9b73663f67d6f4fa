"""Sessions archive themselves when their feature or task ends: at that end, and not again and again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import git
from dagentd.jobs.archive import End, archive_ended, plan
from dagentd.model import times
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.settings.tables import Archive
from dagentd.store.journal.index import Index
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from tests.conftest import SampleProject

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
END = End("feature completed", NOON)


@pytest.mark.parametrize(
    ("end", "session", "active", "expected"),
    [
        (None, {"status": "active"}, NOON, {}),
        (END, {"status": "active"}, NOON, {"status": "archived", "archivedFor": "feature completed"}),
        (END, {"status": "active"}, None, {"status": "archived", "archivedFor": "feature completed"}),
        (END, {"status": "active"}, NOON + timedelta(seconds=1), {"archivedFor": "feature completed"}),
        (END, {"status": "archived"}, NOON, {"archivedFor": "feature completed"}),
        (END, {"status": "active", "archivedFor": "feature completed"}, NOON, {}),
        (END, {"status": "active", "archivedFor": "task merged"}, NOON,
         {"status": "archived", "archivedFor": "feature completed"}),
        (None, {"status": "active", "archivedFor": "feature completed"}, NOON, {"archivedFor": None}),
    ],
)  # fmt: skip
def test_plan(end: End | None, session: dict[str, Any], active: datetime | None, expected: dict[str, Any]) -> None:
    assert plan(end, session, active) == expected


class Work:
    """A feature with a session of its own and one of a task, and the app that ends them."""

    def __init__(self, project: SampleProject) -> None:
        self.dagent = project.dagent
        self.index = Index(None)
        self.store = Store(git.project_at(project.root), self.index)
        self.pm = self.store.maker.get_or_create("feature", "pm", project.feature)
        self.dev = self.store.maker.get_or_create("task", "dev", project.feature, "t1", "in_dev")
        self.say(self.pm)
        self.say(self.dev)

    @property
    def feature(self) -> FeatureFolder:
        return self.pm.folder.feature

    def say(self, session: Session) -> None:
        session.add([{"role": "user", "content": "x"}])

    def write(self, name: str, ahead: float = 60, **fields: Any) -> None:
        """As the app does: a minute later, if not said otherwise."""
        path = self.dagent / name
        raw = json.loads(path.read_bytes()) if path.exists() else {}
        at = times.iso(datetime.now(UTC) + timedelta(seconds=ahead))
        path.write_text(json.dumps({**raw, **fields, "updatedAt": at}))

    def look(self, auto: bool = True) -> list[str]:
        """What one look archives."""
        return archive_ended(self.store, self.feature, Settings(archive=Archive(auto=auto)))

    def statuses(self) -> tuple[Any, Any]:
        return self.pm.fields["status"], self.dev.fields["status"]


@pytest.fixture
def work(project: SampleProject) -> Iterator[Work]:
    made = Work(project)
    yield made
    made.store.close()
    made.index.close()


def test_nothing_ends(work: Work) -> None:
    assert work.look() == [] and work.statuses() == ("active", "active")


@pytest.mark.parametrize("status", ["completed", "archived"])
def test_a_feature_ends_and_with_it_its_tasks(work: Work, status: str) -> None:
    work.write("feature.json", status=status)
    assert work.look() == [work.dev.id, work.pm.id] and work.statuses() == ("archived", "archived")
    assert work.look() == []


@pytest.mark.parametrize("status", ["completed", "merged"])
@pytest.mark.parametrize("where", ["task.json", "dag.json"])
def test_a_task_ends(work: Work, status: str, where: str) -> None:
    if where == "task.json":
        work.write("nodes/t1/task.json", status=status)
    else:
        work.write("dag.json", nodes=[{"id": "t1", "status": status}, {"id": "t2", "status": "merged"}])
        os.utime(work.dagent / "dag.json", (2e9, 2e9))
    assert work.look() == [work.dev.id] and work.statuses() == ("active", "archived")


@pytest.mark.parametrize("status", ["in_progress", "done", "backlog", None, ["completed"]])
def test_other_words_end_nothing(work: Work, status: object) -> None:
    work.write("feature.json", status=status)
    work.write("nodes/t1/task.json", status=status)
    assert work.look() == []


def test_one_who_goes_on_after_the_end_is_left_alone(work: Work) -> None:
    work.write("feature.json", status="completed")
    work.look()
    work.say(work.pm)
    work.store.maker.get_or_create("task", "dev", work.feature.id, "t1", "in_dev").leave()
    for _ in range(3):
        assert work.look() == [] and work.statuses() == ("active", "active")
    work.write("feature.json", status="completed", title="Renamed")
    assert work.look() == []


def test_also_after_a_restart(work: Work, project: SampleProject) -> None:
    work.write("feature.json", status="completed")
    work.look()
    work.say(work.pm)
    work.store.close()
    again = Work.__new__(Work)
    again.index, again.dagent = Index(None), project.dagent
    again.store = Store(git.project_at(project.root), again.index)
    again.pm = again.store.session(work.pm.id)
    try:
        assert again.look() == [] and again.pm.fields["status"] == "active"
    finally:
        again.store.close()
        again.index.close()


def test_a_session_that_began_after_the_end_is_left_alone(work: Work) -> None:
    work.write("feature.json", status="completed", ahead=-60)
    assert work.look() == [] and work.statuses() == ("active", "active")
    assert work.store.maker.get_or_create("feature", "qa", work.feature.id).fields["status"] == "active"
    assert work.look() == []


def test_the_next_end_counts_again(work: Work) -> None:
    work.write("feature.json", status="completed")
    work.look()
    work.say(work.pm)
    work.write("feature.json", status="in_progress")
    assert work.look() == []
    work.write("feature.json", status="completed")
    assert work.look() == [work.pm.id]


def test_one_archived_by_hand_is_not_archived_again_when_it_is_used(work: Work) -> None:
    work.pm.archive()
    work.write("feature.json", status="completed")
    work.look()
    work.store.maker.get_or_create("feature", "pm", work.feature.id).leave()
    assert work.look() == [] and work.pm.fields["status"] == "active"


def test_it_can_be_switched_off(work: Work) -> None:
    work.write("feature.json", status="completed")
    assert work.look(auto=False) == [] and work.statuses() == ("active", "active")


def test_a_feature_that_cannot_be_read_ends_nothing(work: Work) -> None:
    work.write("feature.json", status="completed")
    work.look()
    (work.dagent / "feature.json").write_text("{")
    assert work.look() == [] and work.pm.fields["archivedFor"] == "feature completed"


def written(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_a_look_that_finds_nothing_opens_and_writes_nothing(work: Work) -> None:
    work.write("feature.json", status="completed")
    work.look()
    work.store.close()
    before = written(work.dagent)
    index = Index(None)
    store = Store(work.store.project, index)
    assert archive_ended(store, work.feature, Settings()) == []
    assert not any(map(store.sessions.document, store.catalogue.folders()))
    store.close()
    index.close()
    assert written(work.dagent) == before
