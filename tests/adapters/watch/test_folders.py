"""Followed folders that vanish, come back, move, are exchanged, or are not what they seem."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters import watch
from tests.adapters.watch.watching import MARK, Listener, listening


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    with listening(tmp_path / "state") as found:
        yield found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A worktree with .dagent/sessions in it."""
    (tmp_path / "tree" / ".dagent" / "sessions").mkdir(parents=True)
    return tmp_path / "tree"


def test_removed_and_remade_below_a_followed_folder(listener: Listener, tree: Path) -> None:
    dagent, sessions = tree / ".dagent", tree / ".dagent" / "sessions"
    listener.follow(tree, dagent, sessions)
    shutil.rmtree(dagent)
    sessions.mkdir(parents=True)
    (sessions / "early").write_text("x")
    listener.sees_folder(dagent, sessions)
    listener.sees_writing(sessions)


def test_removed_first_and_remade_later(listener: Listener, tree: Path) -> None:
    dagent, sessions = tree / ".dagent", tree / ".dagent" / "sessions"
    listener.follow(tree, dagent, sessions)
    shutil.rmtree(dagent)
    listener.until(lambda: listener.watch.status().absent == 2, "that they are gone")
    listener.forget()
    sessions.mkdir(parents=True)
    listener.sees_folder(dagent, sessions)
    listener.sees_writing(sessions)
    assert listener.watch.status().absent == 0


def test_remade_at_once_is_taken_up_without_a_check(listener: Listener, tree: Path) -> None:
    """The event of the parent is enough."""
    dagent = tree / ".dagent"
    listener.follow(tree, dagent)
    listener.beats = False
    for _ in range(20):
        shutil.rmtree(dagent)
        dagent.mkdir()
        listener.sees_folder(dagent)
        listener.forget()
        listener.sees_writing(dagent)
        listener.forget()


def test_removed_and_remade_with_nobody_at_the_parent(listener: Listener, tree: Path) -> None:
    """ext4 gives the new folder the inode of the old one."""
    sessions = tree / ".dagent" / "sessions"
    listener.follow(sessions)
    for _ in range(5):
        sessions.rmdir()
        sessions.mkdir()
        listener.sees_folder(sessions)
        listener.sees_writing(sessions)
        (sessions / MARK).unlink()
        listener.forget()


def test_a_folder_that_is_followed_before_it_is_there(listener: Listener, tmp_path: Path) -> None:
    later = tmp_path / "later" / "still"
    listener.watch.follow([later])
    assert listener.watch.status().absent == 1
    later.mkdir(parents=True)
    listener.sees_folder(later)
    listener.sees_writing(later)


def test_follow_finds_what_has_come(listener: Listener, tmp_path: Path) -> None:
    listener.watch.follow([tmp_path / "later"])
    (tmp_path / "later").mkdir()
    listener.watch.follow([tmp_path / "later"])
    assert listener.watch.status().absent == 0


def test_a_folder_moved_in(listener: Listener, tree: Path, tmp_path: Path) -> None:
    inner = tree / "moved" / "sessions"
    listener.follow(tree)
    listener.watch.follow([tree, inner.parent, inner])
    (tmp_path / "outside" / "sessions").mkdir(parents=True)
    (tmp_path / "outside").rename(inner.parent)
    listener.sees_folder(inner.parent, inner)
    listener.sees_writing(inner)


@pytest.mark.parametrize("parent", ["followed", "not followed"])
def test_moved_away_and_another_in_its_place(listener: Listener, tree: Path, parent: str) -> None:
    """The old ones must not speak under the names of the new ones; nothing tells `sessions` that it was moved."""
    dagent, sessions, away = tree / ".dagent", tree / ".dagent" / "sessions", tree / "away"
    listener.follow(*([tree] if parent == "followed" else []), dagent, sessions)
    dagent.rename(away)
    sessions.mkdir(parents=True)
    listener.sees_folder(dagent, sessions)
    listener.forget()
    (away / "sessions" / "stale").write_text("x")
    (away / "stale").write_text("x")
    listener.sees_writing(sessions)
    assert {sessions / "stale", dagent / "stale"} & listener.paths == set()


def test_a_folder_says_itself_that_it_was_moved(listener: Listener, tree: Path) -> None:
    """Without a check, and with nobody at its parent."""
    listener.follow(tree / ".dagent", tree / ".dagent" / "sessions")
    listener.beats = False
    (tree / ".dagent").rename(tree / "away")
    listener.sees_folder(tree / ".dagent", tree / ".dagent" / "sessions")
    assert listener.watch.status().absent == 2


