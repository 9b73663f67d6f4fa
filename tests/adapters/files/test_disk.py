"""The door for durable writes: what each call does, and how the system's refusals are told."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from pathlib import Path

import pytest

from dagentd.adapters.files import disk
from dagentd.errors import DagentdError, LimitReached, NotAllowed, NotFound


def test_every_change_passes_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The crash tests stop at each of these: one that is not announced would not be tested."""
    seen: list[str] = []
    monkeypatch.setattr(disk, "step", lambda what, path: seen.append(what))
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    fd = disk.create(a)
    disk.write(fd, b"x", a)
    disk.sync_data(fd, a)
    disk.sync(fd, a)
    disk.cut(fd, 0, a)
    disk.like(fd, a.stat(), a)
    os.close(fd)
    disk.link(a, b)
    disk.rename_new(b, c)
    assert disk.exchange(a, c) in (True, False)
    disk.remove(c)
    disk.make_folder(tmp_path / "d")
    disk.sync_folder(tmp_path)
    assert seen == [
        "create", "write", "fdatasync", "fsync", "truncate", "chmod", "link", "rename", "rename", "unlink",
        "mkdir", "fsync", "fsync",
    ]  # fmt: skip


def test_create_never_takes_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.symlink_to("elsewhere")
    with pytest.raises(FileExistsError):
        disk.create(path)
    assert not (tmp_path / "elsewhere").exists()


def test_append_follows_no_link_and_waits_for_nobody(tmp_path: Path) -> None:
    target, link, fifo = tmp_path / "target", tmp_path / "link", tmp_path / "fifo"
    target.write_bytes(b"")
    link.symlink_to(target)
    os.mkfifo(fifo)
    with pytest.raises(OSError) as caught:
        disk.open_append(link)
    assert caught.value.errno == errno.ELOOP
    os.close(disk.open_append(fifo))


def test_append_goes_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    fd = disk.open_append(path)
    disk.write(fd, b" two", path)
    os.close(fd)
    assert path.read_bytes() == b"one two"


@pytest.mark.parametrize("flags", [True, False], ids=["renameat2", "without"])
def test_rename_never_goes_over_something(tmp_path: Path, flags: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not flags:
        monkeypatch.setattr(disk, "_renameat2", None)
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"a")
    b.write_bytes(b"b")
    with pytest.raises(FileExistsError):
        disk.rename_new(a, b)
    assert (a.read_bytes(), b.read_bytes()) == (b"a", b"b")
    disk.rename_new(a, tmp_path / "c")
    assert not a.exists() and (tmp_path / "c").read_bytes() == b"a"


def test_a_file_system_that_knows_no_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """renameat2 is there and says EINVAL: NFS, some FUSE."""
    monkeypatch.setattr(disk, "_renameat2", lambda *_: -1)
    monkeypatch.setattr(ctypes, "get_errno", lambda: errno.EINVAL)
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"a")
    b.write_bytes(b"b")
    assert disk.exchange(a, b) is False
    assert b.read_bytes() == b"a" and not a.exists()


def test_a_new_folder_must_have_its_parent(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        disk.make_folder(tmp_path / "gone" / "sessions")
    assert os.listdir(tmp_path) == []


def test_an_interrupted_owner_change_keeps_the_mode(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o640)
    fd = disk.create(new)
    disk.like(fd, old.stat(), new)
    os.close(fd)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, LimitReached, "full"),
        (errno.EDQUOT, LimitReached, "quota"),
        (errno.EFBIG, LimitReached, "larger"),
        (errno.EMFILE, LimitReached, "too many files"),
        (errno.EROFS, NotAllowed, "read-only"),
        (errno.EACCES, NotAllowed, "permission"),
        (errno.EPERM, NotAllowed, "not allow"),
        (errno.ELOOP, NotAllowed, "symbolic link"),
        (errno.ENAMETOOLONG, NotAllowed, "too long"),
        (errno.ENOENT, NotFound, "not there"),
        (errno.ENOTDIR, NotAllowed, "not a folder"),
        (errno.EISDIR, NotAllowed, "folder where a file"),
        (errno.EIO, DagentdError, "Input/output error"),
    ],
)
def test_refusals_are_told_with_the_file_and_what_to_do(number: int, kind: type[DagentdError], words: str) -> None:
    path = Path("/somewhere/chat.json")
    with pytest.raises(kind) as caught, disk.explained(path):
        raise OSError(number, os.strerror(number))
    told = caught.value
    assert words in told.message and told.path == str(path) and told.hint and str(path) in str(told)


def test_folders_that_somebody_else_makes_meanwhile_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(what: str, path: str | Path) -> None:
        if what == "mkdir":
            os.mkdir(path)

    monkeypatch.setattr(disk, "step", meanwhile)
    disk.make_folders(tmp_path / "one" / "two")
    assert (tmp_path / "one" / "two").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        disk.make_folders(tmp_path / "file" / "three")
