"""What goes wrong with the machine for a while, and then is well again: disk, permissions, descriptors, socket."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dagentd.rpc.client import RpcError, Unreachable
from tests.patience import patience
from tests.torture.chaos import world as worlds
from tests.torture.chaos.keeper import Keeper
from tests.torture.chaos.samples import Samples
from tests.torture.chaos.truth import Truth
from tests.torture.chaos.world import STEADY, World

_PAGE = resource.getpagesize()
_TRIES = 50


class Trouble:
    """One at a time, each healed before the next. `skipped` says what cannot be done on this machine, and why."""

    def __init__(self, world: World, keeper: Keeper, truth: Truth, samples: Samples, dice: random.Random) -> None:
        self._world, self._keeper, self._truth, self._samples, self._dice = world, keeper, truth, samples, dice
        self._full = 0  # odd while the disk is full
        self.skipped: list[str] = []
        self._can_lock = _can_lock(world)
        self._kinds: list[tuple[str, Callable[[], contextlib.AbstractContextManager[bool]]]] = [
            ("disk full", self._full_disk if worlds.has_own_disk(world) else self._no_growth),
            ("locked files", self._locked_files),
            ("descriptors", self._no_descriptors),
            ("no socket", self._no_socket),
        ]
        if not worlds.has_own_disk(world):
            self.skipped.append("a disk that is really full needs root and mount: files may not grow instead")
        if not self._can_lock:
            self.skipped.append("files that root may not write need chattr +i, which does not work here")

    def run(self, over: threading.Event) -> None:
        while not over.wait(self._dice.uniform(0.3, 2.5)):
            name, kind = self._dice.choice(self._kinds)
            start = self._samples.now()
            with kind() as there:
                over.wait(self._dice.uniform(0.5, 3))
                if name == "disk full" and there:
                    self._check_told()
            if there:
                self._samples.span(name, start)
                self._truth.count(name)

    @contextlib.contextmanager
    def noticed_by_all(self) -> Iterator[Callable[[], bool]]:
        """Says afterwards whether there was any meanwhile that others than the daemon feel: the disk was full."""
        before = self._full
        yield lambda: self._full != before or before % 2 == 1

    # --- the disk -----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _full_disk(self) -> Iterator[bool]:
        """As small as what is on it."""
        self._full += 1
        try:
            yield any(self._shrunk() for _ in range(_TRIES))
        finally:
            assert worlds.resize(self._world, worlds.ROOM)
            self._full += 1

    def _shrunk(self) -> bool:
        found = os.statvfs(self._world.disk)
        return worlds.resize(self._world, (found.f_blocks - found.f_bfree) * found.f_frsize)

    @contextlib.contextmanager
    def _no_growth(self) -> Iterator[bool]:
        """No file of the daemon may be longer than a page, so that every journal is full."""
        with self._limited(resource.RLIMIT_FSIZE, lambda _: _PAGE) as there:
            yield there

    def _check_told(self) -> None:
        """Who may not append is told why, and so is who asks for the status. A small record may fit where a message
        does not, and the daemon is then well for a moment: so it is asked some times."""
        for _ in range(_TRIES):
            refused, degraded = self._refused(), self._degraded()
            if refused is not True or degraded is not False:
                return
        self._truth.complain("messages are refused because the disk is full, and the status says ok")

    def _refused(self) -> bool | None:
        """None if it cannot be found out."""
        sid, content = f"pm-feature-{STEADY[0]}", f"<probe-{time.monotonic_ns()}> " + "x" * 3 * _PAGE
        self._truth.sent(content)
        try:
            self._keeper.call("session.addMessage", sessionId=sid, role="user", content=content)
            self._truth.acknowledge(sid, content)
        except RpcError as error:
            return "full" in error.message or "larger" in error.message or None
        except Unreachable:
            return None
        return False

    def _degraded(self) -> bool | None:
        try:
            return bool(self._keeper.call("daemon.status")["health"] == "degraded")
        except (RpcError, Unreachable):
            return None

    # --- permissions --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _locked_files(self) -> Iterator[bool]:
        """A folder or a file in which nothing can be written. Of worktrees that stay: git may remove the others."""
        place = self._dice.choice([each for each in self._world.places if each.feature in STEADY])
        files = place.files(self._dice.choice(place.sessions))
        chosen = self._dice.choice([
            files.chat, files.checkpoint, files.session, files.journal, files.folder, place.folder, self._world.kept,
            self._world.kept.parent, self._world.disk / "state" / "dagentd", self._world.home / ".agx",
        ])  # fmt: skip
        locked = self._can_lock and _lock(chosen)
        try:
            yield locked
        finally:
            if locked:
                _unlock(chosen)

    # --- the process --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _no_descriptors(self) -> Iterator[bool]:
        with self._limited(resource.RLIMIT_NOFILE, lambda pid: len(os.listdir(f"/proc/{pid}/fd"))) as there:
            yield there

    @contextlib.contextmanager
    def _limited(self, what: int, limit: Callable[[int], int]) -> Iterator[bool]:
        pid = self._keeper.pid
        try:
            if pid is None:
                raise ProcessLookupError
            soft, hard = resource.prlimit(pid, what)
            resource.prlimit(pid, what, (limit(pid), hard))
        except OSError:  # it was killed just now
            yield False
            return
        try:
            yield True
        finally:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, what, (soft, hard))

    @contextlib.contextmanager
    def _no_socket(self) -> Iterator[bool]:
        """Removed, as cleaners of temp folders do; the daemon makes it again."""
        with contextlib.suppress(FileNotFoundError):
            self._world.socket.unlink()
        yield True
        end = time.monotonic() + patience(120)
        while not self._world.socket.exists():
            if time.monotonic() > end:
                self._truth.complain(f"the socket did not come back: {self._keeper.last_words()}")
                return
            time.sleep(0.05)


def _lock(path: Path) -> bool:
    if os.geteuid() == 0:
        return _chattr("+i", path)
    try:
        path.chmod(0o500 if path.is_dir() else 0o400)
    except FileNotFoundError:
        return False
    return True


def _unlock(path: Path) -> None:
    if os.geteuid() == 0:
        assert _chattr("-i", path), path
    else:
        path.chmod(0o700 if path.is_dir() else 0o600)


def _can_lock(world: World) -> bool:
    """As root only where the file system has attributes."""
    probe = world.disk / "probe"
    probe.touch()
    can = _lock(probe)
    if can:
        _unlock(probe)
    probe.unlink()
    return can


def _chattr(how: str, path: Path) -> bool:
    try:
        return subprocess.run(["chattr", how, str(path)], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
