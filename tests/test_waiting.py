"""A file that another program is just writing or removing is waited for, and no worker sleeps meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from dagentd.adapters import clock
from dagentd.adapters.git import project_at
from dagentd.model.project import FeatureFolder
from dagentd.serving.maintenance import Maintenance
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from dagentd.worker import Worker
from tests.conftest import SampleProject, git
from tests.e2e.daemon import until
from tests.patience import patience
from tests.store.app import said

Finish = Callable[[], Callable[[], bool]]  # ends what another program does; what it gives says whether we took it in


class Bench:
    """A project with a worktree for each case and one more; time stands still, and a worker that sleeps does so until
    the end."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.ended, self._real, self._root = threading.Event(), time.sleep, root
        self._stopped: float | None = time.monotonic()
        patch.setattr(time, "sleep", self._sleep)
        patch.setattr(clock, "monotonic", lambda: self._stopped or time.monotonic())
        self.bugs: list[BaseException] = []
        self.jobs = Worker(2, clock.stamp, self.bugs.append, time.monotonic)
        self.upkeep = Maintenance(self.jobs, lambda _: Settings())
        self.store = Store(project_at(root), Index(None), settle=0.04)
        self.upkeep.take_up(self.store)

    def _sleep(self, seconds: float) -> None:
        if threading.current_thread().name.startswith("worker-"):
            self.ended.wait(10 * patience())
        self._real(seconds)

    def let_time_go_on(self) -> None:
        self._stopped = None

    def feature(self, name: str) -> FeatureFolder:
        worktree = self._root / ".dagent-worktrees" / name
        git(self._root, "worktree", "add", "-q", "-b", f"feature/{name}", str(worktree))
        (worktree / ".dagent").mkdir()
        document = {"id": name, "name": name, "branchName": f"feature/{name}"}
        (worktree / ".dagent" / "feature.json").write_text(json.dumps(document))
        return self.store.catalogue.feature(name)

    def whole(self, feature: FeatureFolder) -> tuple[Path, str]:
        """A session of it that is served, and its id."""
        session = self.store.maker.get_or_create("feature", "pm", feature.id)
        session.add(said_once("a"))
        session.reconcile()
        return session.folder.path, session.id

    def knows(self, session_id: str, feature: FeatureFolder, *ids: str) -> Callable[[], bool]:
        def look() -> bool:
            with self.store.sessions.using(session_id, None, feature.id) as session:
                return {raw["id"] for raw in session.chat()} >= set(ids)

        return look


def said_once(message_id: str) -> list[dict[str, str]]:
    return [said(message_id)]


