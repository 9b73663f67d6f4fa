"""Who watches which folder: inotify, else polling, and nobody while it is not there."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dagentd.adapters.watch.batches import Gathering, Sink
from dagentd.adapters.watch.mounts import Mounts
from dagentd.adapters.watch.polling import Poller
from dagentd.errors import DagentdError, LimitReached, told

if TYPE_CHECKING:
    from dagentd.adapters.watch.inotify import Inotify

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
        """What is wrong now, each with its kind."""
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
            yield "watch-refused", told(refused[folder], folder)

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
