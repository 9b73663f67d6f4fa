"""The table of methods: name, parameters, what answers, in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dagentd.errors import InvalidInput
from dagentd.model.ids import is_followed
from dagentd.rpc import params
from dagentd.rpc.params import Params

if TYPE_CHECKING:
    from dagentd.rpc.service import Caller

_OF_BOTH = ("session.search", "session.brief")  # they look themselves whose a session is


@dataclass(frozen=True)
class Method:
    """Named are a function of a module of this package, and a shape of `results`, or null: they load with the first
    call, because a command makes one call or two. `slow` ones may take seconds: they are not answered in the thread
    that reads the connection. One that `writes` to sessions needs the project's lock; AGX has locks of its own."""

    name: str
    params: type[Params]
    function: str
    shape: str
    slow: bool = False
    writes: bool = False

    @cached_property
    def answer(self) -> Callable[..., Any]:
        return _loaded(self.function)

    def call(self, caller: Caller, given: Any) -> Any:
        """With parameters by name, which are checked first; for a session of ours or one that another agent has."""
        if given is not None and not isinstance(given, dict):
            raise InvalidInput("parameters are given by name", hint="Send an object as `params`.")
        try:
            checked = self.params.model_validate(given or {})
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            told = (f"{'.'.join(map(str, each['loc'])) or 'params'}: {each['msg'].lower()}" for each in found)
            raise InvalidInput("; ".join(told), hint=f"`rpc.discover` describes {self.name}.") from None
        named = getattr(checked, "session_id", None) if self.name.startswith("session.") else None
        if is_followed(named) and self.name not in _OF_BOTH:
            return _loaded("followed_methods.answer")(self.name, caller, checked)
        return self.answer(caller, checked)


def _loaded(function: str) -> Callable[..., Any]:
    module, name = function.split(".")
    found: Callable[..., Any] = getattr(import_module(f"dagentd.rpc.{module}"), name)
    return found


