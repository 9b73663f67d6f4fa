"""What is backed up and what is set aside: each content once, and not without end."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from dagentd.adapters.files import atomic, backups, disk
from dagentd.errors import DagentdError

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left_open")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_set_aside_takes_the_next_number(path: Path) -> None:
    for number in (1, 2, 3):
        path.write_bytes(b"bad %d" % number)
        moved = backups.set_aside(path, "corrupt")
        assert moved.name == f"chat.json.corrupt.{number}" and moved.read_bytes() == b"bad %d" % number
    assert not path.exists()


def test_the_same_bytes_are_kept_once(path: Path) -> None:
    first = backups.save_beside(path, "torn", b"half")
    assert backups.save_beside(path, "torn", b"half") == first
    second = backups.save_beside(path, "torn", b"other half")
    assert [first.name, second.name] == ["chat.json.torn.1", "chat.json.torn.2"]
    assert (first.read_bytes(), second.read_bytes()) == (b"half", b"other half")
    assert names(path.parent) == [first.name, second.name]


def test_of_what_is_set_aside_the_first_and_the_newest_stay(path: Path) -> None:
    """A program that writes rubbish all day must not fill the disk (P10)."""
    for number in range(1, 31):
        path.write_bytes(b"bad %d" % number)
        moved = backups.set_aside(path, "corrupt")
        saved = backups.save_beside(path, "torn", b"half %d" % number)
        assert moved.read_bytes() == b"bad %d" % number and saved.read_bytes() == b"half %d" % number
    for kind, text in (("corrupt", b"bad"), ("torn", b"half")):
        held = {each.name: each.read_bytes() for each in path.parent.glob(f"*.{kind}.*")}
        assert held == {f"chat.json.{kind}.{n}": text + b" %d" % n for n in (1, *range(22, 31))}


@pytest.mark.parametrize("again", [1, 2, 3])
def test_what_is_set_aside_again_is_held_once_and_by_the_file_that_may_yet_be_written(path: Path, again: int) -> None:
    for number in (1, 2, 3):
        path.write_bytes(b"bad %d" % number)
        backups.set_aside(path, "corrupt")
    path.write_bytes(b"bad %d" % again)
    inode = path.stat().st_ino
    moved = backups.set_aside(path, "corrupt")
    held = [each.read_bytes() for each in path.parent.iterdir()]
    assert sorted(held) == [b"bad 1", b"bad 2", b"bad 3"] and moved.stat().st_ino == inode
    assert path.with_name("chat.json.corrupt.1").read_bytes() == b"bad 1"


def test_what_is_replaced_keeps_a_second_name(path: Path) -> None:
    path.write_bytes(b"bad")
    with path.open("ab") as app, backups.replacing(path, "corrupt") as done:
        assert path.read_bytes() == b"bad" and not done
        path.with_name("new").write_bytes(b"good")
        path.with_name("new").rename(path)
        app.write(b", and more")
    assert path.read_bytes() == b"good" and done[0].read_bytes() == b"bad, and more"


def test_what_is_replaced_again_is_held_once(path: Path) -> None:
    for number in range(3):
        path.write_bytes(b"bad")
        with backups.replacing(path, "corrupt") as done:
            path.unlink()
        assert names(path.parent) == [done[0].name] == ["chat.json.corrupt.1"], number


def test_where_nothing_took_its_place_it_has_no_second_name(path: Path) -> None:
    path.write_bytes(b"bad")
    with pytest.raises(atomic.Changed), backups.replacing(path, "corrupt"):
        raise atomic.Changed(path)
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EMLINK])
def test_a_copy_is_kept_where_there_are_no_second_names(
    path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(what: str, at: str | Path) -> None:
        if what == "link":
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(disk, "step", step)
    path.write_bytes(b"bad")
    with backups.replacing(path, "corrupt") as done:
        path.write_bytes(b"good")
    assert done[0].read_bytes() == b"bad" and names(path.parent) == [path.name, done[0].name]


def test_one_that_vanished_is_to_be_looked_at_again(path: Path) -> None:
    with pytest.raises(atomic.Changed), backups.replacing(path, "corrupt"):
        pass
    assert names(path.parent) == []


@pytest.mark.parametrize(("gone", "expected"), [("chat.json", FileNotFoundError), ("sessions/a", atomic.Changed)])
def test_no_backup_appears_in_a_folder_that_is_being_removed(
    path: Path, gone: str, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git had read what is in it, and failed to remove it with one more: it was at the sessions, the file was last."""
    path.write_bytes(b"old")
    (path.parent / "sessions").mkdir()
    (path.parent / "sessions" / "a").write_bytes(b"")
    real = disk.rename_new

    def rename_new(source: Path, target: Path) -> None:
        real(source, target)
        (path.parent / gone).unlink()

    monkeypatch.setattr(disk, "rename_new", rename_new)
    with pytest.raises(expected):
        backups.back_up(path, 5)
    assert not [name for name in names(path.parent) if "backup" in name or "tmp" in name]


def test_the_first_backup_stays_for_ever_and_of_the_others_the_newest(path: Path) -> None:
    made = []
    for number in range(14):
        path.write_bytes(b"content %d" % number)
        made.append(backups.back_up(path, keep=5).name)
    assert made[0] == "chat.json.backup" and made[13] == "chat.json.backup.13"
    assert path.with_name("chat.json.backup").read_bytes() == b"content 0"
    held = {name: path.with_name(name).read_bytes() for name in names(path.parent) if ".backup." in name}
    assert held == {f"chat.json.backup.{number}": b"content %d" % number for number in range(9, 14)}


def test_what_is_gone_gets_no_backup(path: Path) -> None:
    """git, which removes the folder, would find one name more than it read."""
    with pytest.raises(FileNotFoundError):
        backups.back_up(path, keep=5, data=b"read before it went")
    assert names(path.parent) == []


def test_equal_content_is_not_backed_up_twice(path: Path) -> None:
    path.write_bytes(b"a")
    first = backups.back_up(path, keep=5)
    path.write_bytes(b"b")
    second = backups.back_up(path, keep=5)
    assert backups.back_up(path, keep=5) == second
    path.write_bytes(b"a")
    assert backups.back_up(path, keep=5) == first
    assert names(path.parent) == ["chat.json", "chat.json.backup", "chat.json.backup.1"]


@pytest.mark.parametrize("keep", [0, 1])
def test_few_backups_are_few(path: Path, keep: int) -> None:
    for number in range(4):
        path.write_bytes(b"content %d" % number)
        backups.back_up(path, keep=keep)
    held = [name for name in names(path.parent) if ".backup." in name]
    assert held == ["chat.json.backup.3"]  # the one just made, whatever the settings say
    assert path.with_name("chat.json.backup").read_bytes() == b"content 0"


def test_names_that_only_look_like_backups_are_left_alone(path: Path) -> None:
    others = ["chat.json.backup.old", "chat.json.backup.1.txt", "chat.json.backup.٣", "chat.json.backup.007"]
    for name in others:
        path.with_name(name).write_bytes(b"theirs")
    for number in range(4):
        path.write_bytes(b"content %d" % number)
        backups.back_up(path, keep=1)
    assert all(path.with_name(name).read_bytes() == b"theirs" for name in others)


def test_a_backup_that_is_a_link_is_not_followed(path: Path) -> None:
    path.write_bytes(b"a")
    path.with_name("chat.json.backup").symlink_to("elsewhere")
    with pytest.raises(DagentdError, match="symbolic link"):
        backups.back_up(path, keep=5)
    assert path.read_bytes() == b"a" and not path.with_name("elsewhere").exists()
