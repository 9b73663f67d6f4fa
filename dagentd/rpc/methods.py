"""The table of methods: name, parameters, what answers, in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dagentd.errors import InvalidInput
from dagentd.rpc import (
    agx_methods,
    compaction_methods,
    daemon_methods,
    migration_methods,
    params,
    pause_methods,
    project_methods,
    session_methods,
)
from dagentd.rpc.params import Params


@dataclass(frozen=True)
class Method:
    """`slow` ones may take seconds: they are not answered in the thread that reads the connection."""

    name: str
    params: type[Params]
    answer: Callable[..., Any]
    slow: bool = False

    @property
    def summary(self) -> str:
        return " ".join((self.answer.__doc__ or "").split())

    def parse(self, given: Any) -> Params:
        """Parameters by name, checked before the call."""
        if self.params is params.Nothing and given == {}:
            return _NOTHING
        if given is not None and not isinstance(given, dict):
            raise InvalidInput("parameters are given by name", hint="Send an object as `params`.")
        try:
            return self.params.model_validate(given or {})
        except ValidationError as error:
            raise InvalidInput(_in_words(error), hint=f"`rpc.discover` describes {self.name}.") from None


def _in_words(error: ValidationError) -> str:
    parts = []
    for each in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in each["loc"]) or "params"
        parts.append(f"{where}: {each['msg'].lower()}")
    return "; ".join(parts)


_NOTHING = params.Nothing()

METHODS = {
    method.name: method
    for method in (
        Method("daemon.ping", params.Nothing, daemon_methods.ping),
        Method("daemon.status", params.Nothing, daemon_methods.status),
        Method("daemon.shutdown", params.Nothing, daemon_methods.shutdown),
        Method("project.list", params.Nothing, project_methods.projects),
        Method("project.scan", params.OfProject, project_methods.scan, slow=True),
        Method("project.pause", params.PauseProject, pause_methods.pause_project),
        Method("project.resume", params.OfProject, pause_methods.resume_project, slow=True),
        Method("feature.list", params.Features, project_methods.features, slow=True),
        Method("feature.get", params.OfFeature, project_methods.feature),
        Method("session.list", params.Sessions, session_methods.sessions, slow=True),
        Method("session.getOrCreate", params.GetOrCreate, session_methods.get_or_create),
        Method("session.get", params.OfSession, session_methods.get),
        Method("session.addMessage", params.AddMessage, session_methods.add_message),
        Method("session.addMessages", params.AddMessages, session_methods.add_messages),
        Method("session.getMessages", params.Messages, session_methods.messages),
        Method("session.getHistory", params.History, session_methods.history),
        Method("session.search", params.Search, session_methods.search, slow=True),
        Method("session.clearMessages", params.OfSession, session_methods.clear_messages),
        Method("session.getCheckpoint", params.OfSession, session_methods.checkpoint),
        Method("session.updateCheckpoint", params.UpdateCheckpoint, session_methods.update_checkpoint),
        Method("session.getContext", params.OfSession, session_methods.context, slow=True),
        Method("session.rebuildContext", params.OfSession, session_methods.rebuild_context, slow=True),
        Method("session.updateContext", params.UpdateContext, session_methods.update_context),
        Method("session.getAgentDescription", params.OfSession, session_methods.agent_description),
        Method("session.setAgentDescription", params.SetAgentDescription, session_methods.set_agent_description),
        Method("session.buildRequest", params.BuildRequest, session_methods.build_request, slow=True),
        Method("session.previewRequest", params.PreviewRequest, session_methods.preview_request, slow=True),
        Method("session.pin", params.Pin, compaction_methods.pin),
        Method("session.previewCompaction", params.OfSession, compaction_methods.preview, slow=True),
        Method("session.forceCompact", params.ForceCompact, compaction_methods.compact, slow=True),
        Method("session.undoCompaction", params.OfSession, compaction_methods.undo),
        Method("session.getCompactionMetrics", params.OfSession, compaction_methods.metrics, slow=True),
        Method("session.archive", params.OfSession, session_methods.archive),
        Method("session.restore", params.Restore, session_methods.restore),
        Method("session.pause", params.PauseSession, pause_methods.pause_session),
        Method("session.resume", params.ResumeSession, pause_methods.resume_session, slow=True),
        Method("migration.plan", params.Migration, migration_methods.plan, slow=True),
        Method("migration.run", params.Migration, migration_methods.run, slow=True),
        Method("migration.rollback", params.Migration, migration_methods.rollback, slow=True),
        Method("agx.list", params.AgxSessions, agx_methods.sessions, slow=True),
        Method("agx.get", params.OfAgx, agx_methods.get, slow=True),
        Method("agx.new", params.NewAgx, agx_methods.new, slow=True),
        Method("agx.switch", params.OneAgx, agx_methods.switch, slow=True),
        Method("agx.archive", params.OneAgx, agx_methods.archive, slow=True),
        Method("agx.complete", params.OneAgx, agx_methods.complete, slow=True),
        Method("agx.restore", params.OneAgx, agx_methods.restore, slow=True),
        Method("agx.claude", params.AgxClaude, agx_methods.claude, slow=True),
        Method("agx.cleanup", params.AgxCleanup, agx_methods.cleanup, slow=True),
        Method("agx.index", params.AgxIndex, agx_methods.index, slow=True),
        Method("events.subscribe", params.Subscribe, daemon_methods.subscribe),
        Method("events.unsubscribe", params.Unsubscribe, daemon_methods.unsubscribe),
        Method("rpc.discover", params.Nothing, daemon_methods.discover),
    )
}
