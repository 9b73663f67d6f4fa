"""What the global index says of each session: made once for each change of its file, and kept as bytes."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from dagentd.adapters import marks
from dagentd.adapters.marks import Mark
from dagentd.errors import DagentdError, NotFound
from dagentd.model import jsontext, times
from dagentd.model.agx import Raw, index, overlaid, section, stamp
from dagentd.store.agx.folder import AgxFolder

Load = Callable[[AgxFolder, str], Raw]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """`mark` is of the session file as it was when this was made of it; None if this came from the index."""

    data: bytes
    active: bool
    size: int
    mark: Mark | None = None


_Some = dict[str, Entry]  # by session file


class Entries:
    """`load` gives a session's document. Never used by two threads at once."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._by_root: dict[str, _Some] = {}
        self.errors: dict[Path, DagentdError] = {}  # of session files that cannot be read

    # --- asking -------------------------------------------------------------------------------------------

    def sorted(self) -> list[bytes]:
        return [some[path].data for _, some in sorted(self._by_root.items()) for path in sorted(some)]

    def projects(self) -> int:
        return len(self._by_root)

    def all(self) -> list[Entry]:
        return [entry for some in self._by_root.values() for entry in some.values()]

    # --- keeping up ---------------------------------------------------------------------------------------

    def adopt(self, sessions: Iterable[Raw]) -> None:
        """From the index. What we made ourselves stays with what it was made of; of all else, what it says counts."""
        found: dict[str, _Some] = {}
        for each in sessions:
            path, root = each.get("sessionFile"), each.get("projectPath")
            if isinstance(path, str) and isinstance(root, str):
                known, data = self._by_root.get(root, {}).get(path), index.encoded(each)
                same = known is not None and known.data == data
                entry = known if known and same else Entry(data, index.is_active(each), _size(path))
                found.setdefault(root, {})[path] = entry
        self._by_root = found

    def doubt(self) -> None:
        """Have each made anew, also of files that are as they were."""
        self._by_root = {
            root: {path: replace(entry, mark=None) for path, entry in some.items()}
            for root, some in self._by_root.items()
        }

    def forget(self, root: Path) -> None:
        """What was wrong with the sessions of a project that is no longer served."""
        self.errors = {path: error for path, error in self.errors.items() if not path.is_relative_to(root)}

    def look_at(self, folder: AgxFolder) -> None:
        """One that cannot be read keeps the entry it has: what is there is not forgotten."""
        known, own = self._by_root.get(str(folder.root), {}), str(folder.sessions)
        found: _Some = {}
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

    def _made(self, folder: AgxFolder, session_id: str, mark: Mark, known: Entry | None) -> Entry | None:
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
            raw = overlaid(held, raw)
        return Entry(index.encoded(raw), index.is_active(raw), mark[2], mark)

    def _keep(self, root: str, entries: _Some) -> None:
        self._by_root[root] = entries
        if not entries:
            del self._by_root[root]

    def look_for_others(self, looked: set[str], now: datetime, age: int) -> None:
        """Entries of other projects: one without its session file goes, but where the whole project is not there it
        stays for a time, because a disk may be away."""
        for root, entries in list(self._by_root.items()):
            if not os.path.isdir(root):
                missed = {path: _missed(path, entry, now, age) for path, entry in entries.items()}
                self._keep(root, {path: entry for path, entry in missed.items() if entry is not None})
            elif root not in looked:
                self._keep(root, {path: entry for path, entry in entries.items() if os.path.lexists(path)})


def _missed(path: str, entry: Entry, now: datetime, age: int) -> Entry | None:
    raw = jsontext.decode_own(entry.data)
    since = times.parse(section(raw, "status").get(index.MISSING))
    if since is None:
        raw = overlaid(raw, {"status": {"isActive": False, index.MISSING: stamp(now)}})
        return Entry(index.encoded(raw), False, entry.size)
    if (now - since).total_seconds() < age:
        return entry
    _log.info("%s: dropped from the AGX index: its project has been gone since %s", path, stamp(since))
    return None


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except (OSError, ValueError):  # not there; or what another program wrote is no path
        return 0
