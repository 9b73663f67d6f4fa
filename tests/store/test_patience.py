"""A file that is written all the time and never makes sense is not waited for without end."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagentd.adapters import clock
from dagentd.adapters.files import disk, marks
from dagentd.adapters.git import project_at
from dagentd.errors import CorruptFile
from dagentd.store.documents import projections
from dagentd.store.journal.index import Index
from dagentd.store.store import Store
from tests.conftest import SampleProject
from tests.store.served import Served


@pytest.fixture
def restless(project: SampleProject) -> Iterator[Path]:
    """A chat that another program fills with other nonsense at every moment."""
    folder = project.dagent / "sessions"
    folder.mkdir()
    (folder / "session_s1.json").write_text(json.dumps({"id": "s1", "status": "active"}))
    chat, ended = folder / "chat_s1.json", threading.Event()

    def scribble() -> None:
        number = 0
        while not ended.wait(0.001):
            number += 1
            chat.write_text("{" * (1 + number % 1000))

    chat.write_text("{")
    writer = threading.Thread(target=scribble)
    writer.start()
    yield chat
    ended.set()
    writer.join()


def test_opening_gives_up_and_names_the_file(
    project: SampleProject, restless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "PATIENCE", 0.3)
    store = Store(project_at(project.root), Index(None), settle=1.0)
    try:
        with pytest.raises(CorruptFile) as caught:
            store.session("s1")
        assert caught.value.path == str(restless)
        assert not store.catalogue.find("s1").journal.exists()
    finally:
        store.close()


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session"])
def test_a_file_found_truncated_again_and_again_is_not_set_aside(
    served: Served, wait: Callable[[float], None], name: str
) -> None:
    """Each look comes just when the app has truncated it once more: it is being written, and not corrupt."""
    served.add("a")
    path = served.app.paths[name]
    held, at = path.read_bytes(), time.time_ns()
    for number in range(5):
        path.write_bytes(held)
        path.write_bytes(b"")
        os.utime(path, ns=(at, at + number * 4_000_000))  # a tick of the clock, however fast this runs
        served.session._projections.look()
        wait(1)
    assert path.exists() and not list(path.parent.glob("*.corrupt.*"))
    served.session._projections.look()
    wait(1)
    served.flush()
    assert list(path.parent.glob(f"{path.name}.corrupt.*"))


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session"])
@pytest.mark.parametrize("damage", [b"", b"{"])
def test_there_is_no_moment_without_a_file_when_one_is_set_aside(
    served: Served, wait: Callable[[float], None], name: str, damage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app takes a chat that is not there for none, and says to its user that there is no session."""
    served.add("a")
    path, missing = served.app.paths[name], []

    def step(what: str, at: str | Path) -> None:
        if not path.exists():
            missing.append((what, str(at)))

    path.write_bytes(damage)
    monkeypatch.setattr(disk, "step", step)
    served.session._projections.look()
    wait(1)
    served.session._projections.look()
    assert path.exists() and not missing
    served.flush()
    assert not missing and [each.read_bytes() for each in path.parent.glob(f"{path.name}.corrupt.*")] == [damage]
    assert path.read_bytes() != damage


def test_a_chat_that_stays_truncated_for_half_a_second_is_waited_for(
    served: Served, wait: Callable[[float], None]
) -> None:
    """A busy machine stops a program for so long, and what it wrote then went to a file without a name."""
    served.add("a")
    path = served.app.paths["chat"]
    held = path.read_bytes()
    path.write_bytes(b"")
    for _ in range(5):
        served.session._projections.look()
        wait(0.1)
    assert path.read_bytes() == b"" and not list(path.parent.glob("*.corrupt.*"))
    path.write_bytes(held)
    served.flush()
    assert served.shown() == ["a"] and not list(path.parent.glob("*.corrupt.*"))


def test_where_replacing_is_refused_for_long_no_look_leaves_a_name(
    served: Served, wait: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    served.add("a")
    path = served.app.paths["chat"]
    path.write_bytes(b"{ nonsense")
    refused: list[Path] = []

    def step(what: str, at: str | Path) -> None:
        if what == "rename" and at == path:
            refused.append(path)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(at))

    with monkeypatch.context() as patch:
        patch.setattr(disk, "step", step)
        for _ in range(4):
            served.flush()
            wait(1)
        temps = served.project.temp_dir
        assert len(refused) > 1 and not list(path.parent.glob("*.corrupt.*")) and not list(temps.iterdir())
    served.flush()
    assert [each.read_bytes() for each in path.parent.glob("*.corrupt.*")] == [b"{ nonsense"]


@pytest.mark.parametrize("name", ["chat", "checkpoint", "session"])
def test_git_is_held_up_after_it_removed_one_file_of_a_session_that_nobody_had_open(
    served: Served, wait: Callable[[float], None], name: str
) -> None:
    """The event of that opened it, and the file was made again at once: `git worktree remove` failed."""
    served.add("a")
    served.close()
    path = served.app.paths[name]
    path.unlink()
    served.open()
    served.session.look()
    wait(0.5)
    served.session.tend(clock.monotonic())
    assert not path.exists()
    wait(2)
    served.session.tend(clock.monotonic())
    assert path.exists() and served.known() == served.shown() == ["a"]


def test_a_session_that_is_whole_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.add("a")
    served.close()
    served.open()
    monkeypatch.setattr(projections, "pause", lambda _: pytest.fail("nothing of it is missing"))
    served.flush()
