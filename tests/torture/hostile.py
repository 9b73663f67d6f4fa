"""A project in whose folders somebody else can write, what he would like to get at, and all that dagentd does there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dagentd import oneshot, paths
from dagentd.errors import DagentdError
from dagentd.jobs import exclude, full_text_search, hooks, retention
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.registry import Registry
from dagentd.store.spool import Spool
from tests import warm
from tests.conftest import FEATURE, SampleProject, make_project, make_repo
from tests.torture.explorer import copy

PM, DEV = f"pm-feature-{FEATURE}", f"dev-task-{FEATURE}-task-1-in_dev"
CANARY = "CANARY-7f3a"
SAID = [{"role": "user", "content": "We decided to use port 8080 for the server."}]


@dataclass(frozen=True)
class Victim:
    """Files of the user that are none of dagentd's business. They look like what dagentd reads."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Victim:
        folder.mkdir()
        message = {"id": "m1", "role": "user", "content": CANARY, "timestamp": "2026-01-01T00:00:00.000Z"}
        document = {"id": CANARY, "name": CANARY, "messages": [message], "entries": [message], "summary": {}}
        (folder / "secret").write_text(json.dumps({**document, "roleInstructions": CANARY}) + "\n")
        for name in ("post-commit", "notes.txt", "main.json", "chat.json", "session.json", f"session_{PM}.json"):
            (folder / name).write_text(json.dumps(document) + "\n")
        (folder / "sessions").mkdir()
        (folder / "sessions" / "main.json").write_text(json.dumps(document))
        (folder / "spool").mkdir()
        (folder / "spool" / "letter").write_text(CANARY)
        return cls(folder)

    def state(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for path in [self.folder, *sorted(self.folder.rglob("*"))]:
            status = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, data)
        return found


@dataclass(frozen=True)
class Hostile:
    sample: SampleProject
    victim: Victim

    @property
    def project(self) -> Project:
        return Project(self.sample.root, self.sample.root / ".git")

    def path(self, place: str) -> Path:
        """`R/` is the project, `F/` the feature's folder, `W/` its worktree, `G/` git's folder."""
        start, _, rest = place.partition("/")
        within = {"R": self.sample.root, "F": self.sample.dagent, "W": self.sample.worktree}
        return within.get(start, self.project.common_dir) / rest

    def prepared(self) -> Hostile:
        """As after some work: two sessions, a task, an older chat that was migrated, hooks, an AGX session."""
        Registry(paths.registry_file()).add(self.project)
        (self.sample.dagent / "chat.json").write_text(json.dumps({"entries": [{"type": "user", "text": "Old"}]}))
        (self.sample.root / ".agx" / "sessions").mkdir(parents=True)
        (self.sample.worktree / "CLAUDE.md").write_text("Be brief.\n")
        hooks.install(self.project)
        exclude.add(self.project)
        with oneshot.writing(self.project, Settings()) as store:
            store.maker.get_or_create("feature", "pm", FEATURE).leave()
            store.maker.get_or_create("task", "dev", FEATURE, "task-1", "in_dev").leave()
            for session_id in (PM, DEV):
                with store.sessions.using(session_id) as session:
                    session.add(SAID)
        oneshot.once(self.project, Settings())
        return self

    first_words = SAID[0]["content"]

    def dagentd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return warm.run(*arguments, cwd=self.sample.root)

    def work(self, until_forgotten: bool = True) -> None:
        """All that dagentd does in a project. What it refuses it says in a DagentdError; nothing else may be raised."""
        done = acts(self.project)
        for act in done if until_forgotten else done[:-4]:
            with contextlib.suppress(DagentdError):
                act()

    def leaks(self) -> list[Path]:
        """Files of the project, and of dagentd's own, that have the victim's text."""
        own = [path for place in (self.sample.root, paths.state_dir()) for path in _regular(place)]
        return [path for path in own if CANARY.encode() in path.read_bytes()]


def _regular(folder: Path) -> Iterator[Path]:
    for where, _, names in os.walk(folder):
        for name in names:
            path = Path(where, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def acts(project: Project) -> list[Callable[[], object]]:
    return [
        lambda: oneshot.once(project, Settings()),
        lambda: Spool(project).take(),
        lambda: hooks.look(project),
        lambda: hooks.status(project),
        lambda: hooks.install(project),
        lambda: exclude.add(project),
        *(lambda name=name: _talk(project, name) for name in (PM, DEV)),
        lambda: _remember(project),
        lambda: _tidy(project),
        lambda: oneshot.once(project, Settings()),
        lambda: hooks.uninstall(project),
        lambda: exclude.remove(project),
        lambda: _forget(project),
        lambda: retention.clear_away(project, purge=True),
    ]


def _talk(project: Project, session_id: str) -> None:
    with oneshot.writing(project, Settings()) as store, store.sessions.using(session_id) as session:
        for act in (
            lambda: session.add(SAID), session.messages, session.history, session.clear, session.archive,
            lambda: session.update_checkpoint({"summary": {"decisions": ["x"]}}),
            lambda: session.replace("context", {"projectRoot": "/x"}),
            lambda: session.read("agent-description"),
        ):  # fmt: skip
            with contextlib.suppress(DagentdError):
                act()


def _remember(project: Project) -> None:
    with oneshot.writing(project, Settings()) as store:
        store.memory.problems()
        store.memory.add("Commits are in English.", "user")


def _tidy(project: Project) -> None:
    with oneshot.writing(project, Settings()) as store:
        retention.remove_expired(store, 0)
        with contextlib.suppress(DagentdError):
            full_text_search.by_reading(store, "port", None, 20)
        retention.gone_sessions(store, Settings())
        for feature in store.catalogue.features():
            store.let_go(feature)


def _forget(project: Project) -> None:
    with oneshot.writing(project, Settings()) as store:
        store.forget(DEV)


@pytest.fixture
def hostile(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Hostile:
    """Prepared once, which takes half a second of a core, and copied for each test; always to the same place, because
    git notes where worktrees are."""
    place = tmp_path_factory.getbasetemp() / "hostile"
    repo, kept, state = place / "repo", place / "kept", paths.state_dir()
    if not kept.exists():
        place.mkdir()
        Hostile(make_project(make_repo(repo)), Victim.make(tmp_path / "first victim")).prepared()
        copy(state, kept / "state")
        repo.rename(kept / "repo")
    for source, target in ((kept / "repo", repo), (kept / "state", state)):
        shutil.rmtree(target, ignore_errors=True)
        copy(source, target)
    worktree = repo / ".dagent-worktrees" / FEATURE
    return Hostile(SampleProject(repo, worktree, FEATURE), Victim.make(tmp_path / "victim"))
