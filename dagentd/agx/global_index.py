"""The global index, in step with the session files: an entry is made once for each change and kept as bytes, so that
one change among thousands of sessions costs one entry and one write."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, backups, disk, fileio, lockfile, marks
from dagentd.adapters.files.marks import Mark
from dagentd.agx import dated_copies, index_entries, schema, values
from dagentd.agx.folder import AgxFolder, keep_private, make_private, sweep
from dagentd.agx.index_entries import Entries, Load
from dagentd.agx.values import Raw, section_of, stamp
from dagentd.errors import Conflict, CorruptFile, DagentdError
from dagentd.model import jsontext, times

_LIMIT = 1 << 28  # bytes: 300 000 sessions
_TRIES = 20
_PATIENCE = 0.5  # seconds for its lock, at each try: somebody waits for what this is only a copy of
_RETRIES = 3  # where the index does not say
_KEPT = 3  # damaged or older ones: what they were made from is still there
_AGE = 7 * 86_400  # seconds that an entry outlives its project, where the index does not say

_log = logging.getLogger(__name__)


class GlobalIndex:
    """`load` gives a session's document, `every` the projects whose sessions belong in it. Used by several threads."""

    def __init__(self, file: Path, load: Load, every: Callable[[], Iterable[AgxFolder]]) -> None:
        self._file, self._every = file, every
        self._lock = threading.RLock()
        self._entries = Entries(load)
        self._head: Raw = {}
        self._mark: Mark | None = None  # of the file as we know it
        self._digest: bytes | None = None  # of its bytes
        self._says: bytes | None = None  # the same of how we would write what it says
        self._told: Raw = {}  # that is still to be written

    # --- asking -------------------------------------------------------------------------------------------

    def entries(self) -> list[Raw]:
        with self._lock:
            self._refresh()
            return [jsontext.decode_own(data) for data in self._entries.sorted()]

    def summary(self) -> Raw:
        """The fields of the index beside the sessions."""
        with self._lock:
            return {key: value for key, value in self._head.items() if key != "sessions"}

    def is_automatic(self) -> bool:
        """Whether it is kept up without being asked to."""
        with self._lock:
            self._refresh()
            return section_of(self._head, "configuration").get("autoIndexing") is not False

    def errors(self) -> list[DagentdError]:
        """Of session files that cannot be read."""
        with self._lock:
            return list(self._entries.errors.values())

    # --- keeping up ---------------------------------------------------------------------------------------

    def update(self, folders: Iterable[AgxFolder], *, cleaned: bool = False) -> bool:
        """Look at the sessions of these projects; whether the file was written. `cleaned`: a cleanup did something."""
        return self._updated(list(folders), {"lastCleanup": stamp(clock.now())} if cleaned else {})

    def check(self, *, everything: bool = False) -> bool:
        """Look at the sessions of all projects, and for what is in the index beside them. `everything` makes each entry
        anew, also of files that are as they were."""
        with self._lock:
            if everything:
                self._entries.doubt()
                self._says = None
            return self._updated(None, {})

    def forget(self, root: Path) -> None:
        """A project that is no longer served."""
        with self._lock:
            self._entries.forget(root)

    def _updated(self, folders: list[AgxFolder] | None, told: Raw) -> bool:
        now, failures = clock.now(), 0
        with self._lock:
            self._told |= told
            for _ in range(_TRIES):
                there = self._refresh()
                every = self._every() if folders is None or not there else ()
                looked = {str(folder.root): folder for folder in (*every, *(folders or ()))}
                for folder in looked.values():
                    self._entries.look_at(folder)
                if folders is None:
                    self._entries.look_for_others(set(looked), now, self._age())
                try:
                    return self._write(now)
                except atomic.Changed:
                    self._mark = None
                except lockfile.Busy:
                    failures += 1
                    if failures > self._retries():
                        raise
        raise Conflict("another program keeps writing this file", path=self._file, hint="Stop it.")

    def _retries(self) -> int:
        given = section_of(self._head, "configuration").get("syncFailureRetries")
        return max(0, min(given, 10)) if isinstance(given, int) else _RETRIES

    def _age(self) -> int:
        return values.duration_seconds(section_of(self._head, "configuration").get("maxIndexAge")) or _AGE

    # --- the file -----------------------------------------------------------------------------------------

    def _refresh(self) -> bool:
        """Read it if it is not as we know it; False if it had to be begun anew."""
        mark = marks.of(self._file)
        if mark is not None and mark == self._mark:
            return True
        try:
            raw = self._read()
        except FileNotFoundError:
            return self._begin()
        except CorruptFile as error:
            self._set_aside(error)
            return self._begin()
        self._mark = mark
        if schema.is_older(raw, self._file):
            dated_copies.back_up(self._file, self._file.parent / "backups", _KEPT, clock.now())
            raw = schema.migrate_document(raw, lambda _: index_entries.new_index())
        self._entries.adopt(raw.get("sessions") or [])
        self._head = {**raw, "sessions": []}
        self._says = fileio.digest(_rendered(self._head, index_entries.joined(self._entries.sorted())))
        return True

    def _begin(self) -> bool:
        """Begin the index anew; what we know of sessions is still true and stays."""
        self._head, self._digest, self._says = index_entries.new_index(), None, None
        return False

    def _read(self) -> Raw:
        data = fileio.read(self._file, _LIMIT)
        try:
            raw = jsontext.decode_object(data)
            schema.is_older(raw, self._file)
            schema.Index.parse({"version": schema.CURRENT, "sessions": [], **raw})
        except jsontext.Undecodable as error:
            raise CorruptFile(str(error), path=self._file, hint="Nothing to do: it is made anew.") from None
        self._digest = fileio.digest(data)
        return raw

    def _set_aside(self, error: DagentdError) -> None:
        _log.warning("%s; it is set aside and made anew", error)
        with disk.explained(self._file), contextlib.suppress(FileNotFoundError):
            backups.set_aside(self._file, "corrupt")
            held = sorted(self._file.parent.glob(f"{self._file.name}.corrupt.*"), key=lambda path: path.stat().st_mtime)
            for old in held[:-_KEPT]:
                disk.remove(old)

    def _write(self, now: datetime) -> bool:
        """Only if it would say something else. Its time alone is renewed before others would take it for too old.
        `Changed` if another program wrote it just now."""
        head = self._counted()
        synced = times.parse(head.get("lastSync"))
        fresh = synced is not None and 0 <= (now - synced).total_seconds() < self._age() / 2
        entries = index_entries.joined(self._entries.sorted())
        if fresh and self._says == fileio.digest(_rendered(head, entries)):
            return False
        head = {**head, "lastSync": stamp(now)}
        data = _rendered(head, entries)
        make_private(self._file.parent)
        with lockfile.held(self._file.with_name(".index.lock"), _PATIENCE), disk.explained(self._file):
            sweep(self._file.parent, self._file.parent / "backups")
            keep_private(self._file, 0o600)
            done = atomic.publish(self._file, [data], expect=self._digest, sync=True)
            if done.replaced is not None:
                done.replaced.close()
            self._mark = marks.of(self._file)
        self._head, self._digest, self._says, self._told = head, done.digest, done.digest, {}
        return True

    def _counted(self) -> Raw:
        held = {**section_of(self._head, "statistics"), **self._told}
        if section_of(self._head, "configuration").get("enableStatistics") is not False:
            every = self._entries.all()
            held = index_entries.index_statistics(
                held, self._entries.projects(), [e.active for e in every], (e.size for e in every)
            )
        return {**self._head, "statistics": held}


def _rendered(head: Raw, entries: bytes) -> bytes:
    return b"".join(index_entries.whole(head, entries))
