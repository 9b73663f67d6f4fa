"""One inotify instance with flat watches: all that is known of watchdog is here.

Its public Observer starts a thread for each watch, of which we need thousands (measured: 22 KB each), and only logs an
overflow. Below it, InotifyFD has one thread for all (0.8 KB a watch) and tells of overflows.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
from pathlib import Path

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from dagentd.adapters.watch.batches import Sink

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
