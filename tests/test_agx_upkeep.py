"""What the daemon does for AGX by itself, when the system fails."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dagentd.adapters import clock
from dagentd.agents.resumable import Resumable
from dagentd.agx.agx_upkeep import AgxUpkeep
from dagentd.settings import Settings
from dagentd.worker import Worker
from tests.e2e.daemon import until


def test_what_there_was_no_room_for_is_done_at_the_next_beat(tmp_path: Path) -> None:
    """It waited for the next checkout, or for minutes."""
    (tmp_path / ".agx").mkdir()
    bugs: list[BaseException] = []
    worker, tries = Worker(1, clock.stamp, bugs.append), []
    upkeep = AgxUpkeep(worker, lambda: Settings().agx, lambda: Resumable(list), lambda: None)

    def settle(root: Path) -> None:
        tries.append(root)
        if len(tries) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(root / ".agx" / "s.json"))

    upkeep.__dict__["jobs"] = SimpleNamespace(settle=settle, updated=lambda _: None, problems=list, is_behind=bool)
    upkeep._due = math.inf  # not by the check that comes now and then
    pauses = SimpleNamespace(of_project=lambda: None)
    store: Any = SimpleNamespace(project=SimpleNamespace(root=tmp_path), read_only=False, pauses=pauses)
    upkeep.look(store)
    until(lambda: [each.message for each in upkeep.problems()] == ["the disk is full"], "the problem")
    assert all(each.hint for each in upkeep.problems())
    upkeep.beat()
    until(lambda: len(tries) == 2 and not upkeep.problems(), "the second try")
    worker.drain(30)
    assert not bugs


def test_an_index_that_is_behind_is_caught_up_with_at_the_next_beat() -> None:
    """A command that somebody asked for was done, and its lock was held: nobody came back to it."""
    bugs: list[BaseException] = []
    worker, behind = Worker(1, clock.stamp, bugs.append), ["a project"]
    upkeep = AgxUpkeep(worker, lambda: Settings().agx, lambda: Resumable(list), lambda: None)
    jobs = SimpleNamespace(is_behind=lambda: bool(behind), updated=lambda _: behind.clear(), problems=list)
    upkeep.__dict__["jobs"] = jobs
    upkeep._due = math.inf
    upkeep.beat()
    until(lambda: not behind, "the update")
    worker.drain(30)
    assert not bugs