def test_moved_and_followed_where_it_is_now(listener: Listener, tree: Path) -> None:
    """The kernel has one watch for it, whatever it is called."""
    old, new = tree / ".dagent", tree / "new"
    listener.follow(old)
    old.rename(new)
    old.mkdir()
    listener.watch.follow([old, new])
    listener.sees_folder(new)
    listener.sees_writing(new)
    listener.sees_writing(old)
    listener.forget()
    listener.sees_writing(new, "again")
    assert old / "again" not in listener.paths
    listener.watch.follow([old])
    listener.forget()
    (new / "unheard").write_text("x")
    listener.sees_writing(old, "heard")
    assert {path.name for path in listener.paths} == {"heard"}


def test_a_folder_far_above_is_exchanged(listener: Listener, tree: Path, tmp_path: Path) -> None:
    """No event tells of it."""
    sessions = tree / ".dagent" / "sessions"
    listener.follow(sessions, sessions.parent)
    tree.rename(tmp_path / "away")
    sessions.mkdir(parents=True)
    listener.sees_folder(sessions, sessions.parent)
    listener.sees_writing(sessions)


def test_of_many_folders_a_check_looks_at_a_few_and_at_all_that_they_lead_to(
    listener: Listener, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_AT_ONCE", 1)
    dagent, inner = tree / ".dagent", [tree / ".dagent" / str(number) for number in range(20)]
    for folder in inner:
        folder.mkdir()
    listener.follow(dagent, *inner)
    shutil.move(tree, tmp_path / "away")
    shutil.copytree(tmp_path / "away", tree)
    listener.sees_folder(dagent)
    assert listener.folders >= set(inner)


def test_every_check_looks_for_those_that_are_not_there(
    listener: Listener, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_AT_ONCE", 0)
    listener.watch.follow([tree, tmp_path / "unwatched" / "later"])
    (tmp_path / "unwatched" / "later").mkdir(parents=True)
    listener.watch.check()
    assert listener.watch.status().absent == 0


def test_a_vanished_folder_is_told(listener: Listener, tree: Path, tmp_path: Path) -> None:
    sessions = tree / ".dagent" / "sessions"
    listener.follow(sessions)
    sessions.rmdir()
    listener.sees_folder(sessions)
    assert not listener.problems  # that a worktree goes is nothing wrong


def test_a_symbolic_link_on_the_way_or_at_the_end(listener: Listener, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(tree)
    (tmp_path / "end").symlink_to(tree / ".dagent")
    through, end = tmp_path / "way" / ".dagent" / "sessions", tmp_path / "end"
    listener.follow(through, end)
    listener.sees_writing(through)
    (tree / ".dagent" / "sessions" / "direct").write_text("x")
    (tree / ".dagent" / "file").write_text("x")
    listener.sees(through / "direct", end / "file")
    (tmp_path / "end").unlink()
    (tmp_path / "end").symlink_to(tree)
    listener.sees_folder(end)
    listener.sees_writing(end)


def test_one_folder_under_two_names_is_told_under_both(listener: Listener, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    listener.follow(tree, tmp_path / "link")
    (tree / MARK).write_text("x")
    listener.sees(tree / MARK, tmp_path / "link" / MARK)
    listener.watch.follow([tmp_path / "link"])
    listener.sees_writing(tmp_path / "link", "again")
    assert tree / "again" not in listener.paths


def test_a_file_where_a_folder_should_be(listener: Listener, tmp_path: Path) -> None:
    (tmp_path / "thing").write_text("x")
    listener.watch.follow([tmp_path / "thing"])
    assert listener.watch.status().absent == 1
    (tmp_path / "thing").unlink()
    (tmp_path / "thing").mkdir()
    listener.sees_folder(tmp_path / "thing")
    listener.sees_writing(tmp_path / "thing")


def test_folders_that_may_not_be_read_are_named_and_taken_up_when_they_may(listener: Listener, tree: Path) -> None:
    closed = [tree / "one", tree / "two"]
    (closed[0] / "inner").mkdir(parents=True)
    closed[1].mkdir()
    for folder in closed:
        folder.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        listener.watch.follow([closed[0] / "inner", *closed])  # what is in one goes without saying
    finally:
        if root:
            os.seteuid(0)
    status = listener.watch.status()
    assert status.absent == 3
    assert sorted((each.id, each.path) for each in status.problems) == [("watch-refused", str(each)) for each in closed]
    for folder in closed:
        folder.chmod(0o700)
    listener.sees_folder(*closed)
    listener.sees_writing(closed[0])
    assert not listener.problems
