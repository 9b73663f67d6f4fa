"""The entries of the global index: made once for each change of a session's file, and kept as bytes."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from dagentd.adapters.files import marks
from dagentd.adapters.files.marks import Mark
from dagentd.agx import lifecycle, values
from dagentd.agx.folder import AgxFolder
from dagentd.agx.schema import CURRENT
from dagentd.agx.values import Raw, overlaid, section_of, stamp
from dagentd.errors import DagentdError, NotFound
from dagentd.model import jsontext, times

# The global index: the entry that a session has in it, and what is counted over all of them.

MISSING = "missingSince"  # in the status of an entry whose project is not there


def new_index() -> Raw:
    """All but the sessions is kept from then on as it is found."""
    return {
        "version": CURRENT,
        "lastSync": None,
        "syncInterval": "5m",
        "sessions": [],
        "statistics": {},
        "configuration": {"autoIndexing": True, "maxIndexAge": "7d", "syncFailureRetries": 3, "enableStatistics": True},
    }


def index_entry(raw: Raw, file: Path, root: Path) -> Raw:
    """All of it from the session's own file: no git is asked."""
    project, tmux, claude, about = (section_of(raw, name) for name in ("project", "tmux", "claude", "metadata"))
    state = lifecycle.state_of(raw)
    return {
        "sessionId": raw["sessionId"],
        "projectName": project.get("name") or root.name,
        "projectPath": str(root),
        "sessionFile": str(file),
        "variant": about.get("variant"),
        "isDefault": about.get("isDefault") is True,
        "status": {"isActive": state == "active", "lastAccessed": raw.get("lastAccessed"), "state": state},
        "runtime": {
            "tmuxActive": tmux.get("isActive") is True,
            "claudeActive": claude.get("hasActiveContext") is True,
            "claudeSessionId": claude.get("sessionId"),
        },
        "git": {
            "branch": project.get("gitBranch"),
            "commit": project.get("gitCommit"),
            "dirty": project.get("gitDirty") is True,
        },
        "metadata": {
            "description": about.get("description"),
            "tags": about.get("tags") or [],
            "created": raw.get("created"),
        },
    }


def index_statistics(held: Raw, projects: int, states: Iterable[bool], sizes: Iterable[int]) -> Raw:
    active = list(states)
    counted: Raw = {"totalProjects": projects, "totalSessions": len(active), "activeSessionsCount": sum(active)}
    return {**held, **counted, "diskUsage": values.format_size(sum(sizes)), "lastCleanup": held.get("lastCleanup")}


def is_active(raw: Raw) -> bool:
    return section_of(raw, "status").get("isActive") is True


# --- as bytes -----------------------------------------------------------------------------------------------------


def encoded(raw: Raw) -> bytes:
    """An entry as it stands in the file: made once and joined many times."""
    return _indented(raw, b"    ")


def joined(entries: Iterable[bytes]) -> bytes:
    """All of them as they stand in the file."""
    return b",\n    ".join(entries)


def whole(head: Raw, entries: bytes) -> list[bytes]:
    """The file, from what stands beside the sessions and from their entries, joined."""
    parts, listed = [b"{"], [b"[\n    ", entries, b"\n  ]"] if entries else [b"[]"]
    for number, (key, value) in enumerate(head.items()):
        parts.append((b",\n  " if number else b"\n  ") + json.dumps(key, ensure_ascii=False).encode() + b": ")
        parts += listed if key == "sessions" else [_indented(value, b"  ")]
    return [*parts, b"\n}\n"]


def _indented(value: Any, by: bytes) -> bytes:
    return jsontext.pretty(value).rstrip(b"\n").replace(b"\n", b"\n" + by)


# What the global index says of each session: made once for each change of its file, and kept as bytes.

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
                known, data = self._by_root.get(root, {}).get(path), encoded(each)
                same = known is not None and known.data == data
                entry = known if known and same else Entry(data, is_active(each), _size(path))
                found.setdefault(root, {})[path] = entry
        self._by_root = found

    def doubt(self) -> None:
        """Have each made anew, also of files that are as they were."""
        self._by_root = {
            root: {path: replace(entry, mark=None) for path, entry in some.items()}
            for root, some in self._by_root.items()
        }

    def forget(self, root: Path) -> None:
        """Forget the errors of the sessions of a project that is no longer served."""
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
            raw = index_entry(self._load(folder, session_id), file, folder.root)
        except NotFound:  # removed at this moment
            return None
        except DagentdError as error:
            self.errors[file] = error
            return known
        self.errors.pop(file, None)
        if known is not None:
            held = jsontext.decode_own(known.data)
            section_of(held, "status").pop(MISSING, None)
            raw = overlaid(held, raw)
        return Entry(encoded(raw), is_active(raw), mark[2], mark)

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
    since = times.parse(section_of(raw, "status").get(MISSING))
    if since is None:
        raw = overlaid(raw, {"status": {"isActive": False, MISSING: stamp(now)}})
        return Entry(encoded(raw), False, entry.size)
    if (now - since).total_seconds() < age:
        return entry
    _log.info("%s: dropped from the AGX index: its project has been gone since %s", path, stamp(since))
    return None


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except (OSError, ValueError):  # not there; or what another program wrote is no path
        return 0
