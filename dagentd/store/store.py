"""The sessions of one project: found, opened, created, reconciled."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk, marks
from dagentd.adapters.temps import Temps, left_beside
from dagentd.errors import Conflict, DagentdError, InvalidInput, NotAllowed, NotFound
from dagentd.model import ids
from dagentd.model.problem import Problem, still_wrong
from dagentd.model.project import FeatureFolder, GoneFolder, Project, SessionFolder
from dagentd.store import forgetting, layout, links, lock, opening, outlived, roles, search
from dagentd.store import journal as journals
from dagentd.store.actions import Announce
from dagentd.store.chronicle import Chronicle, Glance
from dagentd.store.contexts import Renew, renew_context
from dagentd.store.firstlook import FirstLook
from dagentd.store.index import Index
from dagentd.store.kept import Kept
from dagentd.store.projections import places
from dagentd.store.projector import Projector
from dagentd.store.session import Session

_log = logging.getLogger(__name__)
_OPEN = 32  # sessions kept open although nobody uses them


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
    ) -> None:
        self.project = project
        self.read_only = read_only
        self._barred: list[Problem] = []
        self._unserved: dict[Path, Problem] = {}  # by the journal of a session that cannot be opened
        self._index, self._settle, self._announce = index, settle, announce
        self._noted: dict[Path, list[Problem]] = {}  # of sessions that may be closed again
        self._settled: dict[Path, tuple[object, ...]] = {}  # how its files were when a session was last reconciled
        self._kept, self._temps = Kept(project), Temps(project.temp_dir)
        self._mutex = threading.RLock()
        self._open: dict[Path, Session] = {}
        self._closed = False
        self._found: dict[tuple[str, str | None], SessionFolder] = {}
        self._held = None if read_only else lock.take(project, wait)
        if self._held and self._held.stale:
            _log.warning("took over the lock of process %s, which died", self._held.stale.get("pid"))
        self._projector = Projector(lambda bug: _log.error("while writing documents", exc_info=bug))
        if not read_only:
            try:
                self._sweep()
            except BaseException:
                self.close()
                raise

    # --- finding ------------------------------------------------------------------------------------------

    def features(self) -> list[FeatureFolder]:
        return [feature for tree in layout.trees(self.project) for feature in layout.features(tree)]

    def feature(self, feature_id: str, worktree: str | None = None) -> FeatureFolder:
        ids.checked(feature_id, "feature id")
        found = [feature for feature in self.features() if feature.id == feature_id]
        if not found:
            raise NotFound(f"no feature {feature_id} in {self.project.root}", hint="dagentd sessions")
        return _meant(found, feature_id, worktree)

    def folders(self) -> list[SessionFolder]:
        return [folder for feature in self.features() for folder in layout.sessions(feature)]

    def find(self, session_id: str, worktree: str | None = None) -> SessionFolder:
        """Where a session is; of several worktrees that have it, the one named like its feature is meant. One that
        is gone is found where its journal is kept, and can be read."""
        ids.checked(session_id)
        found = {folder.feature: folder for folder in self.folders() if folder.id == session_id}
        if found:
            return found[_meant(list(found), session_id, worktree)]
        if worktree is None and (kept := self.gone(session_id)):
            return kept[-1]
        raise NotFound(f"no session {session_id} in {self.project.root}", hint="dagentd sessions")

    def everything(self) -> list[SessionFolder]:
        """All sessions, and then what was kept of those that are gone."""
        live = self.folders()
        return [*live, *outlived.folders(self._kept, live)]

    def gone(self, session_id: str | None = None) -> list[GoneFolder]:
        """What was kept of sessions whose worktree is gone, of each the oldest first. `session_id` may also name one
        of several with its number, as in `pm-feature-login.1`."""
        found = outlived.folders(self._kept, self.folders())
        return [each for each in found if session_id in (None, each.id, each.journal.stem)]

    def has(self, session_id: str, worktree: str | None = None) -> bool:
        try:
            return not self.find(session_id, worktree).gone
        except NotFound:
            return False

    # --- opening ------------------------------------------------------------------------------------------

    def session(self, session_id: str, worktree: str | None = None) -> Session:
        """A session, open as long as the store is."""
        return self.open(self.find(session_id, worktree))

    @contextlib.contextmanager
    def using(self, session_id: str, worktree: str | None = None) -> Iterator[Session]:
        """A session for as long as it is used. Where it was found is remembered while it is open, so that the next
        call need not look through all worktrees."""
        folder = self._found.get((session_id, worktree))
        if folder is None or not self._is_open(folder) or not os.path.lexists(folder.journal):
            folder = self.find(session_id, worktree)
            self._found[session_id, worktree] = folder
        with self.use(folder) as session:
            yield session

    @contextlib.contextmanager
    def use(self, folder: SessionFolder) -> Iterator[Session]:
        session = self.open(folder)
        try:
            yield session
        finally:
            self._noted[folder.journal] = session.problems
            session.leave()
            if self.read_only or folder.gone:
                self._let_go(folder, session)
            self._retire_some()

    def _let_go(self, folder: SessionFolder, session: Session) -> None:
        """Somebody else writes to it: the next one who asks reads it again."""
        with self._mutex:
            if self._open.get(folder.journal) is session:
                del self._open[folder.journal]
        session.retire()

    def open(self, folder: SessionFolder) -> Session:
        with self._mutex:
            if self._closed:
                raise NotFound(f"{self.project.root} is no longer served", hint="dagentd projects")
            session = self._open.pop(folder.journal, None)
            if session is None or not session.enter():
                if session is not None:
                    session.retire()
                session = self._new(folder)
                session.enter()
            self._open[folder.journal] = session  # last: the order tells which was not used for longest
            return session

    def _new(self, folder: SessionFolder) -> Session:
        opened = self._chronicle(folder)
        soon = self._projector.soon
        return Session(self.project, folder, opened, self._settle, self._temps, soon, self._announce)

    def document(self, folder: SessionFolder) -> dict[str, Any] | None:
        """The document of a session that is open: what is on disk may be behind it."""
        session = self._open.get(folder.journal)
        return session.document() if session is not None and self._is_open(folder) else None

    def _is_open(self, folder: SessionFolder) -> bool:
        session = self._open.get(folder.journal)
        return session is not None and not session.closed and not session.gone

    def _retire_some(self) -> None:
        """Keep only some open: a project has more sessions than a process may have files open."""
        if len(self._open) <= _OPEN:
            return
        with self._mutex:
            self._open = {path: session for path, session in self._open.items() if not session.closed}
            self._found = {key: folder for key, folder in self._found.items() if folder.journal in self._open}
            for session in list(self._open.values())[:-_OPEN]:
                session.retire()

    def _chronicle(self, folder: SessionFolder) -> Callable[[FirstLook], Chronicle]:
        if self.read_only or folder.gone:
            return lambda first: Glance(folder, self._kept, Index(None), first)
        return lambda first: Chronicle(folder, self._kept, self._index, first)

    @property
    def search_file(self) -> Path | None:
        """Where the words of all messages are indexed; None: nowhere but in memory."""
        return self._index.path.with_name("search.sqlite3") if self._index.path else None

    # --- making -------------------------------------------------------------------------------------------

    def get_or_create(
        self, type: str, agent_type: str, feature_id: str, task_id: str | None = None,
        task_state: str | None = None, worktree: str | None = None,
    ) -> Session:  # fmt: skip
        """The session of a feature or of a task's state; an archived one becomes active again."""
        self._check_writable()
        ids.one_of(type, ids.SessionType, "type")
        if type == "task" and (task_id is None or task_state is None):
            raise InvalidInput("a task session needs taskId and taskState", hint="Give both.")
        feature = self.feature(feature_id, worktree)
        fields = {"type": type, "agentType": agent_type, "featureId": feature_id}
        if type == "task":
            fields |= {"taskId": str(task_id), "taskState": str(task_state)}
            session_id = ids.task_session(agent_type, feature_id, str(task_id), str(task_state))
        else:
            session_id = ids.feature_session(agent_type, feature_id)
        with self._mutex:
            session = self._existing(feature, session_id) or self._create(feature, session_id, fields)
            self._complete(session, fields)
        return session

    def _check_writable(self) -> None:
        if self.read_only:
            raise NotAllowed("is served read-only", path=self.project.root, hint="dagentd status says why.")

    def restore(self, session_id: str, feature_id: str | None = None, worktree: str | None = None) -> Session:
        """Bring a session whose worktree is gone back, into its feature or another one."""
        self._check_writable()
        ids.checked(session_id)
        with self._mutex:
            kept = self.gone(session_id)
            if not kept:
                raise NotFound(f"no session {session_id} is gone", hint="dagentd sessions --gone")
            with self.use(kept[-1]) as lost:
                fields = outlived.known_fields(lost.fields)
            feature = self._feature_for(session_id, feature_id or fields.pop("featureId", None), worktree)
            self._close_lost(kept[-1].id)
            session = self.open(outlived.put_back(kept[-1], feature))
            session.set(featureId=feature.id, restored={"at": clock.stamp(), "worktree": feature.tree.name})
            self._complete(session, fields)
        session.announce(action="created")
        return session

    def _close_lost(self, session_id: str) -> None:
        """Close what is still open of it from before its worktree was gone: it would write to the same file."""
        for path, session in list(self._open.items()):
            if session.id == session_id and not os.path.lexists(path):
                session.close()
                del self._open[path]

    def discard(self, kept: GoneFolder) -> bool:
        """Remove what was kept of a session, if it is still gone."""
        self._check_writable()
        with self._mutex, disk.explained(kept.journal):
            if kept not in self.gone(kept.id):
                return False
            disk.remove(kept.journal)
            disk.sync_folder(kept.journal.parent)
        return True

    def traces(self, session_id: str) -> list[Path]:
        """The files that `forget` removes."""
        return self._traces(session_id, self._sources(ids.checked(session_id)))

    def _traces(self, session_id: str, sources: list[Path]) -> list[Path]:
        return forgetting.traces(session_id, self.features(), sources, self._kept, self._temps)

    def _sources(self, session_id: str) -> list[Path]:
        found: list[Path] = []
        for folder in (each for each in self.folders() if each.id == session_id):
            with contextlib.suppress(DagentdError), self.use(folder) as session:  # one that is damaged is forgotten too
                found += forgetting.sources_of(folder.feature, session.fields)
        return found

    def forget(self, session_id: str) -> list[Path]:
        """Remove a session and all its traces for good; the files that held them."""
        self._check_writable()
        with self._mutex:
            sources = self._sources(ids.checked(session_id))
            for path in [path for path, session in self._open.items() if session.id == session_id]:
                self._open.pop(path).close()
            found = self._traces(session_id, sources)
            if not found:
                raise NotFound(f"there is nothing of a session {session_id}", hint="dagentd sessions")
            forgetting.remove(found, session_id)
            for feature in self.features():
                for late in forgetting.drop_links(session_id, feature, self._settle, self._temps):
                    self._projector.soon(late)
        names = (f"/history_{session_id}.jsonl", f"/{session_id}/history.jsonl")
        self._index.erase(lambda path: str(path).endswith(names) and path.is_relative_to(self.project.root))
        if self.search_file is not None:
            search.forget(self.search_file)
        return found

    def _feature_for(self, session_id: str, feature_id: str | None, worktree: str | None) -> FeatureFolder:
        if feature_id is None or all(each.id != feature_id for each in self.features()):
            told = f"its feature {feature_id} is not there" if feature_id else "its feature is not known"
            hint = f"dagentd restore {session_id} --into FEATURE"
            raise NotFound(f"session {session_id} has no place to go: {told}", hint=hint)
        return self.feature(feature_id, worktree)

    def _existing(self, feature: FeatureFolder, session_id: str) -> Session | None:
        folder = next((each for each in layout.sessions(feature) if each.id == session_id), None)
        if folder is None:
            return None
        session = self.open(folder)
        if session.fields.get("status") == "archived":
            session.set(status="active")
        return session

    def _create(self, feature: FeatureFolder, session_id: str, fields: dict[str, str]) -> Session:
        self._close_lost(session_id)
        folder = layout.new_session(feature, session_id)
        first = opening.joined(opening.new_session(folder, fields, clock.stamp()))
        with disk.explained(folder.path):
            links.make_session_folder(folder)
            journals.create(folder.journal, session_id, first, self._kept).close()
        session = self.open(folder)
        session.announce(action="created")
        return session

    def _complete(self, session: Session, fields: dict[str, str]) -> None:
        """What a new session has beside its journal; a crash may have come between."""
        if session.read("agent-description") is None and "agentType" in fields:
            session.replace("agent-description", roles.description(self.project, fields["agentType"], clock.stamp()))
        feature, how = session.folder.feature, (self._settle, self._temps)
        if "taskId" in fields and "taskState" in fields:
            late = links.link_task(feature, fields["taskId"], fields["taskState"], session.id, *how)
        else:
            late = links.link_feature(feature, session.id, *how)
        if late is not None:
            self._projector.soon(late)

    def renew_context(self, folder: SessionFolder, renew: Renew, task: object) -> bool:
        """Write a session's context without opening the session; False if nothing is to be written, or may be: an
        older version must not undo what a newer one does."""
        newer = any(problem.id == "newer" for problem in self._noted.get(folder.journal, []))
        if self.read_only or self._closed or newer:
            return False
        if not renew_context(folder.document("context"), renew, self._settle, self._temps):
            return False
        self._announce(
            "session:updated", project=str(self.project.root), feature_id=folder.feature.id, session_id=folder.id,
            task_id=task if isinstance(task, str) else None, action="context",
        )  # fmt: skip
        return True

    # --- keeping ------------------------------------------------------------------------------------------

    def reconcile(self) -> list[Session]:
        """Look at every session: each gets a journal and its documents, and what others wrote is taken in."""
        self.look_around()
        return [session for feature in self.features() for session in self.in_turn(feature)]

    def look_around(self) -> None:
        """Note the folders that are barred, and forget what was wrong with sessions that are no longer there."""
        self._barred = still_wrong(
            self._barred, [Problem.of("folder", error, clock.stamp()) for error in layout.barred(self.project)]
        )
        there = {folder.journal for folder in self.folders()}
        for gone in (self._noted.keys() | self._unserved.keys() | self._settled.keys()) - there:
            for known in (self._noted, self._unserved, self._settled):
                known.pop(gone, None)

    def in_turn(self, feature: FeatureFolder, *, everything: bool = True) -> Iterator[Session]:
        """Every session of a feature, or those whose files are not as they were when last reconciled, one after the
        other. One that cannot be served is a problem of its own and stops nobody."""
        for folder in layout.sessions(feature):
            files_now = _signature(folder)
            if not everything and self._settled.get(folder.journal) == files_now:
                continue
            try:
                with self.use(folder) as session:
                    session.reconcile()
                    yield session
                    sound = not session.problems
                self._unserved.pop(folder.journal, None)
            except DagentdError as error:
                self._unserve(folder, error)
                sound = False
            self._settled[folder.journal] = files_now if sound else ()

    def look(self, feature: FeatureFolder, session_id: str) -> bool:
        """Take in what others wrote to one session. True if its context is to be made, or made anew."""
        folder = next((each for each in layout.sessions(feature) if each.id == session_id), None)
        if folder is None:
            return False
        try:
            with self.use(folder) as session:
                new = session.look()
        except DagentdError as error:
            self._unserve(folder, error)
            return False
        self._unserved.pop(folder.journal, None)
        return new

    def _unserve(self, folder: SessionFolder, error: DagentdError) -> None:
        known = self._unserved.get(folder.journal)
        if known is None or known.message != error.message:
            self._unserved[folder.journal] = Problem.of(f"session-{folder.id}", error, clock.stamp())

    def let_go(self, feature: FeatureFolder) -> None:
        """Close what is open of a feature that is gone."""
        with self._mutex:
            for session in self._open.values():
                if session.folder.feature.path == feature.path:
                    session.retire()

    @property
    def problems(self) -> list[Problem]:
        """Of folders that are barred and sessions that cannot be opened."""
        return [*self._barred, *list(self._unserved.values())]  # a copy: other threads add to it

    def all_problems(self) -> list[Problem]:
        """Of the project, and of every session as it was last seen."""
        noted = list(self._noted.values())  # a copy: other threads add to it
        return [*self.problems, *(problem for each in noted for problem in each)]

    def _sweep(self) -> None:
        """Remove temp files of processes that died. Those of a session's documents are looked at by the session."""
        with disk.explained(self.project.temp_dir):
            self._temps.make()
        for feature in self.features():
            nodes = [feature.task_dir(name) for name in layout.folder_names(feature.path / "nodes")]
            for folder in (feature.path, *nodes, *(node / "sessions" for node in nodes), feature.sessions_dir):
                self._sweep_folder(folder)
            for each in layout.sessions(feature):
                self._sweep_folder(each.path)
        self._sweep_folder(self._kept.folder)
        self._sweep_temps()

    def _sweep_folder(self, folder: Path) -> None:
        for temp, target in left_beside(folder):
            held = next((each for each in self.folders() if target in places(each).values()), None)
            self._sweep_temp(temp, held)

    def _sweep_temps(self) -> None:
        """In the folder of their own. One that is of no session's document stays while there are folders we cannot
        look into: its session may be there."""
        if not (held := self._temps.all_left()):
            return
        targets = {path: folder for folder in self.folders() for path in places(folder).values()}
        known = {temp: targets[target] for temp, target in self._temps.left(targets)}
        hidden = any(layout.barred(self.project))
        for temp in held:
            if temp in known or not hidden:
                self._sweep_temp(temp, known.get(temp))

    def _sweep_temp(self, temp: Path, of: SessionFolder | None) -> None:
        try:
            if of is not None:
                self.open(of)
            elif os.path.lexists(temp):
                disk.remove(temp)
        except (OSError, DagentdError) as error:  # it stays, and `reconcile` says what is wrong with its session
            _log.warning("cannot look at %s: %s", temp, error)

    def close(self) -> None:
        """Write what is behind, then let go of the lock."""
        with self._mutex:
            self._closed = True
        self._projector.stop()
        with self._mutex:
            for session in self._open.values():
                session.close()
            self._open = {}
        held, self._held = self._held, None  # closed twice, it must not close what has its number by then
        if held:
            held.release()


def _meant(found: list[FeatureFolder], name: str, worktree: str | None) -> FeatureFolder:
    if worktree is not None:
        found = [each for each in found if worktree in (each.tree.name, str(each.tree.worktree))]
    own = [each for each in found if each.tree.name == each.id]
    if len(found) == 1 or len(own) == 1:
        return found[0] if len(found) == 1 else own[0]
    if not found:
        raise NotFound(f"{name} is not in worktree {worktree}", hint="dagentd sessions")
    places = ", ".join(sorted(each.tree.name for each in found))
    raise Conflict(f"{name} is in several worktrees: {places}", hint="Name one with `worktree`.")


def _signature(folder: SessionFolder) -> tuple[object, ...]:
    """Equal as long as nobody wrote to its files, but for a write in the same tick of the clock as ours."""
    paths = [folder.journal, *(folder.document(name) for name in ("session", "chat", "checkpoint", "memory"))]
    return tuple(map(marks.of, paths))
