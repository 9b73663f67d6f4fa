"""The store of one project: its lock, and the parts that find, open, make, reconcile and remove its sessions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dagentd.adapters.files.atomic import Temps
from dagentd.errors import DagentdError
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder, Project, SessionFolder
from dagentd.store import writer_lock
from dagentd.store.documents.context_files import ContextFiles, Renew
from dagentd.store.journal.index import Index
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.layout.catalogue import Catalogue
from dagentd.store.memory import Memory
from dagentd.store.pauses import Pauses
from dagentd.store.sessions.maker import Importer, SessionMaker
from dagentd.store.sessions.open_sessions import OpenSessions
from dagentd.store.sessions.project_problems import ProjectProblems
from dagentd.store.sessions.reconciler import Reconciler, Sweep
from dagentd.store.sessions.removal import Remover, Rollback
from dagentd.store.sessions.resources import Announce, Projector, Resources
from dagentd.store.sessions.session import Session

_log = logging.getLogger(__name__)


class Store:
    """Holds the project's lock while it is open, unless it is `read_only`. Safe to call from any thread."""

    def __init__(
        self,
        project: Project,
        index: Index,
        *,
        settle: float = 0.1,
        wait: float = 0.0,
        read_only: bool = False,
        announce: Announce = lambda *_, **__: None,
        changed: Callable[[Store, Session], None] = lambda *_: None,
    ) -> None:
        self.project = project
        self.read_only = read_only
        self._held = None if read_only else writer_lock.take(project, wait)
        if self._held and self._held.stale:
            _log.warning("took over the lock of process %s, which died", self._held.stale.get("pid"))
        self.pauses, self.memory = Pauses(project), Memory(project, read_only)
        self._projector = Projector(lambda bug: _log.error("while writing documents", exc_info=bug))
        kept, temps, soon = KeptJournals(project), Temps(project.temp_dir), self._projector.soon
        self._resources = Resources(
            project, kept, temps, index, settle, read_only, soon, announce, lambda session: changed(self, session)
        )
        self.catalogue, self.noted = Catalogue(project, kept), ProjectProblems()
        self.contexts = ContextFiles(settle, temps)
        self.sessions = OpenSessions(self._resources, self.catalogue, self.noted)
        parts = (self._resources, self.catalogue, self.sessions)
        self.maker, self.remover = SessionMaker(*parts), Remover(*parts)
        self.importer = Importer(self._resources, self.sessions, self.maker)
        self.rollback = Rollback(self._resources, self.sessions)
        self.reconciler = Reconciler(project, self.catalogue, self.sessions, self.noted)
        if not read_only:
            try:
                Sweep(*parts).run()
            except BaseException:
                self.close()
                raise

    def is_locked(self) -> bool:
        """False once somebody removed our folder in git's: another daemon may then write, and nothing is kept."""
        return self._held is not None and self._held.in_place()

    @property
    def temps(self) -> Temps:
        return self._resources.temps

    @property
    def search_file(self) -> Path | None:
        return self._resources.search_file

    def session(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> Session:
        """A session, open as long as the store is."""
        return self.sessions.open(self.catalogue.find(session_id, worktree, feature_id))

    def let_go(self, feature: FeatureFolder) -> None:
        self.sessions.let_go(feature)
        self.contexts.forget(feature)

    def forget(self, session_id: str) -> list[Path]:
        removed = self.remover.forget(session_id)
        self.pauses.end(session_id)
        return removed

    def glance(self, feature: FeatureFolder, session_id: str, held: Sequence[bytes] = ()) -> None:
        """`held` is what was in its chat a moment ago, and may be there no more."""
        if not self.read_only:
            self.reconciler.glance(feature, session_id, held)

    def renew_context(self, folder: SessionFolder, renew: Renew, task: object) -> bool:
        """Write a session's context without opening the session; False if nothing is to be written, or may be: an
        older version must not undo what a newer one does."""
        if self.read_only or self.sessions.ended or self.noted.is_newer(folder):
            return False
        path, failed = folder.document("context"), None
        try:
            if not self.contexts.renew(folder, renew):
                return False
        except DagentdError as error:
            failed = error
            raise
        finally:
            self.noted.came_of(path, failed)
        self._resources.announce_about(folder, task, action="context")
        return True

    def announce(self, session_id: str | None, **fields: Any) -> None:
        """Tell watchers of each session of this id, or once of all that the project has."""
        if session_id is None:
            self._resources.announce("session:updated", project=str(self.project.root), **fields)
        for folder in self.catalogue.folders() if session_id is not None else ():
            if folder.id == session_id:
                self._resources.announce_about(folder, (self.sessions.document(folder) or {}).get("taskId"), **fields)

    @property
    def problems(self) -> list[Problem]:
        return [*self.noted.of_project(), *self._of_files()]

    def all_problems(self) -> list[Problem]:
        return [*self.noted.all(), *self._of_files()]

    def _of_files(self) -> list[Problem]:
        return [*self.pauses.problems(), *self.memory.problems()]

    def close(self) -> None:
        """Write what is behind, then let go of the lock."""
        self.sessions.end()
        self._projector.stop()
        self.sessions.close()
        held, self._held = self._held, None  # closed twice, it must not close what has its number by then
        if held:
            held.release()