# fmt: off
_ROWS = (
    Method("daemon.ping", params.Nothing, "daemon_methods.ping", "Empty"),
    Method("daemon.status", params.Nothing, "daemon_methods.status", "Status"),
    Method("daemon.shutdown", params.Nothing, "daemon_methods.shutdown", "Empty"),
    Method("project.list", params.Nothing, "project_methods.projects", "Projects"),
    Method("project.scan", params.OfProject, "project_methods.scan", "Scan", slow=True, writes=True),
    Method("project.pause", params.PauseProject, "project_methods.pause_project", "Paused", writes=True),
    Method("project.resume", params.OfProject, "project_methods.resume_project", "Resumed", slow=True, writes=True),
    Method("feature.list", params.Features, "project_methods.features", "Features", slow=True),
    Method("feature.get", params.OfFeature, "project_methods.feature", "WholeFeature"),
    Method("feature.create", params.CreateFeature, "project_methods.create_feature", "Feature", writes=True),
    Method("session.list", params.Sessions, "session_methods.sessions", "Sessions", slow=True),
    Method("session.getOrCreate", params.GetOrCreate, "session_methods.get_or_create", "Session", writes=True),
    Method("session.get", params.OfSession, "session_methods.get", "Session"),
    Method("session.addMessage", params.AddMessage, "session_methods.add_message", "Message", writes=True),
    Method("session.addMessages", params.AddMessages, "session_methods.add_messages", "AddedMessages", writes=True),
    Method("session.getMessages", params.Messages, "session_methods.messages", "Messages"),
    Method("session.getHistory", params.History, "session_methods.history", "History"),
    Method("session.search", params.Search, "session_methods.search", "Hits", slow=True),
    Method("session.clearMessages", params.OfSession, "session_methods.clear_messages", "Cleared", writes=True),
    Method("session.getCheckpoint", params.OfSession, "session_methods.checkpoint", "Checkpoint | None"),
    Method("session.updateCheckpoint", params.UpdateCheckpoint, "session_methods.update_checkpoint", "Checkpoint",
           writes=True),
    Method("session.getContext", params.OfSession, "session_methods.context", "Context | None", slow=True),
    Method("session.rebuildContext", params.OfSession, "session_methods.rebuild_context", "Context | None", slow=True,
           writes=True),
    Method("session.updateContext", params.UpdateContext, "session_methods.update_context", "Context", writes=True),
    Method("session.getAgentDescription", params.OfSession, "session_methods.agent_description",
           "AgentDescription | None"),
    Method("session.setAgentDescription", params.SetAgentDescription, "session_methods.set_agent_description",
           "AgentDescription", writes=True),
    Method("session.buildRequest", params.BuildRequest, "session_methods.build_request", "BuiltRequest", slow=True,
           writes=True),
    Method("session.previewRequest", params.PreviewRequest, "session_methods.preview_request", "PreviewedRequest",
           slow=True),
    Method("session.pin", params.Pin, "session_methods.pin", "Pinned", writes=True),
    Method("session.previewCompaction", params.OfSession, "session_methods.preview_compaction", "CompactionProposal",
           slow=True, writes=True),
    Method("session.forceCompact", params.ForceCompact, "session_methods.compact", "Compacted", slow=True, writes=True),
    Method("session.undoCompaction", params.OfSession, "session_methods.undo_compaction", "Undone", writes=True),
    Method("session.getCompactions", params.OfSession, "session_methods.compactions", "Compactions", slow=True),
    Method("session.getCompactionMetrics", params.OfSession, "session_methods.compaction_metrics", "CompactionMetrics",
           slow=True),
    Method("session.archive", params.Archive, "session_methods.archive", "Session", writes=True),
    Method("session.restore", params.Restore, "session_methods.restore", "Session", writes=True),
    Method("session.brief", params.Brief, "memory_methods.brief", "Brief", slow=True),
    Method("session.pause", params.PauseSession, "project_methods.pause_session", "Paused", writes=True),
    Method("session.resume", params.ResumeSession, "project_methods.resume_session", "Resumed", slow=True, writes=True),
    Method("migration.plan", params.Migration, "project_methods.plan_migration", "MigratedFiles", slow=True),
    Method("migration.run", params.Migration, "project_methods.run_migration", "MigratedFiles", slow=True, writes=True),
    Method("migration.rollback", params.Migration, "project_methods.roll_back_migration", "MigratedFiles", slow=True,
           writes=True),
    Method("memory.add", params.Remember, "memory_methods.add", "Remembered", writes=True),
    Method("memory.list", params.Recall, "memory_methods.recall", "Recalled"),
    Method("memory.withdraw", params.Withdraw, "memory_methods.withdraw", "Remembered", writes=True),
    Method("agx.list", params.AgxSessions, "agx_methods.sessions", "AgxEntries", slow=True),
    Method("agx.get", params.OfAgx, "agx_methods.get", "AgxSession", slow=True),
    Method("agx.new", params.NewAgx, "agx_methods.new", "AgxSession", slow=True),
    Method("agx.switch", params.OneAgx, "agx_methods.switch", "AgxSession", slow=True),
    Method("agx.archive", params.OneAgx, "agx_methods.archive", "AgxSession", slow=True),
    Method("agx.complete", params.OneAgx, "agx_methods.complete", "AgxSession", slow=True),
    Method("agx.restore", params.OneAgx, "agx_methods.restore", "AgxSession", slow=True),
    Method("agx.claude", params.AgxClaude, "agx_methods.claude", "AgxSession", slow=True),
    Method("agx.cleanup", params.AgxCleanup, "agx_methods.cleanup", "CleanupSteps", slow=True),
    Method("agx.index", params.AgxIndex, "agx_methods.index", "AgxIndex", slow=True),
    Method("events.subscribe", params.Subscribe, "daemon_methods.subscribe", "Subscription"),
    Method("events.unsubscribe", params.Unsubscribe, "daemon_methods.unsubscribe", "Empty"),
    Method("usage.report", params.UsageReport, "followed_methods.usage_report", "Usage", slow=True),
    Method("agents.list", params.Nothing, "followed_methods.agents_list", "Agents", slow=True),
    Method("agents.sessionStart", params.SessionStart, "followed_methods.session_start", "Opening", slow=True),
    Method("rpc.discover", params.Nothing, "daemon_methods.discover", "Description"),
)
# fmt: on

METHODS = {row.name: row for row in _ROWS}


def load_all() -> None:
    """Load what the rows name: in a daemon several threads could want the same parts at once."""
    for row in METHODS.values():
        _ = row.answer
