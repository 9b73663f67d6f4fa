"""The table of methods: name, parameters, what answers, in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from dagentd import __version__, errors
from dagentd.agx.lifecycle import State
from dagentd.errors import DagentdError, InvalidInput
from dagentd.events import EventType
from dagentd.model import jsontext
from dagentd.model.ids import AgentType, SessionType, TaskState
from dagentd.rpc import (
    agx_methods,
    brief_methods,
    daemon_methods,
    followed_methods,
    memory_methods,
    opening_methods,
    params,
    project_methods,
    results,
    session_methods,
)
from dagentd.rpc.event_shapes import EVENTS, UpdateAction
from dagentd.rpc.params import Params


@dataclass(frozen=True)
class Method:
    """`result` is the shape of what is answered, one of `results` or null. `slow` ones may take seconds: they are not
    answered in the thread that reads the connection. One that `writes` to sessions needs the project's lock; AGX has
    locks of its own."""

    name: str
    params: type[Params]
    answer: Callable[..., Any]
    result: Any
    slow: bool = False
    writes: bool = False

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

_ROWS = (
    Method("daemon.ping", params.Nothing, daemon_methods.ping, results.Empty),
    Method("daemon.status", params.Nothing, daemon_methods.status, results.Status),
    Method("daemon.shutdown", params.Nothing, daemon_methods.shutdown, results.Empty),
    Method("project.list", params.Nothing, project_methods.projects, results.Projects),
    Method("project.scan", params.OfProject, project_methods.scan, results.Scan, slow=True, writes=True),
    Method("project.pause", params.PauseProject, project_methods.pause_project, results.Paused, writes=True),
    Method("project.resume", params.OfProject, project_methods.resume_project, results.Resumed, slow=True, writes=True),
    Method("feature.list", params.Features, project_methods.features, results.Features, slow=True),
    Method("feature.get", params.OfFeature, project_methods.feature, results.WholeFeature),
    Method("feature.create", params.CreateFeature, project_methods.create_feature, results.Feature, writes=True),
    Method("session.list", params.Sessions, session_methods.sessions, results.Sessions, slow=True),
    Method("session.getOrCreate", params.GetOrCreate, session_methods.get_or_create, results.Session, writes=True),
    Method("session.get", params.OfSession, session_methods.get, results.Session),
    Method("session.addMessage", params.AddMessage, session_methods.add_message, results.Message, writes=True),
    Method("session.addMessages", params.AddMessages, session_methods.add_messages, results.AddedMessages, writes=True),
    Method("session.getMessages", params.Messages, session_methods.messages, results.Messages),
    Method("session.getHistory", params.History, session_methods.history, results.History),
    Method("session.search", params.Search, session_methods.search, results.Hits, slow=True),
    Method("session.clearMessages", params.OfSession, session_methods.clear_messages, results.Cleared, writes=True),
    Method("session.getCheckpoint", params.OfSession, session_methods.checkpoint, results.Checkpoint | None),
    Method(
        "session.updateCheckpoint",
        params.UpdateCheckpoint,
        session_methods.update_checkpoint,
        results.Checkpoint,
        writes=True,
    ),
    Method("session.getContext", params.OfSession, session_methods.context, results.Context | None, slow=True),
    Method(
        "session.rebuildContext",
        params.OfSession,
        session_methods.rebuild_context,
        results.Context | None,
        slow=True,
        writes=True,
    ),
    Method("session.updateContext", params.UpdateContext, session_methods.update_context, results.Context, writes=True),
    Method(
        "session.getAgentDescription",
        params.OfSession,
        session_methods.agent_description,
        results.AgentDescription | None,
    ),
    Method(
        "session.setAgentDescription",
        params.SetAgentDescription,
        session_methods.set_agent_description,
        results.AgentDescription,
        writes=True,
    ),
    Method(
        "session.buildRequest",
        params.BuildRequest,
        session_methods.build_request,
        results.BuiltRequest,
        slow=True,
        writes=True,
    ),
    Method(
        "session.previewRequest",
        params.PreviewRequest,
        session_methods.preview_request,
        results.PreviewedRequest,
        slow=True,
    ),
    Method("session.pin", params.Pin, session_methods.pin, results.Pinned, writes=True),
    Method(
        "session.previewCompaction",
        params.OfSession,
        session_methods.preview_compaction,
        results.CompactionProposal,
        slow=True,
        writes=True,
    ),
    Method(
        "session.forceCompact",
        params.ForceCompact,
        session_methods.compact,
        results.Compacted,
        slow=True,
        writes=True,
    ),
    Method("session.undoCompaction", params.OfSession, session_methods.undo_compaction, results.Undone, writes=True),
    Method("session.getCompactions", params.OfSession, session_methods.compactions, results.Compactions, slow=True),
    Method(
        "session.getCompactionMetrics",
        params.OfSession,
        session_methods.compaction_metrics,
        results.CompactionMetrics,
        slow=True,
    ),
    Method("session.archive", params.Archive, session_methods.archive, results.Session, writes=True),
    Method("session.restore", params.Restore, session_methods.restore, results.Session, writes=True),
    Method("session.brief", params.Brief, brief_methods.brief, results.Brief, slow=True),
    Method("session.pause", params.PauseSession, project_methods.pause_session, results.Paused, writes=True),
    Method(
        "session.resume",
        params.ResumeSession,
        project_methods.resume_session,
        results.Resumed,
        slow=True,
        writes=True,
    ),
    Method("migration.plan", params.Migration, project_methods.plan_migration, results.MigratedFiles, slow=True),
    Method(
        "migration.run", params.Migration, project_methods.run_migration, results.MigratedFiles, slow=True, writes=True
    ),
    Method(
        "migration.rollback",
        params.Migration,
        project_methods.roll_back_migration,
        results.MigratedFiles,
        slow=True,
        writes=True,
    ),
    Method("memory.add", params.Remember, memory_methods.add, results.Remembered, writes=True),
    Method("memory.list", params.Recall, memory_methods.recall, results.Recalled),
    Method("memory.withdraw", params.Withdraw, memory_methods.withdraw, results.Remembered, writes=True),
    Method("agx.list", params.AgxSessions, agx_methods.sessions, results.AgxEntries, slow=True),
    Method("agx.get", params.OfAgx, agx_methods.get, results.AgxSession, slow=True),
    Method("agx.new", params.NewAgx, agx_methods.new, results.AgxSession, slow=True),
    Method("agx.switch", params.OneAgx, agx_methods.switch, results.AgxSession, slow=True),
    Method("agx.archive", params.OneAgx, agx_methods.archive, results.AgxSession, slow=True),
    Method("agx.complete", params.OneAgx, agx_methods.complete, results.AgxSession, slow=True),
    Method("agx.restore", params.OneAgx, agx_methods.restore, results.AgxSession, slow=True),
    Method("agx.claude", params.AgxClaude, agx_methods.claude, results.AgxSession, slow=True),
    Method("agx.cleanup", params.AgxCleanup, agx_methods.cleanup, results.CleanupSteps, slow=True),
    Method("agx.index", params.AgxIndex, agx_methods.index, results.AgxIndex, slow=True),
    Method("events.subscribe", params.Subscribe, daemon_methods.subscribe, results.Subscription),
    Method("events.unsubscribe", params.Unsubscribe, daemon_methods.unsubscribe, results.Empty),
    Method("usage.report", params.UsageReport, followed_methods.usage_report, results.Usage, slow=True),
    Method("agents.list", params.Nothing, followed_methods.agents_list, results.Agents, slow=True),
    Method("agents.sessionStart", params.SessionStart, opening_methods.session_start, results.Opening, slow=True),
    Method("rpc.discover", params.Nothing, daemon_methods.discover, results.Description),
)

METHODS = {row.name: replace(row, answer=followed_methods.dispatched(row.name, row.answer)) for row in _ROWS}


# `rpc.discover`: an OpenRPC document made from the table of methods and from the shapes of results and events.

EXAMPLES_FILE = Path(__file__).with_name("examples.json")  # `python -m tests.rpc.scenario` writes it
_REF = "#/components/schemas/"
_ENUMS: dict[str, Any] = {
    "AgentType": AgentType, "TaskState": TaskState, "SessionType": SessionType, "EventType": EventType,
    "UpdateAction": UpdateAction, "SessionStatus": params.SessionStatus, "AgxState": State, "Health": results.Health,
    "MigrationAction": results.MigrationAction, "CleanupAction": results.CleanupAction,
}  # fmt: skip
_ERRORS: dict[str, tuple[type[DagentdError], str]] = {
    "InvalidParams": (errors.InvalidInput, "A parameter does not have the form that it must have."),
    "NotFound": (errors.NotFound, "There is no such project, feature, session or message."),
    "Conflict": (errors.Conflict, "Several are meant, or it changed meanwhile."),
    "CompactionFailed": (errors.CompactionFailed, "A compaction failed and left all as it was."),
    "LimitReached": (errors.LimitReached, "A limit is reached: of a line, of money, of the disk."),
    "CorruptFile": (errors.CorruptFile, "A file makes no sense."),
    "NotAllowed": (errors.NotAllowed, "Permissions or dagentd's own rules forbid it."),
}
_COMPACT = ("session.previewCompaction", "session.forceCompact", "session.undoCompaction", "session.buildRequest")


@cache
def openrpc_document() -> dict[str, Any]:
    """Made once; whoever gets it leaves it as it is."""
    adapters = [("", "serialization", TypeAdapter(each)) for each in _shapes()]
    schemas = TypeAdapter.json_schemas(adapters, ref_template=_REF + "{model}", schema_generator=_Schema)[1]["$defs"]  # type: ignore[arg-type]
    enums = {name: {"type": "string", "enum": list(get_args(kind))} for name, kind in _ENUMS.items()}
    event = {"oneOf": [{"$ref": _REF + each.__name__} for each in EVENTS]}
    shared = {name: _by_name(schema) for name, schema in schemas.items()}
    return {
        "openrpc": "1.3.2",
        "info": {"title": "dagentd", "version": __version__, "license": {"name": "MIT"}},
        "methods": [_method(method) for method in METHODS.values()],
        "components": {"schemas": {**shared, **enums, "Event": event}, "errors": _errors()},
        "x-events": [_event(each.__name__, shared[each.__name__]) for each in EVENTS],
    }


def _shapes() -> list[Any]:
    return [*(method.result for method in METHODS.values()), results.NewMessage, *EVENTS]


class _Schema(GenerateJsonSchema):
    """Names of fields say what their titles would repeat."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _method(method: Method) -> dict[str, Any]:
    shape, *or_null = get_args(method.result) or (method.result,)
    named: dict[str, Any] = {"$ref": _REF + shape.__name__}
    given = sorted(_params(method), key=lambda each: not each["required"])
    return {
        "name": method.name,
        "summary": method.summary,
        "tags": [{"name": method.name.split(".")[0]}],
        "paramStructure": "by-name",
        "params": given,
        "result": {"name": shape.__name__, "schema": {"oneOf": [named, {"type": "null"}]} if or_null else named},
        "errors": [{"$ref": f"#/components/errors/{name}"} for name in _possible(method)],
        "examples": [_example(each) for each in [_examples().get(method.name)] if each is not None],
    }


