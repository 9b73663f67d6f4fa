"""The global index, in step with the session files: an entry is made once for each change and kept as bytes, so that
one change among thousands of sessions costs one entry and one write."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from dagentd.adapters import aside, clock, disk, files, lockfile, marks, publishing
from dagentd.adapters.marks import Mark
from dagentd.errors import Conflict, CorruptFile, DagentdError, NotFound
from dagentd.model import jsontext, times
from dagentd.model.agx import Raw, index, section, shapes, stamp, units, versions
from dagentd.store.agx import backups
from dagentd.store.agx.folder import AgxFolder, keep_private, make_private, sweep

_LIMIT = 1 << 28  # bytes: 300 000 sessions
_TRIES = 20
_KEPT = 3  # damaged or older ones: what they were made from is still there
_AGE = 7 * 86_400  # seconds that an entry outlives its project, where the index does not say

Load = Callable[[AgxFolder, str], Raw]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Entry:
    """`mark` is of the session file as it was when this was made of it; None if this came from the index."""

    data: bytes
    active: bool
    size: int
    mark: Mark | None = None


_Entries = dict[str, _Entry]  # by session file


class GlobalIndex:
    """`load` gives a session's document, `every` the projects whose sessions belong in it. Used by several threads."""

    def __init__(self, file: Path, load: Load, every: Callable[[], Iterable[AgxFolder]]) -> None:
        self._file, self._load, self._every = file, load, every
        self._lock = threading.RLock()
        self._entries: dict[str, _Entries] = {}  # by root of the project
        self._head: Raw = {}
        self._mark: Mark | None = None  # of the file as we know it
        self._digest: bytes | None = None  # of its bytes
        self._says: bytes | None = None  # the same of how we would write what it says
        self.errors: dict[Path, DagentdError] = {}  # of session files that cannot be read

    # --- asking -------------------------------------------------------------------------------------------

    def entries(self) -> list[Raw]:
        with self._lock:
            self._refresh()
            return [jsontext.decode_own(data) for data in self._sorted()]

    def summary(self) -> Raw:
        """What stands beside the sessions."""
        with self._lock:
            return {key: value for key, value in self._head.items() if key != "sessions"}

    def is_automatic(self) -> bool:
        """Whether it is kept up without being asked to."""
        with self._lock:
            self._refresh()
            return section(self._head, "configuration").get("autoIndexing") is not False

    # --- keeping up ---------------------------------------------------------------------------------------

    def update(self, folders: Iterable[AgxFolder], *, cleaned: bool = False) -> bool:
        """Look at the sessions of these projects; whether the file was written. `cleaned`: a cleanup did something."""
        return self._updated(list(folders), {"lastCleanup": stamp(clock.now())} if cleaned else {})

    def check(self, *, everything: bool = False) -> bool:
        """Look at the sessions of all projects, and for what is in the index beside them. `everything` makes each entry
        anew, also of files that are as they were."""
        with self._lock:
            if everything:
                self._entries = {
                    root: {path: replace(entry, mark=None) for path, entry in some.items()}
                    for root, some in self._entries.items()
                }
                self._says = None
            return self._updated(None, {})

    def forget(self, root: Path) -> None:
        """What was wrong with the sessions of a project that is no longer served."""
        with self._lock:
            self.errors = {path: error for path, error in self.errors.items() if not path.is_relative_to(root)}

    def _updated(self, folders: list[AgxFolder] | None, told: Raw) -> bool:
        now = clock.now()
        with self._lock:
            for _ in range(_TRIES):
                there = self._refresh()
                every = self._every() if folders is None or not there else ()
                looked = {str(folder.root): folder for folder in (*every, *(folders or ()))}
                for folder in looked.values():
                    self._look_at(folder)
                if folders is None:
                    self._look_for_others(set(looked), now)
                try:
                    return self._write(now, told)
                except publishing.Changed:
                    self._mark = None
        raise Conflict("another program keeps writing this file", path=self._file, hint="Stop it.")

    # --- sessions -----------------------------------------------------------------------------------------

    def _look_at(self, folder: AgxFolder) -> None:
        """One that cannot be read keeps the entry it has: what is there is not forgotten."""
        known, own = self._entries.get(str(folder.root), {}), str(folder.sessions)
        found: _Entries = {}
        try:
            there = folder.ids()
            self.errors.pop(folder.path, None)
        except DagentdError as error:
            self.errors[folder.path] = error
            return
        for session_id in there:
            path = f"{own}/{session_id}.json"
            mark, entry = marks.of(path), known.get(path)
            if mark is not None and (entry is None or entry.mark != mark):
                entry = self._made(folder, session_id, mark, entry)
            if mark is not None and entry is not None:
                found[path] = entry
        for file in [each for each in self.errors if str(each.parent) == own and not os.path.lexists(each)]:
            del self.errors[file]
        self._keep(str(folder.root), found)

    def _made(self, folder: AgxFolder, session_id: str, mark: Mark, known: _Entry | None) -> _Entry | None:
        file = folder.session_file(session_id)
        try:
            raw = index.entry(self._load(folder, session_id), file, folder.root)
        except NotFound:  # removed at this moment
            return None
        except DagentdError as error:
            self.errors[file] = error
            return known
        self.errors.pop(file, None)
        if known is not None:
            held = jsontext.decode_own(known.data)
            section(held, "status").pop(index.MISSING, None)
            raw = index.overlaid(held, raw)
        return _Entry(index.encoded(raw), index.is_active(raw), mark[2], mark)

    def _keep(self, root: str, entries: _Entries) -> None:
        self._entries[root] = entries
        if not entries:
            del self._entries[root]

    def _look_for_others(self, looked: set[str], now: datetime) -> None:
        """Entries of other projects: one without its session file goes, but where the whole project is not there it
        stays for a time, because a disk may be away."""
        for root, entries in list(self._entries.items()):
            if not os.path.isdir(root):
                missed = {path: self._missed(path, entry, now) for path, entry in entries.items()}
                self._keep(root, {path: entry for path, entry in missed.items() if entry is not None})
            elif root not in looked:
                self._keep(root, {path: entry for path, entry in entries.items() if os.path.lexists(path)})

    def _missed(self, path: str, entry: _Entry, now: datetime) -> _Entry | None:
        raw = jsontext.decode_own(entry.data)
        since = times.parse(section(raw, "status").get(index.MISSING))
        if since is None:
            raw = index.overlaid(raw, {"status": {"isActive": False, index.MISSING: stamp(now)}})
            return _Entry(index.encoded(raw), False, entry.size)
        if (now - since).total_seconds() < self._age():
            return entry
        _log.info("%s: dropped from the AGX index: its project has been gone since %s", path, stamp(since))
        return None

    def _age(self) -> int:
        return units.seconds(section(self._head, "configuration").get("maxIndexAge")) or _AGE

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
        if versions.is_older(raw, self._file):
            backups.back_up(self._file, self._file.parent / "backups", _KEPT, clock.now())
            raw = versions.migrated(raw, lambda _: index.new())
        self._adopt(raw)
        return True

    def _begin(self) -> bool:
        """What we know of sessions is still true."""
        self._head, self._digest, self._says = index.new(), None, None
        return False

    def _read(self) -> Raw:
        data = files.read(self._file, _LIMIT)
        try:
            raw = jsontext.decode_object(data)
            versions.is_older(raw, self._file)
            shapes.Index.parse({"version": versions.CURRENT, "sessions": [], **raw})
        except jsontext.Undecodable as error:
            raise CorruptFile(str(error), path=self._file, hint="Nothing to do: it is made anew.") from None
        self._digest = files.digest(data)
        return raw

    def _set_aside(self, error: DagentdError) -> None:
        _log.warning("%s; it is set aside and made anew", error)
        with disk.explained(self._file), contextlib.suppress(FileNotFoundError):
            aside.set_aside(self._file, "corrupt")
            held = sorted(self._file.parent.glob(f"{self._file.name}.corrupt.*"), key=lambda path: path.stat().st_mtime)
            for old in held[:-_KEPT]:
                disk.remove(old)

    def _adopt(self, raw: Raw) -> None:
        """What we made ourselves stays with what it was made of; of all else, what the file says counts."""
        found: dict[str, _Entries] = {}
        for each in raw.get("sessions") or []:
            path, root = each.get("sessionFile"), each.get("projectPath")
            if isinstance(path, str) and isinstance(root, str):
                known, data = self._entries.get(root, {}).get(path), index.encoded(each)
                same = known is not None and known.data == data
                entry = known if known and same else _Entry(data, index.is_active(each), _size(path))
                found.setdefault(root, {})[path] = entry
        self._entries, self._head = found, {**raw, "sessions": []}
        self._says = files.digest(_rendered(self._head, index.joined(self._sorted())))

    def _sorted(self) -> list[bytes]:
        return [some[path].data for _, some in sorted(self._entries.items()) for path in sorted(some)]

    def _write(self, now: datetime, told: Raw) -> bool:
        """Only if it would say something else. Its time alone is renewed before others would take it for too old.
        `Changed` if another program wrote it just now."""
        head = self._counted(told)
        synced = times.parse(head.get("lastSync"))
        fresh = synced is not None and 0 <= (now - synced).total_seconds() < self._age() / 2
        entries = index.joined(self._sorted())
        if fresh and self._says == files.digest(_rendered(head, entries)):
            return False
        head = {**head, "lastSync": stamp(now)}
        data = _rendered(head, entries)
        make_private(self._file.parent)
        with lockfile.held(self._file.with_name(".index.lock")), disk.explained(self._file):
            sweep(self._file.parent, self._file.parent / "backups")
            keep_private(self._file, 0o600)
            done = publishing.publish(self._file, [data], expect=self._digest, sync=True)
            if done.replaced is not None:
                done.replaced.close()
            self._mark = marks.of(self._file)
        self._head, self._digest, self._says = head, done.digest, done.digest
        return True

    def _counted(self, told: Raw) -> Raw:
        held = {**section(self._head, "statistics"), **told}
        if section(self._head, "configuration").get("enableStatistics") is not False:
            every = [entry for some in self._entries.values() for entry in some.values()]
            held = index.statistics(held, len(self._entries), [e.active for e in every], (e.size for e in every))
        return {**self._head, "statistics": held}


def _rendered(head: Raw, entries: bytes) -> bytes:
    return b"".join(index.whole(head, entries))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except (OSError, ValueError):  # not there; or what another program wrote is no path
        return 0
