"""Hearing of changes by inotify, and the proof that a watcher still hears: a cookie file that is written now and
then."""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.adapters.watch.batches import Gathering, Sink
from dagentd.errors import DagentdError

if TYPE_CHECKING:
    pass


# One inotify instance with flat watches: all that is known of watchdog is here. Its public Observer starts a thread
# for each watch, of which we need thousands (measured: 22 KB each), and only logs an overflow. Below it, InotifyFD
# has one thread for all (0.8 KB a watch) and tells of overflows.

_log = logging.getLogger(__name__)

# What ends a change or alters names; never opening and reading, of which our own reads would tell us.
# Not IN_MODIFY: the app, editors and git close what they write, and the daemon keeps its journals open: with it each
# append woke the reader and took half as much processor time again (130 to 190 µs). Who writes and does not close is
# seen by the reconcile.
_MASK = Mask(
    InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_MOVE
    | InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_ONLYDIR
)
_REFUSED = -1  # what watchdog answers for a folder that we may not read, instead of an error
_BROKEN = (errno.EBADF, errno.EINVAL)  # what the kernel says of the descriptor, never of a folder
_PATIENCE = 5.0  # seconds for the reader to end


class Inotify:
    """Used by one thread at a time; what is heard reaches the sink in the reader's. OSError if there is none left."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._watches: dict[Path, tuple[WatchDescriptor, CallbackId]] = {}
        self._ids = itertools.count()
        self._broken: str | None = None
        self._reader = _Reader()
        self._reader.start()

    @property
    def count(self) -> int:
        return len(self._watches)

    def __contains__(self, folder: Path) -> bool:
        return folder in self._watches

    @property
    def failure(self) -> str | None:
        """Why it cannot hear any more, as far as that can be told."""
        return self._broken or (None if self._reader.is_alive() else self._reader.failure or "its thread ended")

    def watch(self, folder: Path) -> bool:
        """Hear what happens directly in a folder; True unless that very folder was heard already. The kernel answers
        with the descriptor it has for the folder that is there now. That leaves no doubt; inode numbers do, because
        ext4 gives the one of a removed folder to the next that is made."""
        before = self._watches.get(folder)
        try:
            self._watches[folder] = self._added(folder)
        except OSError as error:
            if error.errno in _BROKEN:
                self._broken = f"its descriptor is broken: {error.strerror}"
            self.forget(folder)
            raise
        if before is not None:
            self._reader.remove_callbacks([before])
        return before is None or before[0] != self._watches[folder][0]

    def forget(self, folder: Path) -> None:
        if (known := self._watches.pop(folder, None)) is not None and self._broken is None:
            self._reader.remove_callbacks([known])

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # a broken one cannot be closed either
            self._reader.stop()
        self._reader.join(_PATIENCE)

    def _added(self, folder: Path) -> tuple[WatchDescriptor, CallbackId]:
        """Each time under a new id: watchdog warns, and with warnings as errors dies, if one is used twice."""
        number = CallbackId(next(self._ids))
        descriptor = self._reader.add_callback(os.fsencode(folder), _MASK, _Ear(self._sink, folder), number)
        if descriptor == _REFUSED:
            self._reader.remove_callbacks([(descriptor, number)])
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return descriptor, number


class _Ear:
    """Hears one folder."""

    __slots__ = ("_folder", "_sink")

    def __init__(self, sink: Sink, folder: Path) -> None:
        self._sink, self._folder = sink, folder

    def on_event(self, event: InotifyEvent) -> None:
        """Without a name it is about the folder itself."""
        if event.name:
            self._sink.name(self._folder, os.fsdecode(event.name))
        else:
            self._sink.suspect(self._folder)

    def on_watch_deleted(self, _: WatchDescriptor) -> None:
        self._sink.suspect(self._folder)

    def on_queue_overflow(self) -> None:
        self._sink.overflowed()


class _Reader(InotifyFD):
    """Knows why it died."""

    failure: str | None = None

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            _log.exception("the reader of inotify died")
        finally:
            with self._lock:
                self._is_reading = False  # else close() would leave the descriptors to a thread that is no more


# The proof that a watcher still hears: a file that is touched, and must be heard of.

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


# What is done with what is heard, in the thread that hears: it is taken down, and nothing else.


_KEPT = 20  # incidents


@dataclass(frozen=True)
class Incident:
    """A failure of watching that was put right."""

    at: str
    message: str


class Hearing:
    """Keeps what belongs to followed folders; nobody is woken for the cookie or for what else is beside it."""

    def __init__(self, gathering: Gathering, cookie: Cookie) -> None:
        self._gathering, self._cookie = gathering, cookie
        self._folder, self._name = cookie.path.parent, cookie.path.name
        self.wanted: frozenset[Path] = frozenset()
        self.incidents: deque[Incident] = deque(maxlen=_KEPT)

    def name(self, folder: Path, name: str) -> None:
        if name == self._name and folder == self._folder:
            self._cookie.heard()
        elif folder in self.wanted:
            self._gathering.name(folder, name)

    def suspect(self, folder: Path) -> None:
        if folder in self.wanted:
            self._gathering.suspect(folder)

    def overflowed(self) -> None:
        """A touch of the cookie may be among what was dropped; but this was heard. Every folder tells it."""
        self._cookie.heard()
        if self._gathering.lose():
            self.note("too many events came at once and some were lost")

    def note(self, incident: str) -> None:
        _log.warning("%s: everything is looked at", incident)
        self.incidents.append(Incident(clock.stamp(), incident))
