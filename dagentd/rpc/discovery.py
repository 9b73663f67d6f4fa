"""`rpc.discover`: an OpenRPC document made from the table of methods and from the shapes of results and events."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from dagentd import __version__, errors
from dagentd.errors import DagentdError
from dagentd.events import EventType
from dagentd.model import jsontext
from dagentd.model.ids import AgentType, AgxState, SessionType, TaskState
from dagentd.rpc import params, results
from dagentd.rpc.event_shapes import EVENTS, UpdateAction
from dagentd.rpc.methods import METHODS, Method

EXAMPLES_FILE = Path(__file__).with_name("examples.json")  # `python -m tests.rpc.scenario` writes it
_REF = "#/components/schemas/"
_ENUMS: dict[str, Any] = {
    "AgentType": AgentType, "TaskState": TaskState, "SessionType": SessionType, "EventType": EventType,
    "UpdateAction": UpdateAction, "SessionStatus": params.SessionStatus, "AgxState": AgxState, "Health": results.Health,
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
    shapes = [*(_shape(method)[0] for method in METHODS.values()), results.NewMessage, *EVENTS]
    adapters = [("", "serialization", TypeAdapter(each)) for each in shapes]
    schemas = TypeAdapter.json_schemas(adapters, ref_template=_REF + "{model}", schema_generator=_Schema)[1]["$defs"]  # type: ignore[arg-type]
    enums = {name: {"type": "string", "enum": list(get_args(kind))} for name, kind in _ENUMS.items()}
    event = {"oneOf": [{"$ref": _REF + each.__name__} for each in EVENTS]}
    shared = {name: _by_name(schema) for name, schema in schemas.items()}
    failures = {name: {"code": kind.code, "message": told} for name, (kind, told) in _ERRORS.items()}
    return {
        "openrpc": "1.3.2",
        "info": {"title": "dagentd", "version": __version__, "license": {"name": "MIT"}},
        "methods": [_method(method) for method in METHODS.values()],
        "components": {"schemas": {**shared, **enums, "Event": event}, "errors": failures},
        "x-events": [_event(each.__name__, shared[each.__name__]) for each in EVENTS],
    }


class _Schema(GenerateJsonSchema):
    """Names of fields say what their titles would repeat."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _method(method: Method) -> dict[str, Any]:
    shape, or_null = _shape(method)
    named: dict[str, Any] = {"$ref": _REF + shape.__name__}
    return {
        "name": method.name,
        "summary": " ".join((method.answer.__doc__ or "").split()),
        "tags": [{"name": method.name.split(".")[0]}],
        "paramStructure": "by-name",
        "params": sorted(_params(method), key=lambda each: not each["required"]),
        "result": {"name": shape.__name__, "schema": {"oneOf": [named, {"type": "null"}]} if or_null else named},
        "errors": [{"$ref": f"#/components/errors/{name}"} for name in _possible(method)],
        "examples": [_example(each) for each in [_examples().get(method.name)] if each is not None],
    }


def _shape(method: Method) -> tuple[Any, bool]:
    """The class in `results`, and whether null may be answered in its place."""
    name, _, or_null = method.shape.partition(" | ")
    return getattr(results, name), bool(or_null)


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
