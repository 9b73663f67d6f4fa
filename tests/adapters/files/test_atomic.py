"""Whole files are put in place without losing what another program wrote."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.adapters.files.atomic import left_beside
from dagentd.errors import NotAllowed

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left_open")


def put(path: Path, data: bytes, expect: bytes | None, sync: bool = False) -> atomic.Published:
    return atomic.publish(path, [data], expect=None if expect is None else fileio.digest(expect), sync=sync)


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


def test_a_new_file_is_private_and_whole(path: Path) -> None:
    old_mask = os.umask(0)
    try:
        done = atomic.publish(path, [b"one ", b"two"], expect=None, sync=True)
    finally:
        os.umask(old_mask)
    assert path.read_bytes() == b"one two" and done.digest == fileio.digest(b"one two") and done.replaced is None
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
    with pytest.raises(atomic.Changed):
        put(path, b"ours", expect=None)
    with pytest.raises(atomic.Changed):
        put(path, b"ours", expect=b"what we knew")
    assert path.read_bytes() == b"theirs" and names(path.parent) == ["chat.json"]


def test_a_file_that_is_gone_is_not_made_again(path: Path) -> None:
    with pytest.raises(atomic.Changed):
        put(path, b"ours", expect=b"what we knew")
    assert names(path.parent) == []


def test_a_file_that_vanishes_at_the_last_instant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    at_rename(monkeypatch, path.unlink)
    with pytest.raises(atomic.Changed):
        put(path, b"ours", expect=b"old")
    assert names(path.parent) == []


def test_a_file_that_appears_at_the_last_instant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_rename(monkeypatch, lambda: path.write_bytes(b"theirs"))
    with pytest.raises(atomic.Changed):
        put(path, b"ours", expect=None)
    assert path.read_bytes() == b"theirs" and names(path.parent) == ["chat.json"]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_nothing_new_stays_in_a_folder_that_is_being_removed(
    path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = path.with_name("other")
    if when == "meanwhile":
        other.write_bytes(b"")
        at_rename(monkeypatch, other.unlink)
    with pytest.raises(FileNotFoundError):
        atomic.publish(path, [b"new"], expect=None, sync=True, beside=[other])
    assert names(path.parent) == []


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
    assert done.replaced.seen == fileio.digest(b"old")
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


def test_without_a_descriptor_after_the_names_were_exchanged_all_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was replaced can be read, and its temp name goes: it stayed until the next start."""
    path, real = tmp_path / ".dagent" / "chat.json", disk.exchange
    path.parent.mkdir()
    path.write_bytes(b"old")

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    def exchange(source: Path, target: Path) -> bool:
        done = real(source, target)
        monkeypatch.setattr(beneath, "_beneath", refuse)
        return done

    monkeypatch.setattr(disk, "exchange", exchange)
    replaced = put(path, b"new", expect=b"old").replaced
    assert replaced is not None and replaced.read() == b"old"
    replaced.close()
    monkeypatch.undo()
    assert path.read_bytes() == b"new" and names(path.parent) == ["chat.json"]


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
    with pytest.raises(atomic.Changed):
        put(path, b"again", expect=None)
    done = put(path, b"second", expect=b"first")
    assert done.replaced is not None and done.replaced.read() == b"first"
    done.replaced.close()
    assert path.read_bytes() == b"second" and names(path.parent) == ["chat.json"]


def test_two_at_once_use_two_temp_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_rename(monkeypatch, lambda: put(path, b"the other", expect=None))
    with pytest.raises(atomic.Changed):
        put(path, b"one", expect=None)
    assert path.read_bytes() == b"the other" and names(path.parent) == ["chat.json"]
