"""The proof that a watcher still hears: a file that is touched, and must be heard of."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dagentd.adapters import disk
from dagentd.errors import DagentdError

if TYPE_CHECKING:
    from dagentd.adapters.watch.inotify import Inotify

_DEAF = 2.0  # seconds after which a touch that was not heard means deaf; a full queue is read in a fifth of one


class Cookie:
    """Touched by one thread, heard of in another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: DagentdError | None = None  # why it proves nothing at the moment
        self._asked: float | None = None

    def ask(self, inotify: Inotify) -> None:
        """Opened for writing and closed: inotify tells that like a write, and the disk has nothing to do."""
        try:
            self._listen(inotify)
            if self._asked is None:
                self._asked = time.monotonic()
                os.close(self._opened())
            self.problem = None
        except OSError as error:
            self._asked = None
            message = f"whether watching still works cannot be checked: {error.strerror}"
            self.problem = DagentdError(message, path=self.path, hint="Make its folder writable, and restart.")

    def heard(self) -> None:
        self._asked = None

    def unheard(self) -> bool:
        asked = self._asked
        return asked is not None and time.monotonic() - asked > _DEAF

    def _listen(self, inotify: Inotify) -> None:
        """A touch in a folder that was exchanged meanwhile, or under another watcher, is not waited for."""
        if inotify.watch(self.path.parent):
            self._asked = None

    def _opened(self) -> int:
        try:
            return disk.open_append(self.path)
        except FileNotFoundError:
            return disk.create(self.path)
