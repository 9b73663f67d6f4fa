"""The sessions of one project: found, opened, made, reconciled, removed. Each is done by a part of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from dagentd.adapters.temps import Temps
from dagentd.errors import DagentdError
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder, GoneFolder, Project, SessionFolder
from dagentd.store import lock
from dagentd.store.actions import Announce
from dagentd.store.catalogue import Catalogue
from dagentd.store.contexts import Contexts, Renew
from dagentd.store.importing import Importer
from dagentd.store.index import Index
from dagentd.store.kept import Kept
from dagentd.store.making import Maker
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.pauses import Pauses
from dagentd.store.problems import Problems
from dagentd.store.projector import Projector
from dagentd.store.reconciling import Reconciler
from dagentd.store.removing import Remover
from dagentd.store.resources import Resources
from dagentd.store.session import Session
from dagentd.store.sweeping import Sweep
from dagentd.store.withdrawing import Withdrawer

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
        self._held = None if read_only else lock.take(project, wait)
        if self._held and self._held.stale:
            _log.warning("took over the lock of process %s, which died", self._held.stale.get("pid"))
        self.pauses = Pauses(project)
        self._projector = Projector(lambda bug: _log.error("while writing documents", exc_info=bug))
        kept, temps, soon = Kept(project), Temps(project.temp_dir), self._projector.soon
        self._resources = Resources(
            project, kept, temps, index, settle, read_only, soon, announce, lambda session: changed(self, session)
        )
        self._catalogue, self._problems = Catalogue(project, kept), Problems()
        self._contexts = Contexts(settle, temps)
        self._sessions = OpenSessions(self._resources, self._catalogue, self._problems)
        parts = (self._resources, self._catalogue, self._sessions)
        self._maker, self._remover = Maker(*parts), Remover(*parts)
        self.importer = Importer(self._resources, self._sessions, self._maker)
        self.withdrawer = Withdrawer(self._resources, self._sessions)
        self._reconciler = Reconciler(project, self._catalogue, self._sessions, self._problems)
        if not read_only:
            try:
                Sweep(*parts).run()
            except BaseException:
                self.close()
                raise

    def is_locked(self) -> bool:
        """False once somebody removed our folder in git's: another daemon may then write, and nothing is kept."""
        return self._held is not None and self._held.in_place()

    # --- finding ------------------------------------------------------------------------------------------

    def features(self) -> list[FeatureFolder]:
        return self._catalogue.features()

    def feature(self, feature_id: str, worktree: str | None = None) -> FeatureFolder:
        return self._catalogue.feature(feature_id, worktree)

    def folders(self) -> list[SessionFolder]:
        return self._catalogue.folders()

    def find(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> SessionFolder:
        return self._catalogue.find(session_id, worktree, feature_id)

    def has(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> bool:
        return self._catalogue.has(session_id, worktree, feature_id)

    def everything(self) -> list[SessionFolder]:
        return self._catalogue.everything()

    def gone(self, session_id: str | None = None) -> list[GoneFolder]:
        return self._catalogue.gone(session_id)

    @property
    def temps(self) -> Temps:
        return self._resources.temps

    @property
    def search_file(self) -> Path | None:
        return self._resources.search_file

    # --- opening ------------------------------------------------------------------------------------------

    def session(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> Session:
        """A session, open as long as the store is."""
        return self.open(self.find(session_id, worktree, feature_id))

    def open(self, folder: SessionFolder) -> Session:
        return self._sessions.open(folder)

    def use(self, folder: SessionFolder) -> AbstractContextManager[Session]:
        return self._sessions.use(folder)

    def using(
        self, session_id: str, worktree: str | None = None, feature_id: str | None = None
    ) -> AbstractContextManager[Session]:
        return self._sessions.using(session_id, worktree, feature_id)

    def document(self, folder: SessionFolder) -> dict[str, Any] | None:
        return self._sessions.document(folder)

    def let_go(self, feature: FeatureFolder) -> None:
        self._sessions.let_go(feature)
        self._contexts.forget(feature)

    # --- making and removing ------------------------------------------------------------------------------

    def get_or_create(
        self, type: str, agent_type: str, feature_id: str, task_id: str | None = None,
        task_state: str | None = None, worktree: str | None = None,
    ) -> Session:  # fmt: skip
        return self._maker.get_or_create(type, agent_type, feature_id, task_id, task_state, worktree)

    def linked(self, feature: FeatureFolder, fields: dict[str, str], usual: str) -> str | None:
        return self._maker.linked(feature, fields, usual)

    def restore(self, session_id: str, feature_id: str | None = None, worktree: str | None = None) -> Session:
        return self._maker.restore(session_id, feature_id, worktree)

    def discard(self, kept: GoneFolder) -> bool:
        return self._remover.discard(kept)

    def traces(self, session_id: str) -> list[Path]:
        return self._remover.traces(session_id)

    def forget(self, session_id: str) -> list[Path]:
        removed = self._remover.forget(session_id)
        self.pauses.end(session_id)
        return removed

    # --- keeping ------------------------------------------------------------------------------------------

    def reconcile(self) -> list[Session]:
        return self._reconciler.reconcile()

    def look_around(self) -> None:
        self._reconciler.look_around()

    def in_turn(self, feature: FeatureFolder, *, everything: bool = True) -> Iterator[Session]:
        return self._reconciler.in_turn(feature, everything=everything)

    def look(self, feature: FeatureFolder, session_id: str) -> bool:
        return self._reconciler.look(feature, session_id)

    def glance(self, feature: FeatureFolder, session_id: str, held: Sequence[bytes] = ()) -> None:
        """`held` is what was in its chat a moment ago, and may be there no more."""
        if not self.read_only:
            self._reconciler.glance(feature, session_id, held)

    def renew_context(self, folder: SessionFolder, renew: Renew, task: object) -> bool:
        """Write a session's context without opening the session; False if nothing is to be written, or may be: an
        older version must not undo what a newer one does."""
        if self.read_only or self._sessions.ended or self._problems.is_newer(folder):
            return False
        path, failed = folder.document("context"), None
        try:
            if not self._contexts.renew(folder, renew):
                return False
        except DagentdError as error:
            failed = error
            raise
        finally:
            self.came_of(path, failed)
        self._resources.announce_update(folder, task, action="context")
        return True

    def context_due(self, within: Path) -> float | None:
        return self._contexts.due(within)

    def came_of(self, path: Path, error: DagentdError | None) -> None:
        self._problems.came_of(path, error)

    def shortage(self, feature: FeatureFolder) -> DagentdError | None:
        return self._problems.shortage(feature.path)

    @property
    def problems(self) -> list[Problem]:
        return [*self._problems.of_project(), *self.pauses.problems()]

    def all_problems(self) -> list[Problem]:
        return [*self._problems.all(), *self.pauses.problems()]

    def close(self) -> None:
        """Write what is behind, then let go of the lock."""
        self._sessions.end()
        self._projector.stop()
        self._sessions.close()
        held, self._held = self._held, None  # closed twice, it must not close what has its number by then
        if held:
            held.release()
