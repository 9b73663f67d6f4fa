"""One writer per project, whichever home it has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dagentd.errors import Conflict
from dagentd.store import writer_lock
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.store.served import Served

_SECOND = """
import sys
import time
from pathlib import Path
from dagentd import paths
from dagentd.adapters import git
from dagentd.errors import DagentdError
from dagentd.store.journal.index import Index
from dagentd.store.store import Store

project = git.project_at(Path(sys.argv[1]))
index = Index(paths.index_file())
try:
    store = Store(project, index)
except DagentdError as error:
    sys.stdout.write(f"{type(error).__name__} {error} | {error.hint}")
    store = Store(project, index, read_only=True)
    sys.stdout.write("\\n" + store.session(sys.argv[2]).chat()[0]["id"])

"""


def _second(served: Served, home: Path, *more: str) -> str:
    environ = os.environ | {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    (home / "state" / "dagentd").mkdir(parents=True, exist_ok=True)
    arguments = [sys.executable, "-c", _SECOND, str(served.worktree), served.session.id, *more]
    return subprocess.run(arguments, env=environ, capture_output=True, text=True, check=not more).stdout


def test_a_second_daemon_with_another_home_cannot_write_and_says_who_holds_the_lock(
    served: Served, tmp_path: Path
) -> None:
    served.add("a")
    told, read = _second(served, tmp_path / "other").splitlines()
    assert told.startswith("Conflict ") and f"process {os.getpid()}, since 20" in told
    assert str(served.project.lock_file) in told and told.endswith("| dagentd status")
    assert read == "a"  # it reads all the same


def test_a_read_only_store_writes_nothing(served: Served) -> None:
    served.add("a")
    served.close()
    served.app.clear()
    before = {path: path.read_bytes() for path in served.folder.path.iterdir()}
    store = Store(served.project, Index(None), read_only=True)
    session = store.session(served.session.id)
    session.reconcile()
    assert session.chat() == []  # the clear is understood, in memory
    store.close()
    assert {path: path.read_bytes() for path in served.folder.path.iterdir()} == before


def test_the_lock_is_free_again_after_a_close(served: Served, tmp_path: Path) -> None:
    served.close()
    assert served.project.lock_file.read_bytes() == b""
    writer_lock.take(served.project).release()


def test_a_lock_that_a_dead_process_left_is_recognised(served: Served, tmp_path: Path) -> None:
    """The file outlives the process, the lock does not."""
    served.close()
    process = subprocess.Popen([sys.executable, "-c", _LEAVE, str(served.project.lock_file)])
    assert process.wait() == -9
    left = json.loads(served.project.lock_file.read_bytes())
    assert left["pid"] == process.pid
    held = writer_lock.take(served.project)
    assert held.stale == left and json.loads(served.project.lock_file.read_bytes())["pid"] == os.getpid()
    held.release()


_LEAVE = """
import os, sys
from pathlib import Path
from dagentd.model.project import Project
from dagentd.store import writer_lock as lock
lock.take(Project(Path("/"), Path(sys.argv[1]).parent.parent))
os.kill(os.getpid(), 9)
"""


def test_a_busy_lock_is_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[float] = []

    def release_meanwhile(seconds: float) -> None:
        if not released:
            released.append(seconds)
            served.close()

    monkeypatch.setattr(time, "sleep", release_meanwhile)
    writer_lock.take(served.project, wait=60).release()
    assert released


def test_the_lock_is_private(served: Served) -> None:
    with pytest.raises(Conflict):
        writer_lock.take(served.project)
    assert served.project.lock_file.stat().st_mode & 0o777 == 0o600
    assert served.project.own_dir.stat().st_mode & 0o777 == 0o700
