"""Writing a session's context without opening the session: what is ours in it can be made again."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, backups, disk, fileio
from dagentd.adapters.files.marks import PATIENCE
from dagentd.errors import Conflict, DagentdError, NotFound
from dagentd.model import context_document, jsontext
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.store.documents.projection import GONE_FOR
from dagentd.store.layout import layout
from dagentd.store.sessions.open_sessions import OpenSessions
from dagentd.store.sessions.project_problems import ProjectProblems
from dagentd.store.sessions.resources import Resources

_TRIES = 20
_SOON = 0.05  # seconds, at the least, before it is looked at again
_log = logging.getLogger(__name__)

Renew = Callable[[dict[str, Any]], dict[str, Any] | None]


@dataclass(frozen=True)
class _Waiting:
    """A context that vanished, or whose bytes make no sense: how it was found, and what was beside it then."""

    digest: bytes  # empty: it was not there
    since: float
    until: float
    beside: list[Path]


class ContextFiles:
    """Of one project; safe to call from any thread. Nothing here waits: what must wait is `due`, and whoever keeps the
    contexts comes again then. `known` are those that were there."""

    def __init__(self, resources: Resources, sessions: OpenSessions, problems: ProjectProblems) -> None:
        self._resources, self._sessions, self._problems = resources, sessions, problems
        self._known: set[Path] = set()
        self._waiting: dict[Path, _Waiting] = {}

    def renew(self, folder: SessionFolder, renew: Renew, task: object) -> bool:
        """Replace the document by what `renew` makes of it, and tell of that; False if nothing is to be written, or may
        be: an older version must not undo what a newer one does."""
        if self._resources.read_only or self._sessions.ended or self._problems.is_newer(folder):
            return False
        path, failed = folder.document("context"), None
        try:
            if not self._replaced(path, folder, renew):
                return False
        except DagentdError as error:
            failed = error
            raise
        finally:
            self._problems.came_of(path, failed)
        self._resources.announce("session:updated", **folder.about(self._resources.project, task), action="context")
        return True

    def _replaced(self, path: Path, folder: SessionFolder, renew: Renew) -> bool:
        """Not if it must wait, or if the document, its folder or another document vanishes meanwhile: whoever removes a
        session must not find it made again. Synced the first time, as a first rename without that was an empty file
        after power loss, and where others keep fields in it, which are nowhere else."""
        for _ in range(_TRIES):
            beside = layout.files_of(folder)
            if (found := self._found(path, beside)) is None:
                return False
            before, expect = found
            after = renew(before)
            if after is None or not beside:  # with nothing else of it there, it is as good as removed
                return False
            sync = expect is None or context_document.holds_more(after)
            around = [*beside, *folder.feature.signs]
            try:
                with disk.explained(path):
                    done = atomic.publish(path, [jsontext.pretty(after)], expect=expect, sync=sync,
                                          temps=self._resources.temps, beside=around)  # fmt: skip
            except NotFound:
                return False
            except atomic.Changed:
                if expect is not None and not os.path.lexists(path):
                    return False
                continue
            if done.replaced is not None:
                done.replaced.close()
            self._known.add(path)
            return True
        raise Conflict("another program keeps writing this file", path=path, hint="Try again when it has ended.")

    def due(self, within: Path) -> float | None:
        """In how many seconds a context in this folder, or this very one, can be made that had to wait; None if none
        has. One that nobody came for then is gone or paused."""
        now = clock.monotonic()
        for path in [path for path, each in list(self._waiting.items()) if each.until + PATIENCE < now]:
            self._waiting.pop(path, None)
        waiting = [each.until for path, each in list(self._waiting.items()) if path.is_relative_to(within)]
        return max(_SOON, min(waiting) - now) if waiting else None

    def _found(self, path: Path, beside: list[Path]) -> tuple[dict[str, Any], bytes | None] | None:
        """The document and the digest of its bytes; None if it must wait, or its session is being removed."""
        try:
            data = fileio.read(path)
        except FileNotFoundError:
            return ({}, None) if self._may_be_made(path, beside) else None
        self._known.add(path)
        try:
            found = jsontext.decode_object(data)
        except Undecodable as error:
            if self._waits(path, fileio.digest(data), self._resources.settle, beside):
                return None
            found = _kept_aside(path, data, str(error))
        self._waiting.pop(path, None)
        return found, fileio.digest(data)

    def _may_be_made(self, path: Path, beside: list[Path]) -> bool:
        """One that vanished only if nothing follows it: git removes the files of a session one after the other, and on
        a busy machine it may come to the next one long after the first."""
        if path in self._known and self._waits(path, b"", GONE_FOR, beside):
            return False
        self._known.discard(path)
        waited = self._waiting.pop(path, None)
        return waited is None or all(map(os.path.lexists, waited.beside))

    def _waits(self, path: Path, digest: bytes, seconds: float, beside: list[Path]) -> bool:
        """Whether it has been so for too short a time; from now on, if it was otherwise before. Bytes that make no
        sense and never stay the same are waited for no longer than `PATIENCE`."""
        now, known = clock.monotonic(), self._waiting.get(path)
        other = known is None or bool(known.digest) != bool(digest)
        if known is None or other or (known.digest != digest and now < known.since + PATIENCE):
            since = now if known is None or other else known.since
            known = self._waiting[path] = _Waiting(digest, since, now + seconds, beside)
        return now < known.until

    def forget(self, feature: FeatureFolder) -> None:
        """It is gone; what comes in its place is new."""
        self._known -= {path for path in list(self._known) if path.is_relative_to(feature.path)}
        for path in [path for path in list(self._waiting) if path.is_relative_to(feature.path)]:
            self._waiting.pop(path, None)


def _kept_aside(path: Path, data: bytes, why: str) -> dict[str, Any]:
    if data.strip(b"\0 \t\r\n"):
        with disk.explained(path):
            kept = backups.save_beside(path, "corrupt", data)
        _log.warning("%s: %s; it is kept as %s and made anew", path, why, kept.name)
    return {}
