"""Making a session, or bringing one back whose worktree is gone."""

from __future__ import annotations

from dagentd.adapters import clock, disk
from dagentd.errors import DagentdError, InvalidInput, NotFound
from dagentd.model import ids
from dagentd.model.project import FeatureFolder, GoneFolder, SessionFolder
from dagentd.store import beginning, layout, links, opening, outlived, withdrawn
from dagentd.store import journal as journals
from dagentd.store.catalogue import Catalogue, of_feature
from dagentd.store.links import Link
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.resources import Resources
from dagentd.store.session import Session

_TOLD_BY = ("type", "agentType", "taskState")  # what makes a session the one that is asked for
_LEADERS = ("pm", "feature")  # whose session a feature names; those of other roles are beside it


class Maker:
    def __init__(self, resources: Resources, catalogue: Catalogue, sessions: OpenSessions) -> None:
        self._resources, self._catalogue, self._sessions = resources, catalogue, sessions

    def get_or_create(
        self, type: str, agent_type: str, feature_id: str, task_id: str | None = None,
        task_state: str | None = None, worktree: str | None = None,
    ) -> Session:  # fmt: skip
        """The session of a feature or of a task's state; an archived one becomes active again."""
        self._resources.check_writable()
        ids.one_of(type, ids.SessionType, "type")
        if type == "task" and task_id is None:
            raise InvalidInput("a task session needs taskId", hint="Give it; taskState may be left out.")
        feature = self._catalogue.feature(feature_id, worktree)
        fields = {"type": type, "agentType": agent_type, "featureId": feature_id}
        if type == "task":
            state = ids.usual_state(agent_type) if task_state is None else task_state
            session_id = ids.task_session(agent_type, feature_id, str(task_id), state)
            fields |= {"taskId": str(task_id), "taskState": state}
        else:
            session_id = ids.feature_session(agent_type, feature_id)
        session_id = self.linked(feature, fields, session_id) or session_id
        with self._sessions.door(session_id):
            session = self._existing(feature, session_id)
            with self._sessions.lock:
                session = session or self._create(feature, session_id, fields)
                self.complete(session, fields, leads=type == "task" or agent_type in _LEADERS)
        return session

    def linked(self, feature: FeatureFolder, fields: dict[str, str], usual: str) -> str | None:
        """The active session of this role that the feature, or the task for this state, names: whatever its id, and of
        several the one with the usual id, else the latest."""
        named = links.named(feature, fields.get("taskId"), fields.get("taskState"))
        found = [folder.id for folder in named if self._is_active(folder, fields)]
        return usual if usual in found else found[-1] if found else None

    def _is_active(self, folder: SessionFolder, fields: dict[str, str]) -> bool:
        try:
            known = self._sessions.document(folder) or layout.read_object(folder.document("session"))
        except (FileNotFoundError, DagentdError):
            return False
        same = all(known.get(key, wanted) == wanted for key, wanted in fields.items() if key in _TOLD_BY)
        return same and known.get("status", "active") == "active"

    def _existing(self, feature: FeatureFolder, session_id: str) -> Session | None:
        folder = of_feature(feature, session_id) or withdrawn.left_behind(feature, session_id)
        if folder is None:
            return None
        session = self._sessions.open(folder)
        if session.fields.get("status") in ("archived", withdrawn.STATUS):
            session.set(status="active")
        return session

    def _create(self, feature: FeatureFolder, session_id: str, fields: dict[str, str]) -> Session:
        self._sessions.close_lost(session_id)
        folder = layout.new_session(feature, session_id)
        first = opening.chunks(beginning.new_session(folder, fields, clock.stamp()))
        with disk.explained(folder.path), links.session_folders(folder, feature.signs):
            journals.create(folder.journal, session_id, first, self._resources.kept, feature.signs).close()
        session = self._sessions.open(folder)
        session.announce(action="created")
        return session

    def complete(self, session: Session, fields: dict[str, str], leads: bool = False) -> None:
        """What a new session has beside its journal; a crash may have come between."""
        session.describe()
        link = Link.of(session.folder.feature, session.id, fields, leads)
        if (late := link.make(self._resources.settle, self._resources.temps)) is not None:
            self._resources.soon(late)

    def restore(self, session_id: str, feature_id: str | None = None, worktree: str | None = None) -> Session:
        """Bring a session whose worktree is gone back, into its feature or another one."""
        self._resources.check_writable()
        ids.checked(session_id)
        with self._sessions.alone(self._gone(session_id).id):
            kept = self._gone(session_id)
            with self._sessions.use(kept) as lost:
                fields = outlived.known_fields(lost.fields)
            feature = self._feature_for(session_id, feature_id or fields.pop("featureId", None), worktree)
            self._sessions.close_lost(kept.id)
            session = self._sessions.open(outlived.put_back(kept, feature))
            session.set(featureId=feature.id, restored={"at": clock.stamp(), "worktree": feature.tree.name})
            self.complete(session, fields)
        session.announce(action="created")
        return session

    def _gone(self, session_id: str) -> GoneFolder:
        if not (kept := self._catalogue.gone(session_id)):
            raise NotFound(f"no session {session_id} is gone", hint="dagentd sessions --gone")
        return kept[-1]

    def _feature_for(self, session_id: str, feature_id: str | None, worktree: str | None) -> FeatureFolder:
        if feature_id is None or all(each.id != feature_id for each in self._catalogue.features()):
            told = f"its feature {feature_id} is not there" if feature_id else "its feature is not known"
            hint = f"dagentd restore {session_id} --into FEATURE"
            raise NotFound(f"session {session_id} has no place to go: {told}", hint=hint)
        return self._catalogue.feature(feature_id, worktree)
