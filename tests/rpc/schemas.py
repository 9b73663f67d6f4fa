"""Answers and events looked at by what `rpc.discover` says of them."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from dagentd.rpc.discovery import openrpc_document

jsonschema: Any = importlib.import_module("jsonschema")  # it has no types of its own


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    """In words; also a field that is not described, unless the shape is open."""
    found = jsonschema.Draft202012Validator({**schema, "components": _strict()}).iter_errors(value)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in found]


def result_faults(method: str, value: Any) -> list[str]:
    (found,) = [each for each in openrpc_document()["methods"] if each["name"] == method]
    return faults(found["result"]["schema"], value)


def event_faults(event: dict[str, Any]) -> list[str]:
    found = [each["params"] for each in openrpc_document()["x-events"] if each["name"] == event["type"]]
    return faults(found[0], event) if found else [f"{event['type']} is not described"]


@cache
def _strict() -> Any:
    return _closed(openrpc_document()["components"])


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if schema.get("type") == "object" else {}
    return {**closed, **{key: _closed(part) for key, part in schema.items()}}
