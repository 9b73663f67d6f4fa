"""A watcher that dies, goes deaf, is flooded or finds no room: it is noticed, put right, and said."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dagentd.adapters import watch
from tests.adapters.watch.churning import churn
from tests.adapters.watch.watching import MARK, Listener, listening
from tests.e2e.daemon import until

BURST = 60_000
CHURN = 2.0  # seconds
_MAKE_FILES = (
    "import os, sys\nfor n in range({}): os.close(os.open(f'{{sys.argv[1]}}/{{n}}', os.O_CREAT | os.O_WRONLY))"
)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "one", tmp_path / "two"]
    for folder in found:
        folder.mkdir()
    return found


@pytest.fixture
def listener(tmp_path: Path, folders: list[Path]) -> Iterator[Listener]:
    with listening(tmp_path / "state") as found:
        found.follow(*folders)
        yield found


def reader(listener: Listener) -> Any:
    inotify = listener.watch._coverage.inotify
    assert inotify is not None
    return inotify._reader


def dies(listener: Listener, folder: Path) -> None:
    """As watchdog's reader does of a KeyError."""
    old = reader(listener)
    old.handle_event = {}.pop
    (folder / "unheard").write_text("x")
    until(lambda: not old.is_alive(), "its end")


def dies_while_reading(listener: Listener, folder: Path) -> None:
    """After the next event, and still marked as reading."""
    old = reader(listener)
    old._check_inotify_fd = {}.popitem
    (folder / "last").write_text("x")
    until(lambda: not old.is_alive(), "its end")


def goes_deaf(listener: Listener, folder: Path) -> None:
    reader(listener).handle_event = lambda event: None
    (folder / "unheard").write_text("x")


def loses_its_descriptor(listener: Listener, folder: Path) -> None:
    read, write = os.pipe()
    os.dup2(read, reader(listener)._inotify_fd)
    os.close(read)
    os.close(write)
    (folder / "unheard").write_text("x")


@pytest.mark.parametrize(
    ("breaks", "told"), [(dies, "died (KeyError"), (goes_deaf, "deaf"), (loses_its_descriptor, "descriptor is broken")]
)
def test_it_is_replaced(
    listener: Listener,
    folders: list[Path],
    breaks: Callable[[Listener, Path], None],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "_AT_ONCE", 0)  # all are watched again at once, not when it is their turn
    threads, old = threading.active_count(), reader(listener)
    for _ in range(3):
        breaks(listener, folders[0])
        listener.until(lambda: listener.lost, "that something was lost")
        assert reader(listener) is not old
        listener.sees_writing_in(*folders)
        listener.forget()
    assert told in listener.incidents
    assert threading.active_count() == threads
    status = listener.watch.status()
    assert (status.native, status.absent, status.problems) == (3, 0, ())


