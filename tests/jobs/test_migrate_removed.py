"""A feature leaves the backlog while its older files are migrated: nothing appears in the folder that the app has
looked into and is removing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.files import disk
from dagentd.jobs import due
from dagentd.jobs.context import Checkouts
from dagentd.jobs.migration import Seen
from dagentd.store.documents import document_writer
from tests.jobs.legacy_files import chat, task_session, write
from tests.jobs.test_migrate import QUICK, Work
from tests.store.place import TASK, Place
from tests.torture.desktop_app import DesktopApp

THEME = "theme"


def backlog(place: Place, sessions: bool) -> Path:
    folder = place.root / ".dagent" / "features" / "backlog" / THEME
    write(folder / "feature.json", {"id": THEME})
    write(folder / "chat.json", chat("plan", "two tasks"))
    write(folder / "nodes" / TASK / "session.json", task_session("started"))
    if sessions:
        DesktopApp(folder, THEME).session("ux")
    return folder


def removal(feature: Path, worktree: Path) -> Iterator[None]:
    """What the app does in turn: all but the sessions moves, the rest is listed, and then removed."""
    there = worktree / ".dagent" / "features" / feature.name
    there.mkdir(parents=True)
    for each in [each for each in feature.iterdir() if each.name != "sessions"]:
        shutil.move(each, there / each.name)
    listed = list(os.walk(feature, topdown=False))
    yield
    for where, folders, names in listed:
        for name in names:
            Path(where, name).unlink(missing_ok=True)
        for name in folders:
            if Path(where, name).is_dir():
                Path(where, name).rmdir()
    feature.rmdir()


def migrated(work: Work, going: Iterator[None], number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many steps it took in that folder. The app comes at one of them, and goes on when we have done all."""
    steps, feature = 0, next(each for each in work.features() if each.id == THEME)

    def step(what: str, path: str | Path) -> None:
        nonlocal steps
        if Path(path).is_relative_to(feature.path):  # all others leave nothing there
            steps += 1
            if steps == number:
                next(going)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "step", step)
        patch.setattr(
            document_writer, "GONE_FOR", 600.0
        )  # on a busy machine all of this takes longer than the app is waited for
        done = due.all_of(work.store, feature, QUICK, Checkouts(), Seen())
        assert steps < number or not [file for file in done.files or [] if file.error]
    return steps


@pytest.mark.parametrize("sessions", [False, True])
def test_at_every_step(tmp_path: Path, sessions: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 200):
        work = Work(Place(tmp_path / str(number)).make())
        feature = backlog(work.place, sessions)
        going = removal(feature, work.place.root / ".dagent-worktrees" / THEME)
        try:
            steps = migrated(work, going, number, monkeypatch)
            if steps < number:
                return
            assert not list(going) and not feature.exists()
        except BaseException as error:
            error.add_note(f"the app came at step {number}")
            raise
        finally:
            work.close()
    pytest.fail("it takes more steps than these")
