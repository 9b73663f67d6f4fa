"""What both generators ask of an OpenRPC document."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]


def name_of(schema: Schema) -> str | None:
    """The shared shape that is meant, if one is."""
    found = schema.get("$ref")
    return str(found).rpartition("/")[2] if found else None


def choices(schema: Schema) -> list[Schema] | None:
    found = schema.get("anyOf") or schema.get("oneOf")
    return list(found) if found else None


def literals(schema: Schema) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def shapes(document: Schema) -> dict[str, Schema]:
    return dict(sorted(document["components"]["schemas"].items()))


def namespaces(document: Schema) -> dict[str, list[Schema]]:
    """The methods by what stands before their dot."""
    found: dict[str, list[Schema]] = {}
    for method in document["methods"]:
        found.setdefault(method["name"].partition(".")[0], []).append(method)
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def one_of(schema: Schema, named: Callable[[Schema], str]) -> str:
    """Each choice once, null at the end."""
    parts = list(dict.fromkeys(named(each) for each in choices(schema) or []))
    return " | ".join(sorted(parts, key=lambda part: part in ("None", "null")))