def _params(method: Method) -> list[dict[str, Any]]:
    schema = method.params.model_json_schema(by_alias=True, ref_template=_REF + "{model}", schema_generator=_Schema)
    required = schema.get("required", [])
    return [
        {"name": name, "required": name in required, "schema": _by_name(part)}
        for name, part in schema.get("properties", {}).items()
    ]


def _by_name(schema: Any) -> Any:
    """The same with each enum and each shape that has a name under that name."""
    if isinstance(schema, list):
        return [_by_name(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    known = [name for name, kind in _ENUMS.items() if schema.get("enum") == list(get_args(kind))]
    known += [schema["x-shape"]] if "x-shape" in schema else []
    return {"$ref": _REF + known[0]} if known else {key: _by_name(part) for key, part in schema.items()}


def _possible(method: Method) -> list[str]:
    """The errors of a method: a project that is not there or read-only, or a file in it that makes no sense."""
    if method.params is params.Nothing:
        return []
    compacts = method.name in _COMPACT
    return [name for name in _ERRORS if compacts or name != "CompactionFailed"]


def _errors() -> dict[str, Any]:
    return {name: {"code": kind.code, "message": told} for name, (kind, told) in _ERRORS.items()}


@cache
def _examples() -> dict[str, Any]:
    return dict(jsontext.decode_own(EXAMPLES_FILE.read_bytes()))


def _example(found: dict[str, Any]) -> dict[str, Any]:
    named = [{"name": name, "value": value} for name, value in found["params"].items()]
    return {"name": "example", "params": named, "result": {"name": "result", "value": found["result"]}}


def _event(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """One that `events.subscribe` brings, as notification `event`."""
    kind = schema["properties"]["type"]["const"]
    return {"name": kind, "summary": schema["description"], "params": {"$ref": _REF + name}}
