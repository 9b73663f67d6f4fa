"""Making a session, or bringing one back whose worktree is gone."""

from __future__ import annotations

from dagentd.adapters import clock, disk
from dagentd.errors import InvalidInput, NotFound
from dagentd.model import ids
from dagentd.model.project import FeatureFolder, GoneFolder
from dagentd.store import journal as journals
from dagentd.store import layout, links, opening, outlived, roles, withdrawn
from dagentd.store.catalogue import Catalogue, of_feature
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.resources import Resources
from dagentd.store.session import Session


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
        if type == "task" and (task_id is None or task_state is None):
            raise InvalidInput("a task session needs taskId and taskState", hint="Give both.")
        feature = self._catalogue.feature(feature_id, worktree)
        fields = {"type": type, "agentType": agent_type, "featureId": feature_id}
        if type == "task":
            fields |= {"taskId": str(task_id), "taskState": str(task_state)}
            session_id = ids.task_session(agent_type, feature_id, str(task_id), str(task_state))
        else:
            session_id = ids.feature_session(agent_type, feature_id)
        with self._sessions.door(session_id):
            session = self._existing(feature, session_id)
            with self._sessions.lock:
                session = session or self._create(feature, session_id, fields)
                self.complete(session, fields)
        return session

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
        first = opening.chunks(opening.new_session(folder, fields, clock.stamp()))
        with disk.explained(folder.path):
            links.make_session_folder(folder)
            journals.create(folder.journal, session_id, first, self._resources.kept).close()
        session = self._sessions.open(folder)
        session.announce(action="created")
        return session

    def complete(self, session: Session, fields: dict[str, str]) -> None:
        """What a new session has beside its journal; a crash may have come between."""
        if session.read("agent-description") is None and "agentType" in fields:
            project, role = self._resources.project, fields["agentType"]
            session.replace("agent-description", roles.description(project, role, clock.stamp()))
        feature, how = session.folder.feature, (self._resources.settle, self._resources.temps)
        if "taskId" in fields and "taskState" in fields:
            late = links.link_task(feature, fields["taskId"], fields["taskState"], session.id, *how)
        else:
            late = links.link_feature(feature, session.id, *how)
        if late is not None:
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
