"""What lies in a tree is reached beneath its worktree, by the kernel, or where that cannot, part by part."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from dagentd.adapters.files import beneath, disk, fileio
from dagentd.errors import NotAllowed

LIMIT = 40  # descriptors


@pytest.fixture(params=["kernel", "parts"])
def sessions(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a tree with a file in it, beside a worktree's outside with one of the same name."""
    if request.param == "parts":
        monkeypatch.setattr(beneath, "_has_openat2", lambda: False)
    elif not beneath._has_openat2():
        pytest.skip("this kernel has no openat2")
    folder = tmp_path / "worktree" / ".dagent" / "features" / "f" / "sessions"
    folder.mkdir(parents=True)
    (tmp_path / "outside" / "f" / "sessions").mkdir(parents=True)
    (folder / "chat.json").write_text("worktree")
    (tmp_path / "outside" / "f" / "sessions" / "chat.json").write_text("outside")
    return folder


def outside(sessions: Path) -> Path:
    return sessions.parents[4] / "outside"


def leave(sessions: Path, which: int) -> None:
    """Exchange the folder, or one above it, for a link out of the worktree."""
    folder, target = [sessions, sessions.parent, sessions.parents[1]][which], ["f/sessions", "f", ""][which]
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(outside(sessions) / target)


USES: dict[str, Callable[[Path], object]] = {
    "read": lambda folder: fileio.descriptor(folder / "chat.json"),
    "append": lambda folder: disk.open_append(folder / "chat.json"),
    "create": lambda folder: disk.create(folder / "new"),
    "folder": beneath.opened_folder,
    "names": beneath.names,
    "status": lambda folder: beneath.status(folder / "chat.json"),
    "link from": lambda folder: disk.link(folder / "chat.json", folder.parents[3] / "linked"),
    "link to": lambda folder: disk.link(folder.parents[3] / "mine", folder / "linked"),
    "rename from": lambda folder: disk.rename_new(folder / "chat.json", folder.parents[3] / "renamed"),
    "rename to": lambda folder: disk.rename_new(folder.parents[3] / "mine", folder / "renamed"),
    "exchange": lambda folder: disk.exchange(folder.parents[3] / "mine", folder / "chat.json"),
    "remove": lambda folder: disk.remove(folder / "chat.json"),
    "make folder": lambda folder: disk.make_folder(folder / "made"),
    "remove folder": lambda folder: disk.remove_folder(folder / "empty"),
}


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("use", USES)
def test_no_use_leads_out(sessions: Path, use: str, which: int) -> None:
    (sessions.parents[3] / "mine").write_text("mine")
    (outside(sessions) / "f" / "sessions" / "empty").mkdir()
    before = sorted(outside(sessions).rglob("*"))
    leave(sessions, which)
    with pytest.raises(OSError) as caught:
        USES[use](sessions)
    assert caught.value.errno == errno.ELOOP and str(sessions) in str(caught.value.filename)
    assert sorted(outside(sessions).rglob("*")) == before
    assert (outside(sessions) / "f" / "sessions" / "chat.json").read_text() == "outside"
    assert beneath.leads_out(sessions)


def test_without_links_all_is_as_ever(sessions: Path) -> None:
    fd = disk.create(sessions / "new")
    os.close(fd)
    disk.rename_new(sessions / "new", sessions / "other")
    disk.link(sessions / "other", sessions / "second")
    assert disk.exchange(sessions / "second", sessions / "chat.json")
    assert sorted(beneath.names(sessions)) == ["chat.json", "other", "second"]
    assert fileio.read(sessions / "second") == b"worktree" and not beneath.leads_out(sessions)
    with pytest.raises(FileNotFoundError) as caught:
        disk.remove(sessions / "nothing")
    assert caught.value.filename == str(sessions / "nothing")
    with pytest.raises(NotADirectoryError):
        beneath.names(sessions / "chat.json")


def test_a_link_that_stays_in_the_worktree_is_followed_where_the_kernel_can(tmp_path: Path) -> None:
    folder = tmp_path / "worktree" / ".dagent" / "real"
    folder.mkdir(parents=True)
    (folder / "chat.json").write_text("inside")
    (folder.parent / "sessions").symlink_to("real")
    if beneath._has_openat2():
        assert fileio.read(folder.parent / "sessions" / "chat.json") == b"inside"
        assert not beneath.leads_out(folder.parent / "sessions")
    else:
        with pytest.raises(NotAllowed):
            fileio.read(folder.parent / "sessions" / "chat.json")


def test_what_is_in_no_tree_may_be_behind_links(tmp_path: Path) -> None:
    """The user's own choice: a home, or a folder of projects."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "state.json").write_text("{}")
    (tmp_path / "link").symlink_to("real")
    assert fileio.read(tmp_path / "link" / "state.json") == b"{}"


def test_nothing_stays_open_however_many_worktrees_there_are(sessions: Path) -> None:
    trees = [sessions.parents[4] / f"w{number}" / ".dagent" for number in range(300)]
    for tree in trees:
        tree.mkdir(parents=True)
        (tree / "feature.json").write_text("{}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT + max(map(int, os.listdir("/dev/fd"))), hard))
    try:
        for tree in trees:
            assert beneath.names(tree) == ["feature.json"] and fileio.read(tree / "feature.json") == b"{}"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
