"""`rpc.discover`: an OpenRPC document made from the table of methods."""

from __future__ import annotations

from typing import Any

from dagentd import __version__
from dagentd.rpc.methods import METHODS, Method


def document() -> dict[str, Any]:
    methods = [_described(method) for method in METHODS.values()]
    return {"openrpc": "1.3.2", "info": {"title": "dagentd", "version": __version__}, "methods": methods}


def _described(method: Method) -> dict[str, Any]:
    schema = method.params.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    given = [
        {"name": name, "required": name in required, "schema": {**part, **definitions}}
        for name, part in schema.get("properties", {}).items()
    ]
    return {"name": method.name, "summary": method.summary, "paramStructure": "by-name", "params": given,
            "result": {"name": "result", "schema": {}}}  # fmt: skip
