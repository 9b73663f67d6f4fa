"""Looking at the sessions of a project one after the other: what others wrote is taken in, what died left is swept
up."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dagentd.adapters.files import disk, marks
from dagentd.adapters.files.atomic import left_beside
from dagentd.errors import DagentdError
from dagentd.model.project import FeatureFolder, Project, SessionFolder
from dagentd.store.documents.projections import places
from dagentd.store.layout import layout
from dagentd.store.layout.catalogue import Catalogue, of_feature
from dagentd.store.layout.closed_folders import closed
from dagentd.store.sessions.open_sessions import OpenSessions
from dagentd.store.sessions.project_problems import ProjectProblems
from dagentd.store.sessions.resources import Resources
from dagentd.store.sessions.session import Session
from dagentd.waiting import apart

# Removing temp files of processes that died. Those of a session's documents are looked at by the session.

_log = logging.getLogger(__name__)


class Sweep:
    def __init__(self, resources: Resources, catalogue: Catalogue, sessions: OpenSessions) -> None:
        self._resources, self._catalogue, self._sessions = resources, catalogue, sessions

    def run(self) -> None:
        with disk.explained(self._resources.project.temp_dir):
            self._resources.temps.make()
        for feature in self._catalogue.features():
            nodes = [feature.task_dir(name) for name in layout.folder_names(feature.path / "nodes")]
            for folder in (feature.path, *nodes, *(node / "sessions" for node in nodes), feature.sessions_dir):
                self._in_folder(folder)
            for each in layout.sessions(feature):
                self._in_folder(each.path)
        self._in_folder(self._resources.kept.folder)
        self._in_their_own()

    def _in_folder(self, folder: Path) -> None:
        for temp, target in left_beside(folder):
            held = next((each for each in self._catalogue.folders() if target in places(each).values()), None)
            self._one(temp, held)

    def _in_their_own(self) -> None:
        """In the folder of their own. One that is of no session's document stays while there are folders we cannot
        look into: its session may be there."""
        if not (held := self._resources.temps.all_left()):
            return
        targets = {path: folder for folder in self._catalogue.folders() for path in places(folder).values()}
        known = {temp: targets[target] for temp, target in self._resources.temps.left(targets)}
        hidden = any(closed(self._resources.project))
        for temp in held:
            if temp in known or not hidden:
                self._one(temp, known.get(temp))

    def _one(self, temp: Path, of: SessionFolder | None) -> None:
        try:
            if of is not None:
                self._sessions.open(of)
            elif os.path.lexists(temp):
                disk.remove(temp)
        except (OSError, DagentdError) as error:  # it stays, and `reconcile` says what is wrong with its session
            _log.warning("cannot look at %s: %s", temp, error)


class Reconciler:
    def __init__(
        self, project: Project, catalogue: Catalogue, sessions: OpenSessions, problems: ProjectProblems
    ) -> None:
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
            is_new = folder.journal not in self._settled
            self._settled[folder.journal] = ()
            with apart():
                try:
                    with self._sessions.use(folder) as session:
                        session.reconcile()
                        if is_new and not session.described:
                            with contextlib.suppress(DagentdError):  # a request has the usual one all the same
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