@pytest.mark.parametrize("breaks", [dies, dies_while_reading])
def test_a_replaced_one_leaves_no_descriptor_behind(
    listener: Listener, folders: list[Path], breaks: Callable[[Listener, Path], None]
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        breaks(listener, folders[0])
        listener.until(lambda: listener.lost, "that something was lost")
        listener.forget()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_burst_that_overflows_the_queue(listener: Listener, folders: list[Path]) -> None:
    """And folders that were exchanged while nothing was heard are heard again."""
    listener.beats = False
    with held_up(listener):
        subprocess.run([sys.executable, "-c", _MAKE_FILES.format(BURST), folders[0]], check=True)
        folders[1].rmdir()
        folders[1].mkdir()
    listener.until(lambda: listener.lost, "that something was lost")
    listener.sees_writing(folders[1])
    listener.sees_writing(folders[0])
    assert listener.incidents.count("too many events") == 1
    shutil.rmtree(folders[0])


@contextmanager
def held_up(listener: Listener) -> Iterator[None]:
    """Nothing can be taken down meanwhile, so the reader waits and the kernel's queue fills up."""
    with listener.watch._gathering._changed:
        yield


def test_folders_made_renamed_and_removed_by_many(listener: Listener, folders: list[Path], tmp_path: Path) -> None:
    """What kills a recursive watch within a second."""
    inner = [folder / f"f{number}" for folder in folders for number in range(8)]
    listener.follow(*folders, *inner)
    with churn(folders, processes=4, seconds=CHURN) as runs:
        while runs():
            listener.take(0.1)
            listener.watch.check()
            listener.watch.follow([*folders, *inner])
    for folder in inner:
        folder.mkdir(exist_ok=True)
    listener.until(lambda: listener.watch.status().absent == 0, "that all are watched")
    while listener.take(0.5):
        pass
    listener.sees_writing_in(*folders, *inner)
    assert "died" not in listener.incidents
    assert not listener.problems


def test_what_exceeds_the_limit_is_polled_until_there_is_room(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(6)]
    for folder in folders:
        folder.mkdir()
    with listening(tmp_path / "state", limit=4) as listener:
        listener.follow(*folders)
        status = listener.watch.status()
        assert (status.mode, status.native, status.polled) == ("mixed", 4, 3)
        assert "3 folders are polled" in listener.problems["watch-limit"]
        assert "sysctl" in listener.problems["watch-limit"]
        listener.sees_writing_in(*folders)
        listener.watch.follow(folders[:3])
        listener.until(lambda: listener.watch.status().mode == "native", "room")
        listener.forget()
        listener.sees_writing_in(*folders[:3], name="again")
        assert not listener.problems


_IN_A_SMALL_SYSTEM = """
import sys
from pathlib import Path
from tests.adapters.watch.watching import listening
root = Path(sys.argv[1])
folders = [root / str(number) for number in range(6)]
for folder in folders:
    folder.mkdir()
with listening(root / "state") as listener:
    listener.follow(*folders)
    listener.sees_writing_in(*folders)
    status = listener.watch.status()
    print(status.mode, status.native, status.polled, *listener.problems)
"""


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (("watches", 3), "mixed 3 4 watch-limit"),
        (("watches", 0), "poll 0 6 watch-limit watch-cookie"),
        (("instances", 0), "poll 0 6 watch-system"),
    ],
)
def test_the_limits_of_the_system(tmp_path: Path, limits: tuple[str, int], expected: str) -> None:
    """Limits of its own has whoever is root in a user namespace."""
    setting = f"/proc/sys/user/max_inotify_{limits[0]}"
    if subprocess.run(
        ["unshare", "-Ur", "sh", "-c", f"echo 9 > {setting}"], capture_output=True, check=False
    ).returncode:
        pytest.skip("no user namespaces here")
    line = f'echo {limits[1]} > {setting}; exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", line, "sh", sys.executable, "-c", _IN_A_SMALL_SYSTEM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == expected


def test_watchdog_still_has_what_we_use() -> None:
    """It is not the public part of it; a version without it is polled with, and should not be released with."""
    from watchdog.observers.inotify_c import InotifyFD

    import dagentd.adapters.watch.inotify  # noqa: F401

    instance = InotifyFD()
    assert {"_lock", "_is_reading"} <= vars(instance).keys()
    for name in ("add_callback", "remove_callbacks", "handle_event", "run", "stop"):
        assert callable(getattr(instance, name))
    instance._is_reading = False
    instance.close()


def test_without_the_parts_of_watchdog_that_we_use_all_is_polled(
    tmp_path: Path, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchdog.observers.inotify_c", None)
    monkeypatch.delitem(sys.modules, "dagentd.adapters.watch.inotify", raising=False)
    with listening(tmp_path / "state") as listener:
        listener.follow(*folders)
        listener.sees_writing(folders[0])
        assert listener.watch.status().mode == "poll"
        assert "watchdog" in listener.problems["watch-system"]
        monkeypatch.undo()
        listener.until(lambda: listener.watch.status().mode == "native", "inotify")
        listener.forget()
        listener.sees_writing(folders[0])
        assert not listener.problems


def test_a_state_folder_that_vanishes_is_said_and_harms_nobody(listener: Listener, folders: list[Path]) -> None:
    state = folders[0].parent / "state"
    shutil.rmtree(state)
    listener.watch.check()
    assert "cannot be checked" in listener.problems["watch-cookie"]
    listener.sees_writing(folders[0])
    state.mkdir()
    listener.watch.check()
    assert not listener.problems
    goes_deaf(listener, folders[0])
    listener.until(lambda: listener.lost, "that something was lost")
    listener.sees_writing(folders[0], MARK * 2)


def test_without_a_descriptor_to_look_at_mounts_it_hears_all_the_same(
    listener: Listener, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Path) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(Path, "read_bytes", refused)
    listener.sees_writing(folders[0])


def test_what_was_gathered_and_could_not_be_told_is_told_as_lost(
    listener: Listener, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    listener.beats = False
    with monkeypatch.context() as patch:
        patch.setattr(listener.watch._followed, "concerned", {}.pop)
        (folders[0] / "unheard").write_text("x")
        with pytest.raises(KeyError):
            listener.take(30)
    listener.until(lambda: listener.lost, "the loss")