@pytest.fixture
def bench(project: SampleProject, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    bench = Bench(project.root, monkeypatch)
    yield bench
    bench.let_time_go_on()
    bench.ended.set()
    assert bench.jobs.drain(patience())
    bench.store.close()
    assert not bench.bugs


# --- what another program does ----------------------------------------------------------------------------------


def written_chat(bench: Bench, feature: FeatureFolder) -> Finish:
    folder, session_id = bench.whole(feature)
    chat = folder / f"chat_{session_id}.json"
    held = json.loads(chat.read_bytes())
    chat.write_text('{"messages": [{"id": "b"')
    bench.upkeep.look(bench.store, feature, session_id)

    def finish() -> Callable[[], bool]:
        chat.write_text(json.dumps({**held, "messages": [*held["messages"], said("b")]}))
        return bench.knows(session_id, feature, "a", "b")

    return finish


def new_session(bench: Bench, feature: FeatureFolder) -> Finish:
    feature.sessions_dir.mkdir()
    document = {"id": "s1", "type": "feature", "agentType": "pm", "status": "active", "featureId": feature.id}
    (feature.sessions_dir / "session_s1.json").write_text(json.dumps(document))
    chat = feature.sessions_dir / "chat_s1.json"
    chat.write_text('{"messages": [')
    bench.upkeep.reconcile(bench.store, feature)

    def finish() -> Callable[[], bool]:
        chat.write_text(json.dumps({"messages": said_once("b")}))
        return lambda: '"b"' in _text(feature.sessions_dir / "history_s1.jsonl")

    return finish


def leftover(bench: Bench, feature: FeatureFolder) -> Finish:
    feature.sessions_dir.mkdir()
    document = {"id": "s1", "type": "feature", "agentType": "pm", "status": "active", "featureId": feature.id}
    (feature.sessions_dir / "session_s1.json").write_text(json.dumps(document))
    left = feature.sessions_dir / ".chat_s1.json.1-1.dagentd-tmp"
    left.write_text('{"messages": [')
    bench.upkeep.look(bench.store, feature, "s1")

    def finish() -> Callable[[], bool]:
        left.write_text(json.dumps({"messages": said_once("b")}))
        return lambda: '"b"' in _text(feature.sessions_dir / "history_s1.jsonl") and not left.exists()

    return finish


def older_file(bench: Bench, feature: FeatureFolder) -> Finish:
    old = feature.path / "chat.json"
    old.write_text('{"entries": [')
    bench.upkeep.migrate(bench.store, feature)

    def finish() -> Callable[[], bool]:
        entry = {"type": "user", "text": "Be brief.", "timestamp": "2026-01-01T10:00:00Z"}
        old.write_text(json.dumps({"entries": [entry]}))
        return lambda: any("Be brief." in _text(path) for path in feature.path.rglob("history*.jsonl"))

    return finish


def removed_journal(bench: Bench, feature: FeatureFolder) -> Finish:
    folder, session_id = bench.whole(feature)
    journal = folder / f"history_{session_id}.jsonl"
    journal.unlink()
    bench.upkeep.reconcile(bench.store, feature)
    return lambda: journal.exists


def removed_chat(bench: Bench, feature: FeatureFolder) -> Finish:
    folder, session_id = bench.whole(feature)
    chat = folder / f"chat_{session_id}.json"
    chat.unlink()
    bench.upkeep.reconcile(bench.store, feature)
    return lambda: chat.exists


def written_feature(bench: Bench, feature: FeatureFolder) -> Finish:
    folder, session_id = bench.whole(feature)
    document = feature.path / "feature.json"
    held = document.read_text()
    document.write_text("{")
    bench.upkeep.renew(bench.store, feature)

    def finish() -> Callable[[], bool]:
        document.write_text(json.dumps({**json.loads(held), "name": "Another name"}))
        return lambda: "Another name" in _text(folder / f"context_{session_id}.json")

    return finish


def moving_head(bench: Bench, feature: FeatureFolder) -> Finish:
    folder, session_id = bench.whole(feature)
    head = Path(git(feature.tree.worktree, "rev-parse", "--absolute-git-dir")) / "HEAD"
    held = head.read_text()
    head.write_text("0" * 40)
    bench.upkeep.renew(bench.store, feature)

    def finish() -> Callable[[], bool]:
        head.write_text(held)
        return (folder / f"context_{session_id}.json").exists

    return finish


CASES = [
    written_chat,
    new_session,
    leftover,
    older_file,
    removed_journal,
    removed_chat,
    written_feature,
    moving_head,
]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


# --- what must hold ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_commit_is_known_while_two_worktrees_wait(
    bench: Bench, case: Callable[[Bench, FeatureFolder], Finish]
) -> None:
    """Two are as many as there are workers: each slept until the file made sense."""
    everything_is_done(bench, [case, case])


def test_a_commit_is_known_while_all_wait_at_once(bench: Bench) -> None:
    everything_is_done(bench, CASES)


def everything_is_done(bench: Bench, cases: Sequence[Callable[[Bench, FeatureFolder], Finish]]) -> None:
    other = bench.feature("other")
    folder, session_id = bench.whole(other)
    waiting = [case(bench, bench.feature(f"case-{number}")) for number, case in enumerate(cases)]
    (other.tree.worktree / "CLAUDE.md").write_text("Be brief.")
    git(other.tree.worktree, "add", "CLAUDE.md")
    git(other.tree.worktree, "commit", "-q", "-m", "Be brief")
    bench.upkeep.renew(bench.store, other)
    until(lambda: "Be brief." in _text(folder / f"context_{session_id}.json"), "the context of the commit")
    taken_in = [finish() for finish in waiting]
    bench.let_time_go_on()
    for number, done in enumerate(taken_in):
        until(done, f"what was waited for, of case {number}")
