"""Whole files: replaced without losing what another program wrote, backed up, set aside, cleaned up."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters import aside, disk, files
from dagentd.adapters.temps import left_beside
from dagentd.errors import CorruptFile, DagentdError, NotAllowed


def put(path: Path, data: bytes, expect: bytes | None, sync: bool = False) -> files.Published:
    return files.publish(path, [data], expect=None if expect is None else files.digest(expect), sync=sync)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def at_rename(monkeypatch: pytest.MonkeyPatch, act: object) -> None:
    """Do something at the last instant before a name changes hands: after the bytes were compared."""
    assert callable(act)
    done: list[str] = []

    def step(what: str, path: str | Path) -> None:
        if what == "rename" and not done:
            done.append(what)
            act()

    monkeypatch.setattr(disk, "step", step)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.json"


@pytest.fixture(autouse=True)
def no_descriptor_is_left_open() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    yield
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


# --- publish ----------------------------------------------------------------------------------------------


def test_a_new_file_is_private_and_whole(path: Path) -> None:
    old_mask = os.umask(0)
    try:
        done = files.publish(path, [b"one ", b"two"], expect=None, sync=True)
    finally:
        os.umask(old_mask)
    assert path.read_bytes() == b"one two" and done.digest == files.digest(b"one two") and done.replaced is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(path.parent) == ["chat.json"]


def test_a_folder_is_private(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        disk.make_folder(tmp_path / "sessions")
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE((tmp_path / "sessions").stat().st_mode) == 0o700


def test_nothing_is_replaced_that_was_not_read(path: Path) -> None:
    path.write_bytes(b"theirs")
    with pytest.raises(files.Changed):
        put(path, b"ours", expect=None)
    with pytest.raises(files.Changed):
        put(path, b"ours", expect=b"what we knew")
    assert path.read_bytes() == b"theirs" and names(path.parent) == ["chat.json"]


def test_a_file_that_is_gone_is_not_made_again(path: Path) -> None:
    with pytest.raises(files.Changed):
        put(path, b"ours", expect=b"what we knew")
    assert names(path.parent) == []


def test_a_file_that_vanishes_at_the_last_instant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    at_rename(monkeypatch, path.unlink)
    with pytest.raises(files.Changed):
        put(path, b"ours", expect=b"old")
    assert names(path.parent) == []


def test_a_file_that_appears_at_the_last_instant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_rename(monkeypatch, lambda: path.write_bytes(b"theirs"))
    with pytest.raises(files.Changed):
        put(path, b"ours", expect=None)
    assert path.read_bytes() == b"theirs" and names(path.parent) == ["chat.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666])
def test_an_existing_file_keeps_its_mode(path: Path, mode: int) -> None:
    path.write_bytes(b"old")
    path.chmod(mode)
    done = put(path, b"new", expect=b"old")
    assert done.replaced is not None
    done.replaced.close()
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_an_existing_file_keeps_its_owner(path: Path) -> None:
    path.write_bytes(b"old")
    os.chown(path, 65534, 65534)
    done = put(path, b"new", expect=b"old")
    assert done.replaced is not None
    done.replaced.close()
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_the_replaced_file_is_still_there_to_be_read(path: Path) -> None:
    path.write_bytes(b"old")
    with path.open("r+b") as theirs:
        done = put(path, b"new", expect=b"old")
        assert done.replaced is not None and done.replaced.read() == b"old"
        theirs.truncate()
        theirs.write(b"late news")
        theirs.flush()
        assert done.replaced.read() == b"late news" and path.read_bytes() == b"new"
    done.replaced.close()
    assert names(path.parent) == ["chat.json"]


def test_what_was_replaced_outlives_us_until_it_is_taken_in(path: Path) -> None:
    path.write_bytes(b"old")
    done = put(path, b"new", expect=b"old")
    assert done.replaced is not None
    done.replaced.leave()
    ((temp, target),) = left_beside(path.parent)
    assert temp.read_bytes() == b"old" and target == path


def test_written_into_at_the_last_instant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    at_rename(monkeypatch, lambda: path.write_bytes(b"their last word"))
    done = put(path, b"new", expect=b"old")
    assert done.replaced is not None and done.replaced.read() == b"their last word"
    assert done.replaced.seen == files.digest(b"old")
    done.replaced.close()


def test_renamed_into_place_at_the_last_instant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    saved = path.with_name("saved~")
    saved.write_bytes(b"an editor's save")
    at_rename(monkeypatch, lambda: saved.replace(path))
    done = put(path, b"new", expect=b"old")
    assert done.replaced is not None and done.replaced.read() == b"an editor's save"
    done.replaced.close()
    assert path.read_bytes() == b"new" and names(path.parent) == ["chat.json"]


def test_a_link_put_in_place_at_the_last_instant_is_given_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")

    def act() -> None:
        path.unlink()
        path.symlink_to("elsewhere")

    at_rename(monkeypatch, act)
    with pytest.raises(NotAllowed, match="symbolic link"):
        put(path, b"new", expect=b"old")
    assert os.readlink(path) == "elsewhere" and names(path.parent) == ["chat.json"]


@pytest.mark.parametrize("what", ["create", "chmod", "write", "fsync", "rename"])
def test_a_failure_at_any_step_leaves_the_old_file_and_no_temp(
    path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"old")

    def step(now: str, _: str | Path) -> None:
        if now == what:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(disk, "step", step)
    with pytest.raises(OSError, match="Input/output"):
        put(path, b"new", expect=b"old", sync=True)
    assert path.read_bytes() == b"old" and names(path.parent) == ["chat.json"]


def test_without_a_descriptor_for_the_folder_nothing_happens(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    real = os.open

    def refuse(opened: str | Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_DIRECTORY:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(opened, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match="Too many"):
        put(path, b"new", expect=b"old", sync=True)
    monkeypatch.undo()
    assert path.read_bytes() == b"old" and names(path.parent) == ["chat.json"]


def test_the_first_failure_is_told_even_if_the_temp_cannot_be_removed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(now: str, _: str | Path) -> None:
        if now in ("write", "unlink"):
            raise OSError({"write": 28, "unlink": 30}[now], now)

    monkeypatch.setattr(disk, "step", step)
    with pytest.raises(OSError, match="write") as caught:
        put(path, b"new", expect=None)
    assert caught.value.errno == 28


def test_short_writes_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "write_some", lambda fd, data: os.write(fd, data[:3]))
    put(path, b"twelve bytes", expect=None)
    assert path.read_bytes() == b"twelve bytes"


def test_where_names_cannot_be_exchanged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_renameat2", None)
    put(path, b"first", expect=None)
    with pytest.raises(files.Changed):
        put(path, b"again", expect=None)
    done = put(path, b"second", expect=b"first")
    assert done.replaced is not None and done.replaced.read() == b"first"
    done.replaced.close()
    assert path.read_bytes() == b"second" and names(path.parent) == ["chat.json"]


def test_two_at_once_use_two_temp_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_rename(monkeypatch, lambda: put(path, b"the other", expect=None))
    with pytest.raises(files.Changed):
        put(path, b"one", expect=None)
    assert path.read_bytes() == b"the other" and names(path.parent) == ["chat.json"]


# --- read -------------------------------------------------------------------------------------------------


def test_what_is_no_regular_file_is_refused_at_once(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"secret")
    path.symlink_to(other)
    with pytest.raises(NotAllowed) as caught:
        files.read(path)
    assert str(path) in str(caught.value) and caught.value.hint
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotAllowed, match="regular file"):
        files.read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(NotAllowed):
        files.read(path)


def test_too_large_is_said_and_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(files.DOCUMENT_LIMIT + (1 << 20))
    with pytest.raises(CorruptFile, match="17 MiB") as caught:
        files.read(path)
    assert caught.value.path == str(path) and caught.value.hint


# --- set aside, keep, back up -------------------------------------------------------------------------------


def test_set_aside_takes_the_next_number(path: Path) -> None:
    for number in (1, 2, 3):
        path.write_bytes(b"bad %d" % number)
        moved = aside.set_aside(path, "corrupt")
        assert moved.name == f"chat.json.corrupt.{number}" and moved.read_bytes() == b"bad %d" % number
    assert not path.exists()


def test_the_same_bytes_are_kept_once(path: Path) -> None:
    first = aside.save_beside(path, "torn", b"half")
    assert aside.save_beside(path, "torn", b"half") == first
    second = aside.save_beside(path, "torn", b"other half")
    assert [first.name, second.name] == ["chat.json.torn.1", "chat.json.torn.2"]
    assert (first.read_bytes(), second.read_bytes()) == (b"half", b"other half")
    assert names(path.parent) == [first.name, second.name]


def test_of_what_is_set_aside_the_first_and_the_newest_stay(path: Path) -> None:
    """A program that writes rubbish all day must not fill the disk (P10)."""
    for number in range(1, 31):
        path.write_bytes(b"bad %d" % number)
        moved = aside.set_aside(path, "corrupt")
        saved = aside.save_beside(path, "torn", b"half %d" % number)
        assert moved.read_bytes() == b"bad %d" % number and saved.read_bytes() == b"half %d" % number
    for kind, text in (("corrupt", b"bad"), ("torn", b"half")):
        held = {each.name: each.read_bytes() for each in path.parent.glob(f"*.{kind}.*")}
        assert held == {f"chat.json.{kind}.{n}": text + b" %d" % n for n in (1, *range(22, 31))}


@pytest.mark.parametrize("again", [1, 2, 3])
def test_what_is_set_aside_again_is_held_once_and_by_the_file_that_may_yet_be_written(path: Path, again: int) -> None:
    for number in (1, 2, 3):
        path.write_bytes(b"bad %d" % number)
        aside.set_aside(path, "corrupt")
    path.write_bytes(b"bad %d" % again)
    inode = path.stat().st_ino
    moved = aside.set_aside(path, "corrupt")
    held = [each.read_bytes() for each in path.parent.iterdir()]
    assert sorted(held) == [b"bad 1", b"bad 2", b"bad 3"] and moved.stat().st_ino == inode
    assert path.with_name("chat.json.corrupt.1").read_bytes() == b"bad 1"


def test_the_first_backup_stays_for_ever_and_of_the_others_the_newest(path: Path) -> None:
    made = []
    for number in range(14):
        path.write_bytes(b"content %d" % number)
        made.append(files.back_up(path, keep=5).name)
    assert made[0] == "chat.json.backup" and made[13] == "chat.json.backup.13"
    assert path.with_name("chat.json.backup").read_bytes() == b"content 0"
    held = {name: path.with_name(name).read_bytes() for name in names(path.parent) if ".backup." in name}
    assert held == {f"chat.json.backup.{number}": b"content %d" % number for number in range(9, 14)}


def test_what_is_gone_gets_no_backup(path: Path) -> None:
    """git, which removes the folder, would find one name more than it read."""
    with pytest.raises(FileNotFoundError):
        files.back_up(path, keep=5, data=b"read before it went")
    assert names(path.parent) == []


def test_equal_content_is_not_backed_up_twice(path: Path) -> None:
    path.write_bytes(b"a")
    first = files.back_up(path, keep=5)
    path.write_bytes(b"b")
    second = files.back_up(path, keep=5)
    assert files.back_up(path, keep=5) == second
    path.write_bytes(b"a")
    assert files.back_up(path, keep=5) == first
    assert names(path.parent) == ["chat.json", "chat.json.backup", "chat.json.backup.1"]


@pytest.mark.parametrize("keep", [0, 1])
def test_few_backups_are_few(path: Path, keep: int) -> None:
    for number in range(4):
        path.write_bytes(b"content %d" % number)
        files.back_up(path, keep=keep)
    held = [name for name in names(path.parent) if ".backup." in name]
    assert held == ["chat.json.backup.3"]  # the one just made, whatever the settings say
    assert path.with_name("chat.json.backup").read_bytes() == b"content 0"


def test_names_that_only_look_like_backups_are_left_alone(path: Path) -> None:
    others = ["chat.json.backup.old", "chat.json.backup.1.txt", "chat.json.backup.٣", "chat.json.backup.007"]
    for name in others:
        path.with_name(name).write_bytes(b"theirs")
    for number in range(4):
        path.write_bytes(b"content %d" % number)
        files.back_up(path, keep=1)
    assert all(path.with_name(name).read_bytes() == b"theirs" for name in others)


def test_a_backup_that_is_a_link_is_not_followed(path: Path) -> None:
    path.write_bytes(b"a")
    path.with_name("chat.json.backup").symlink_to("elsewhere")
    with pytest.raises(DagentdError, match="symbolic link"):
        files.back_up(path, keep=5)
    assert path.read_bytes() == b"a" and not path.with_name("elsewhere").exists()


