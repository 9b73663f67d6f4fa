"""Looking at the sessions of a project one after the other: what others wrote is taken in, what is wrong is noted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dagentd.adapters import marks
from dagentd.errors import DagentdError
from dagentd.model.project import FeatureFolder, Project, SessionFolder
from dagentd.store import layout
from dagentd.store.catalogue import Catalogue, of_feature
from dagentd.store.closed import closed
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.problems import Problems
from dagentd.store.session import Session
from dagentd.waiting import apart


class Reconciler:
    def __init__(self, project: Project, catalogue: Catalogue, sessions: OpenSessions, problems: Problems) -> None:
        self._project, self._catalogue, self._sessions, self._problems = project, catalogue, sessions, problems
        self._settled: dict[Path, tuple[object, ...]] = {}  # how its files were when a session was last reconciled

    def reconcile(self) -> list[Session]:
        """Look at every session: each gets a journal and its documents, and what others wrote is taken in."""
        self.look_around()
        return [session for feature in self._catalogue.features() for session in self.in_turn(feature)]

    def look_around(self) -> None:
        """Note the folders that are closed to us, and forget what was wrong with sessions that are no longer there."""
        self._problems.closed(closed(self._project))
        there = {folder.journal for folder in self._catalogue.folders()}
        self._problems.forget_others(there)
        for gone in self._settled.keys() - there:
            self._settled.pop(gone, None)

    def in_turn(self, feature: FeatureFolder, *, everything: bool = True) -> Iterator[Session]:
        """Every session of a feature, or those whose files are not as they were when last reconciled, one after the
        other. One that cannot be served is a problem of its own and stops nobody."""
        for folder in layout.sessions(feature):
            files_now = _signature(folder)
            if not everything and self._settled.get(folder.journal) == files_now:
                continue
            self._settled[folder.journal] = ()
            with apart():
                try:
                    with self._sessions.use(folder) as session:
                        session.reconcile()
                        with contextlib.suppress(DagentdError):  # a request has the usual one; the next look tries it
                            session.describe()
                        yield session
                        sound = not session.problems
                    self._problems.served(folder)
                    self._settled[folder.journal] = files_now if sound else ()
                except DagentdError as error:
                    self._problems.unserved(folder, error)

    def look(self, feature: FeatureFolder, session_id: str) -> bool:
        """Take in what others wrote to one session. True if its context is to be made, or made anew."""
        folder = of_feature(feature, session_id)
        if folder is None:
            return False
        try:
            with self._sessions.use(folder) as session:
                new = session.look()
        except DagentdError as error:
            self._problems.unserved(folder, error)
            return False
        self._problems.served(folder)
        return new

    def glance(self, feature: FeatureFolder, session_id: str, held: Sequence[bytes]) -> None:
        """Take in what others have just added to its chat, and judge nothing else yet. One without a journal waits
        until it has settled if it ever had one: somebody may be copying it here, file by file."""
        folder = of_feature(feature, session_id)
        if folder is not None and (os.path.lexists(folder.journal) or not _had_a_journal(folder)):
            with self._sessions.use(folder) as session:
                session.glance(held)


def _had_a_journal(folder: SessionFolder) -> bool:
    """So say its documents, or one that cannot be read just now may say so."""
    try:
        return any("dagentd" in layout.read_object(folder.document(name)) for name in ("session", "chat"))
    except (FileNotFoundError, DagentdError):
        return True


def _signature(folder: SessionFolder) -> tuple[object, ...]:
    """Equal as long as nobody wrote to its files, but for a write in the same tick of the clock as ours; and as long as
    the journal has as many names: one of them may be the kept one."""
    paths = [folder.journal, *(folder.document(name) for name in ("session", "chat", "checkpoint", "memory"))]
    return (*map(marks.of, paths), marks.names_of(folder.journal))
