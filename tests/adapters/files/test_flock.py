"""One daemon per user: whoever holds the lock is named, and a lock file that vanished fools nobody."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dagentd import paths
from dagentd.adapters.files import flock as lock
from dagentd.errors import DagentdError, NotAllowed

_HOLD = """
import sys
from pathlib import Path
from dagentd.adapters.files import flock as lock
lock.single_instance()
print("held", flush=True)
sys.stdin.read()
"""


def test_it_makes_the_state_folder_and_says_who_holds_it() -> None:
    held = lock.single_instance()
    assert stat.S_IMODE(paths.state_dir().stat().st_mode) == 0o700
    assert stat.S_IMODE(paths.lock_file().stat().st_mode) == 0o600
    assert json.loads(paths.lock_file().read_bytes()).keys() == {"pid", "at"}
    assert held.in_place() and held.stale is None
    held.release()
    assert paths.lock_file().read_bytes() == b""


def test_the_second_one_learns_the_pid_of_the_first() -> None:
    first = subprocess.Popen([sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with first:
        assert first.stdout is not None and first.stdout.readline() == b"held\n"
        with pytest.raises(lock.AlreadyRunning) as caught:
            lock.single_instance()
        first.kill()
    assert caught.value.pid == first.pid
    assert f"process {first.pid}, since 20" in str(caught.value)
    held = lock.single_instance()
    assert held.stale is not None and held.stale["pid"] == first.pid
    held.release()


def test_a_holder_that_could_not_write_its_name_down() -> None:
    held = lock.single_instance()
    os.truncate(paths.lock_file(), 0)
    with pytest.raises(lock.AlreadyRunning) as caught:
        lock.single_instance()
    assert caught.value.pid is None and "process (unknown)" in str(caught.value)
    held.release()


def test_a_holder_sees_that_its_file_was_removed() -> None:
    first = lock.single_instance()
    paths.lock_file().unlink()
    assert not first.in_place()
    second = lock.single_instance()
    assert second.in_place() and not first.in_place()
    second.release()
    os.close(first.fd)


def test_a_file_that_loses_its_name_while_it_is_locked_is_not_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.flock
    removed: list[int] = []

    def flock(fd: int, operation: int) -> None:
        if not removed:
            removed.append(fd)
            paths.lock_file().unlink()
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    held = lock.single_instance()
    assert removed and held.in_place()
    held.release()


def test_a_file_in_the_place_of_the_state_folder_is_an_error_that_names_it() -> None:
    paths.state_dir().write_text("")
    with pytest.raises(DagentdError, match=str(paths.lock_file())):
        lock.single_instance()


@pytest.mark.parametrize("kind", ["pipe", "hard link", "link"])
def test_what_is_no_lock_file_of_its_own_is_refused_and_left_alone(kind: str, tmp_path: Path) -> None:
    """Who holds a lock cuts the file and writes itself into it."""
    (tmp_path / "letter").write_text("Dear")
    if kind == "pipe":
        os.mkfifo(tmp_path / "lock")
    elif kind == "hard link":
        os.link(tmp_path / "letter", tmp_path / "lock")
    else:
        (tmp_path / "lock").symlink_to(tmp_path / "letter")
    with pytest.raises((NotAllowed, OSError)):
        lock.attempt(tmp_path / "lock")
    assert lock.pid(tmp_path / "lock") is None
    assert (tmp_path / "letter").read_text() == "Dear"
