"""Looking at folders again and again, where nobody tells of changes."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dagentd.adapters.watch.batches import Gathering, Sink
from dagentd.errors import DagentdError, LimitReached, from_oserror

if TYPE_CHECKING:
    from dagentd.adapters.watch.inotify import Inotify


INTERVAL = 1.0  # seconds between two rounds, at the least
SHARE = 0.01  # of one processor: a round that takes 50 ms comes every 5 s
_PATIENCE = 5.0  # seconds for the thread to end; one that hangs in a dead mount is left behind

Signature = dict[str, int]  # of each entry, what changes when it is written


class Poller:
    """A thread of its own, so that a server which does not answer holds up nobody else."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._wanted: frozenset[Path] = frozenset()
        self._seen: dict[Path, Signature | None] = {}
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self.interval = INTERVAL

    def follow(self, folders: Iterable[Path]) -> None:
        """From now on exactly these; a new one is looked at at once, and then told as a whole."""
        wanted = frozenset(folders)
        if wanted == self._wanted:
            return
        self._wanted = wanted
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="polling", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        due = 0.0
        while not self._closed:
            self._wake.clear()
            wanted = self._wanted
            if time.monotonic() >= due:
                due = time.monotonic() + self._round(wanted)
            else:
                self._look(wanted - self._seen.keys())
            self._seen = {folder: seen for folder, seen in self._seen.items() if folder in wanted}
            self._wake.wait(max(0.0, due - time.monotonic()) if wanted else None)

    def _round(self, wanted: frozenset[Path]) -> float:
        """Look at all; how long to wait then."""
        began = time.thread_time()
        self._look(wanted)
        self.interval = max(INTERVAL, (time.thread_time() - began) / SHARE)
        return self.interval

    def _look(self, folders: Iterable[Path]) -> None:
        for folder in folders:
            if self._closed:
                return
            before, now = self._seen.get(folder), _signature(folder)
            self._seen[folder] = now
            if before is None or now is None:
                if before is not now:  # it appeared, vanished, or is seen for the first time
                    self._gathering.whole(folder)
            elif before != now:
                for name in {name for name, _ in before.items() ^ now.items()}:
                    self._gathering.name(folder, name)


def _signature(folder: Path) -> Signature | None:
    """None if there is no folder that can be read. Every file must be asked each time: writing into one leaves the
    folder's own time as it was. Of folders in it only the identity counts, as with inotify."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: found for entry in entries if (found := _state(entry)) is not None}
    except OSError:
        return None


def _state(entry: os.DirEntry[str]) -> int | None:
    try:
        if entry.is_dir(follow_symlinks=False):
            return hash((entry.inode(), "folder"))
        found = entry.stat(follow_symlinks=False)
        return hash((found.st_ino, found.st_size, found.st_mtime_ns))
    except OSError:  # it vanished meanwhile
        return None


# Which file systems do not announce changes: those that others write to behind the kernel's back.

MOUNT_TABLE = Path("/proc/self/mountinfo")
# inotify hears what this kernel does; on these, another machine, the host or a process in user space writes too.
_REMOTE = re.compile(
    r"9p|nfs\d*|cifs|smb\w*|ncpfs|fuse.*|virtiofs|vboxsf|vmhgfs|prl_fs|afs|coda|ceph|lustre|gfs2?|ocfs2|gpfs|beegfs"
    r"|glusterfs|davfs\d*|drvfs"
)
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class Mounts:
    """The file systems that are mounted at one moment, and of which kind a folder's is."""

    def __init__(self, table: bytes) -> None:
        self._kinds = _kinds(table)
        self._remote = {kind for kind in set(self._kinds.values()) if _REMOTE.fullmatch(kind)}

    @classmethod
    def now(cls) -> Mounts:
        try:
            return cls(MOUNT_TABLE.read_bytes())
        except FileNotFoundError:  # not Linux
            return cls(b"")

    def kind(self, folder: Path) -> str:
        """The type of the file system that a folder is on, by its path alone; empty where that is not known."""
        place = str(folder)
        while place and place not in self._kinds:
            place = place.rpartition(os.sep)[0]
        return self._kinds.get(place or os.sep, "")

    def remote_kind(self, folder: Path) -> str | None:
        """The type of the file system a folder is on if it must be polled. The folder itself is not touched: where a
        server does not answer that would never return. So it must be a real path."""
        if not self._remote:
            return None
        kind = self.kind(folder)
        return kind if kind in self._remote else None


@functools.lru_cache(maxsize=1)
def _kinds(table: bytes) -> dict[str, str]:
    """Mount point to type; of several on one point the last is on top."""
    found = {}
    for line in table.splitlines():
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        if after and len(fields) > 4:
            point = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), fields[4])
            found[os.fsdecode(point)] = os.fsdecode(after.split(b" ")[0])
    return found


_BUDGET = Path("/proc/sys/fs/inotify/max_user_watches")
_CAP = 32_768  # however many the system allows: 300 worktrees of 100 folders each are below it
_TOLD = 20  # folders named in the status
_MISSING = (errno.ENOENT, errno.ENOTDIR)
_BY_LIMIT, _BY_SETTING, _BY_SYSTEM = "limit", "setting", "system"  # why a folder is polled, or the type of its mount


