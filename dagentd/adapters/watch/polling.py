"""Looking at folders again and again, where nobody tells of changes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from dagentd.adapters.watch.batches import Gathering

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
