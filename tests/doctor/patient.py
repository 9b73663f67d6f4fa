"""One project with one session, registered, and all that can be done to make it ill."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dagentd import oneshot, paths
from dagentd.doctor.examination import examine
from dagentd.doctor.mending import mend
from dagentd.jobs import exclude, hooks
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.registry import Registry
from tests import warm
from tests.conftest import FEATURE, SampleProject
from tests.e2e.daemon import Daemon, until
from tests.patience import patience

PM = f"pm-feature-{FEATURE}"
HELLO = [{"role": "user", "content": "Hello"}]


@dataclass
class Patient:
    """`daemon` does not run before somebody starts it."""

    sample: SampleProject
    daemon: Daemon
    patch: pytest.MonkeyPatch
    tmp: Path

    @property
    def root(self) -> Path:
        return self.sample.root

    @property
    def project(self) -> Project:
        return Project(self.root, self.root / ".git")

    @property
    def sessions(self) -> Path:
        return self.sample.dagent / "sessions"

    @property
    def journal(self) -> Path:
        return self.sessions / f"history_{PM}.jsonl"

    def document(self, name: str) -> Path:
        return self.sessions / f"{name}_{PM}.json"

    def registered(self) -> Patient:
        """As `dagentd init` leaves it, and with a session."""
        Registry(paths.registry_file()).add(self.project)
        exclude.add(self.project)
        hooks.install(self.project)
        with oneshot.writing(self.project, Settings()) as store:
            store.maker.get_or_create("feature", "pm", FEATURE).leave()
            with store.sessions.using(PM) as session:
                session.add(HELLO)
        return self

    def serve(self) -> int:
        """By the real daemon, which has looked at all there is; its process id."""
        pid = self.daemon.start()
        until(lambda: self.daemon.status["projects"], "the project")
        self.scanned()
        return pid

    def call(self, method: str, **params: Any) -> Any:
        return self.daemon.call(method, project=str(self.root), **params)

    def scanned(self) -> None:
        self.call("project.scan")

    def told(self, kind: str) -> list[Problem]:
        """What the doctor says of one kind: of this id, or of ids that begin with it."""
        return [each for each in examine()[1] if each.id == kind or (kind.endswith("-") and each.id.startswith(kind))]

    def mended(self, kind: str) -> str:
        (done,) = mend(self.told(kind)[:1])
        assert done.failed is None, done.failed
        return done.done


@contextmanager
def without(patient: Patient, program: str) -> Iterator[None]:
    """A PATH that has all programs but one."""
    folder = patient.tmp / "bin"
    folder.mkdir()
    for name in ("git", "tmux", "sh"):
        if name != program and (found := shutil.which(name)):
            (folder / name).symlink_to(found)
    patient.patch.setenv("PATH", str(folder))
    yield


def doctor(*arguments: str, within: str = "", **more: Any) -> subprocess.CompletedProcess[str]:
    """The real command; `within` is a shell command that runs it as "$@"."""
    if not within:
        return warm.run("doctor", *arguments, cwd="/", **more)
    line = ["unshare", "-Urm", "sh", "-c", within, "sh", sys.executable, "-m", "dagentd", "doctor", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=patience(), check=False, cwd="/", **more)


def can_unshare() -> bool:
    return sys.platform == "linux" and shutil.which("unshare") is not None and _unshares()


def _unshares() -> bool:
    tried = "mount -t tmpfs none /mnt && echo 1000 > /proc/sys/user/max_inotify_watches"
    return subprocess.run(["unshare", "-Urm", "sh", "-c", tried], capture_output=True, check=False).returncode == 0


def is_root() -> bool:
    return os.geteuid() == 0


Maker = Callable[[Patient], Iterator[object]]