def fair_share() -> int:
    """Watches are counted per user: editors and builds need theirs, too."""
    try:
        return min(int(_BUDGET.read_text()) // 2, _CAP)
    except (OSError, ValueError):
        return 4096


class Coverage:
    """Used by one thread at a time. Mode `auto` polls where changes are not announced, `native` believes they are,
    `poll` polls everything; and all that no watch is left for is polled."""

    def __init__(self, sink: Sink, gathering: Gathering, mode: str, limit: int | None) -> None:
        self._sink, self._mode = sink, mode
        self._limit = fair_share() if limit is None else limit
        self._poller = Poller(gathering)
        self._mounts = Mounts(b"")
        self._refusal = ""
        self._native: set[Path] = set()  # without the folder of the cookie, unless it is followed as well
        self.polled: dict[Path, str] = {}
        self.absent: dict[Path, OSError] = {}
        self.inotify = self._listen()

    def cover(self, folders: Iterable[Path]) -> set[Path]:
        """Have these heard as well as can be, and find out whether those that were heard still are. Of the ones
        returned something may have been missed; what is polled tells that by itself."""
        with contextlib.suppress(OSError):  # no descriptor is to be had: what is mounted is then as it was
            self._mounts = Mounts.now()
        missed = {folder for folder in folders if self._cover(folder)}
        self._poller.follow(self.polled)
        return missed

    def drop(self, folders: Iterable[Path]) -> None:
        """They are no longer heard; polling ends with the next `cover`."""
        for folder in folders:
            self._drop(folder)

    def renew(self) -> Inotify | None:
        """Another inotify instance, which hears nothing yet, if there is one to be had."""
        if self.inotify is not None:
            self.inotify.stop()
        self._native.clear()
        self.inotify = self._listen()
        return self.inotify

    def close(self) -> None:
        self._poller.close()
        if self.inotify is not None:
            self.inotify.stop()

    def problems(self) -> Iterator[tuple[str, DagentdError]]:
        """The problems now, each with its kind: folders that are polled, and those that cannot be watched."""
        seen = f"Changes are seen within {self._poller.interval:.0f} s; nothing is lost."
        for reason, count in Counter(self.polled.values()).items():
            if reason == _BY_LIMIT:
                hint = "Allow more: sudo sysctl fs.inotify.max_user_watches=1048576"
                yield "watch-limit", LimitReached(f"no more inotify watches: {count} folders are polled", hint=hint)
            elif reason == _BY_SYSTEM:
                yield "watch-system", DagentdError(f"{self._refusal}: all folders are polled", hint=seen)
            elif reason != _BY_SETTING:
                yield "watch-mount", DagentdError(f"{count} folders are on {reason} and are polled", hint=seen)
        refused = {folder: error for folder, error in self.absent.items() if error.errno not in _MISSING}
        outermost = (folder for folder in refused if refused.keys().isdisjoint(folder.parents))
        for folder in islice(outermost, _TOLD):
            yield "watch-refused", from_oserror(refused[folder], folder)

    def _listen(self) -> Inotify | None:
        if self._mode == "poll":
            return None
        if sys.platform != "linux":
            self._refusal = "this system has no inotify"
            return None
        try:
            from dagentd.adapters.watch.inotify import Inotify

            return Inotify(self._sink)
        except ImportError as error:
            self._refusal = f"watchdog is of another version ({error})"
        except OSError as error:  # 128 instances per user, and the limit of open files
            self._refusal = f"there is no inotify to be had ({error.strerror})"
        return None

    def _cover(self, folder: Path) -> bool:
        reason = self._why_poll(folder)
        if self.inotify is None or reason:
            return self._poll(folder, reason or _BY_SYSTEM)
        heard = folder in self._native or folder in self.polled
        try:
            fresh = self.inotify.watch(folder) or folder not in self._native
        except OSError as error:
            if error.errno == errno.ENOSPC:
                return self._poll(folder, _BY_LIMIT)
            self._drop(folder)
            self.absent[folder] = error
            return heard
        self.polled.pop(folder, None)
        self.absent.pop(folder, None)
        self._native.add(folder)
        return fresh

    def _why_poll(self, folder: Path) -> str | None:
        if self.inotify is None:
            return _BY_SETTING if self._mode == "poll" else _BY_SYSTEM
        if self._mode == "auto" and (kind := self._mounts.remote_kind(folder)):
            return kind
        return _BY_LIMIT if folder not in self.inotify and self.inotify.count >= self._limit else None

    def _poll(self, folder: Path, reason: str) -> bool:
        if self.polled.get(folder) != reason:
            self._drop(folder)
            self.polled[folder] = reason
        return False

    def _drop(self, folder: Path) -> None:
        self.absent.pop(folder, None)
        self.polled.pop(folder, None)
        self._native.discard(folder)
        if self.inotify is not None:
            self.inotify.forget(folder)
