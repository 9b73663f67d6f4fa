"""What is told of followed folders, when, and what is not."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.watch.batches import Gathering
from tests.adapters.watch.watching import MARK, Listener, listening
from tests.patience import patience

ODD = ["with space", "new\nline", "naïve-日本", os.fsdecode(b"not-utf8-\xff\xfe"), "-rf", "x" * 255]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "folder"
    found.mkdir()
    return found


@pytest.fixture
def listener(tmp_path: Path, folder: Path) -> Iterator[Listener]:
    with listening(tmp_path / "state") as found:
        found.follow(folder)
        yield found


def test_writing_replacing_and_removing_are_told(listener: Listener, folder: Path) -> None:
    listener.sees_writing(folder, "file")
    listener.forget()
    (folder / "file").write_text("more")
    listener.sees(folder / "file")
    listener.forget()
    (folder / "temp").write_text("new")
    (folder / "temp").rename(folder / "file")
    listener.sees(folder / "file")
    listener.forget()
    (folder / "file").unlink()
    listener.sees(folder / "file")
    listener.forget()
    (folder / "sub").mkdir()
    listener.sees(folder / "sub")


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_any_name_survives(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name / name
    folder.mkdir(parents=True)
    with listening(tmp_path / "state") as listener:
        listener.follow(folder)
        listener.sees_writing(folder, name)


def test_reading_is_not_told(listener: Listener, folder: Path) -> None:
    (folder / "file").write_text("x")
    listener.sees(folder / "file")
    listener.sees_writing(folder, "between")
    listener.forget()
    (folder / "file").read_text()
    os.listdir(folder)
    (folder / "file").stat()
    listener.sees_writing(folder)
    assert listener.paths == {folder / MARK}


def test_an_append_to_a_file_that_stays_open_wakes_nobody_until_it_is_closed(listener: Listener, folder: Path) -> None:
    """As the daemon appends to its journals."""
    with (folder / "journal").open("ab", buffering=0) as journal:
        listener.sees(folder / "journal")
        listener.forget()
        journal.write(b"record\n")
        os.fdatasync(journal.fileno())
        listener.sees_writing(folder)
        assert folder / "journal" not in listener.paths
    listener.sees(folder / "journal")


def test_what_is_below_a_folder_is_not_told(listener: Listener, folder: Path) -> None:
    (folder / "sub").mkdir()
    listener.sees(folder / "sub")
    listener.forget()
    (folder / "sub" / "file").write_text("x")
    listener.sees_writing(folder)
    assert listener.paths == {folder / MARK}


def test_only_what_is_followed_is_told(listener: Listener, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    listener.follow(other)
    (folder / "file").write_text("x")
    listener.sees_writing(other)
    assert listener.paths == {other / MARK}
    assert listener.folders == set()
    assert listener.watch.status().native == 2  # one for the cookie


def test_a_newly_followed_folder_is_told_as_a_whole_and_once(listener: Listener, folder: Path, tmp_path: Path) -> None:
    """Its files may have come before the watch."""
    (folder / "new").mkdir()
    (folder / "new" / "early").write_text("x")
    listener.watch.follow([folder, folder / "new"])
    listener.sees_folder(folder / "new")
    listener.forget()
    listener.watch.follow([folder, folder / "new"])
    listener.sees_writing(folder / "new")
    assert listener.folders == set()


def test_changes_wait_for_a_quiet_gap_but_not_for_ever(listener: Listener, folder: Path) -> None:
    listener.watch.settle = listener.watch.ceiling = 1000.0
    (folder / "a").write_text("x")
    assert listener.watch.batch(0.3) is None
    (folder / "b").write_text("x")
    assert listener.watch.batch(0.3) is None
    listener.watch.settle = 0.0
    batch = listener.watch.batch(10)
    assert batch is not None
    assert batch.paths == {folder / "a", folder / "b"}
    listener.watch.settle, listener.watch.ceiling = 1000.0, 0.0
    (folder / "c").write_text("x")
    listener.sees(folder / "c")


def test_a_crowd_in_one_folder_is_told_as_the_folder(listener: Listener, folder: Path) -> None:
    """And a folder that came with it is taken up although its name was not kept."""
    listener.watch.follow([folder, folder / "later"])
    listener.beats = False
    listener.watch.settle = listener.watch.ceiling = 2.0
    for number in range(1500):
        (folder / str(number)).touch()
    (folder / "later").mkdir()
    listener.sees_folder(folder, folder / "later")


def test_the_cookie_is_never_told_and_costs_the_disk_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with listening(state) as listener:
        listener.follow(state)
        before = [path.stat() for path in (state, state / "cookie")]
        for _ in range(3):
            listener.watch.check()
            listener.take(0.1)
        assert [path.stat() for path in (state, state / "cookie")] == before
        (state / "cookie").unlink()
        listener.watch.check()
        listener.sees_writing(state, "registry")
        assert listener.paths == {state / "registry"}
        assert not listener.problems


def test_the_folder_of_the_cookie_is_told_only_if_it_is_followed(listener: Listener, folder: Path) -> None:
    (folder.parent / "state" / "index").write_text("x")
    listener.sees_writing(folder)
    assert listener.paths == {folder / MARK}


def test_closing_wakes_who_waits_and_leaves_no_thread(tmp_path: Path, folder: Path) -> None:
    before = set(threading.enumerate())
    got: list[object] = []
    with listening(tmp_path / "state", limit=1) as listener:
        listener.follow(folder)
        waiting = threading.Thread(target=lambda: got.append(listener.watch.batch()))
        waiting.start()
        assert {thread.name for thread in threading.enumerate()} >= {"polling"}
    waiting.join(patience())
    assert got == [None]
    assert set(threading.enumerate()) == before
    listener.watch.check()
    listener.watch.follow([])
    assert set(threading.enumerate()) == before


def test_an_idle_watch_says_nothing(listener: Listener) -> None:
    for _ in range(3):
        listener.watch.check()
        assert listener.watch.batch(0.3) is None
    status = listener.watch.status()
    assert (status.mode, status.native, status.polled, status.absent) == ("native", 2, 0, 0)
    assert (status.problems, status.incidents) == ((), ())


def test_some_names_are_told_at_once_and_again_when_they_have_settled(folder: Path) -> None:
    """A chat that was written without a pause was not read for a second, and cleared by then."""
    gathering = Gathering(lambda name: name == "chat.json")
    (folder / "chat.json").write_bytes(b"held")
    gathering.name(folder, "other.json")
    gathering.name(folder, "chat.json")
    early = gathering.take(lambda: (60.0, 60.0), timeout=0.0)
    assert early is not None and early.early and early.names == {folder: {"chat.json"}}
    assert early.contents == {folder / "chat.json": [b"held"]}
    assert gathering.take(lambda: (60.0, 60.0), timeout=0.0) is None, "the rest waits for a pause"
    settled = gathering.take(lambda: (0.0, 0.0), timeout=0.0)
    assert settled is not None and not settled.early and settled.names == {folder: {"other.json", "chat.json"}}
