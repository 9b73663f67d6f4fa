"""Where nobody tells of changes they are looked for; and how it is known where that is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagentd.adapters.watch import coverage
from dagentd.adapters.watch.coverage import Mounts
from tests.adapters.watch.watching import MARK, Listener, listening

TABLE = (
    rb"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:40 / /mnt/net rw,relatime shared:1 master:2 - nfs4 server:/export rw
31 30 0:41 / /mnt/net/local rw - tmpfs tmpfs rw
32 27 0:42 / /mnt/with\040space\012and\134more rw - fuse.sshfs user@host:/ rw
33 27 0:43 / /mnt/twice rw - cifs //server/share rw
34 27 0:44 / /mnt/twice rw - ext4 /dev/vdb rw
35 27 0:45 / /mnt/not-utf8-"""
    + b"\xff rw - 9p host rw\nbroken line\n\n"
)

REMOTE = ["9p", "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse", "fuse.sshfs", "fuseblk", "virtiofs", "vboxsf", "ceph"]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", None),
        ("/home/someone", None),
        ("/mnt/net", "nfs4"),
        ("/mnt/net/a/b", "nfs4"),
        ("/mnt/network", None),
        ("/mnt/net/local/a", None),
        ("/mnt/with space\nand\\more/a", "fuse.sshfs"),
        ("/mnt/twice/a", None),
        (os.fsdecode(b"/mnt/not-utf8-\xff/a"), "9p"),
    ],
)
def test_the_mount_a_folder_is_on(folder: str, kind: str | None) -> None:
    assert Mounts(TABLE).remote_kind(Path(folder)) == kind


@pytest.mark.parametrize("kind", REMOTE)
def test_types_that_do_not_announce(kind: str) -> None:
    assert Mounts(b"1 1 0:1 / / rw - %s x rw" % kind.encode()).remote_kind(Path("/a")) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "f2fs", "nfsd"])
def test_types_that_do(kind: str) -> None:
    assert Mounts(b"1 1 0:1 / / rw - %s x rw" % kind.encode()).remote_kind(Path("/a")) is None


def test_here_everything_is_mounted_on_something(tmp_path: Path) -> None:
    assert Mounts.now().remote_kind(tmp_path) is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "folder"
    found.mkdir()
    (found / "before").write_text("x")
    return found


@pytest.fixture
def listener(tmp_path: Path, folder: Path) -> Iterator[Listener]:
    with listening(tmp_path / "state", mode="poll") as found:
        found.follow(folder)
        yield found


def test_what_is_written_replaced_and_removed_is_found(listener: Listener, folder: Path) -> None:
    odd = os.fsdecode(b"odd \n\xff")
    (folder / "before").write_text("longer")
    (folder / odd).write_text("x")
    (folder / "sub").mkdir()
    listener.sees(folder / "before", folder / odd, folder / "sub")
    listener.forget()
    (folder / "temp").write_text("yyyyyy")
    (folder / "temp").rename(folder / "before")
    (folder / odd).unlink()
    listener.sees(folder / "before", folder / odd)
    listener.sees_writing(folder, "between")
    listener.forget()
    (folder / "sub" / "below").write_text("x")
    listener.sees_writing(folder)
    assert listener.paths == {folder / MARK}
    assert listener.folders == set()


def test_it_is_polled_only_and_says_so(listener: Listener) -> None:
    status = listener.watch.status()
    assert (status.mode, status.native, status.polled) == ("poll", 0, 1)
    assert status.problems == ()  # it was asked for


def test_a_folder_that_vanishes_and_comes_back(listener: Listener, folder: Path) -> None:
    shutil.rmtree(folder)
    listener.sees_folder(folder)
    listener.forget()
    folder.mkdir()
    listener.sees_folder(folder)
    listener.sees_writing(folder)


def test_a_folder_that_is_followed_before_it_is_there(listener: Listener, folder: Path) -> None:
    listener.watch.follow([folder, folder / "later"])
    listener.sees_writing(folder)
    assert listener.folders == set()
    (folder / "later").mkdir()
    listener.sees_folder(folder / "later")
    listener.sees_writing(folder / "later")


def test_a_folder_no_longer_followed_is_forgotten(listener: Listener, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    listener.follow(other)
    (folder / "new").write_text("x")
    listener.sees_writing(other)
    assert listener.paths == {other / MARK}
    listener.watch.follow([folder])
    listener.sees_folder(folder)  # as something new


def test_the_more_there_is_to_look_at_the_less_often(
    listener: Listener, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poller = listener.watch._coverage._poller
    assert poller.interval == coverage.INTERVAL
    monkeypatch.setattr(coverage, "SHARE", 1e-7)
    listener.until(lambda: poller.interval > coverage.INTERVAL, "a longer pause")


def test_folders_on_a_remote_mount_are_polled_and_the_others_are_not(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = tmp_path / "remote"
    remote.mkdir()
    table = tmp_path / "mountinfo"
    table.write_bytes(b"1 1 0:1 / / rw - ext4 x rw\n2 1 0:2 / %s rw - nfs4 x rw\n" % os.fsencode(remote))
    monkeypatch.setattr(coverage, "MOUNT_TABLE", table)
    with listening(tmp_path / "state") as listener:
        listener.follow(folder, remote)
        status = listener.watch.status()
        assert (status.mode, status.native, status.polled) == ("mixed", 2, 1)
        assert "1 folders are on nfs4 and are polled" in listener.problems["watch-mount"]
        listener.sees_writing_in(folder, remote)
        table.write_bytes(b"1 1 0:1 / / rw - ext4 x rw\n")  # as after umount, with a local folder under it
        listener.until(lambda: listener.watch.status().mode == "native", "a look at the mounts")
        listener.sees_writing_in(folder, remote, name="again")
        assert not listener.problems


def test_a_state_folder_that_is_polled_hides_the_cookie_too(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, state = tmp_path / "mountinfo", tmp_path / "state"
    table.write_bytes(b"1 1 0:1 / / rw - nfs4 x rw\n")
    monkeypatch.setattr(coverage, "MOUNT_TABLE", table)
    with listening(state) as listener:
        listener.follow(state, folder)
        (state / "cookie").unlink()
        for name in ("one", "two"):  # each is found by another round, the second after a look at the new cookie
            listener.sees_writing(folder, name)
        assert listener.paths == {folder / "one", folder / "two"}
        assert listener.incidents == ""


def test_native_overrules_the_type_of_the_mount(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mountinfo"
    table.write_bytes(b"1 1 0:1 / / rw - nfs4 x rw\n")
    monkeypatch.setattr(coverage, "MOUNT_TABLE", table)
    with listening(tmp_path / "state", mode="native") as listener:
        listener.follow(folder)
        assert listener.watch.status().mode == "native"
    with listening(tmp_path / "state", mode="auto") as listener:
        listener.follow(folder)
        assert listener.watch.status().mode == "poll"


def test_no_mount_table_is_no_remote_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "MOUNT_TABLE", tmp_path / "none")
    assert Mounts.now().remote_kind(tmp_path) is None
