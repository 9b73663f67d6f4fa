"""The parts of docs/socket.md that are made from the table of methods and from the shapes of results and events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dagentd.rpc.discovery import openrpc_document

_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null"}


def methods() -> str:
    rows = [
        f"| {_link(each['name'])} | {_names(each)} | {_of(each['result']['schema'])} |"
        for each in openrpc_document()["methods"]
    ]
    return "\n".join(["| method | parameters | result |", "|---|---|---|", *rows])


def reference() -> str:
    return "\n".join(line for method in openrpc_document()["methods"] for line in _method(method))


def _method(method: dict[str, Any]) -> Iterator[str]:
    yield f"### {method['name']}\n\n{method['summary']}\n"
    if method["params"]:
        yield "| parameter | type | |\n|---|---|---|"
        for param in method["params"]:
            yield f"| `{param['name']}` | {_of(param['schema'])} | {_needed(param)} |"
        yield ""
    if not method["examples"]:
        raise LookupError(f"no call of {method['name']}: tests/rpc/scenario.py has them, and must be played then")
    example = method["examples"][0]
    given = {each["name"]: each["value"] for each in example["params"]}
    yield f"Result: {_of(method['result']['schema'])}.\n\n```json\n{_line(method['name'], given)}\n```\n"
    yield f"```json\n{_short(example['result']['value'])}\n```\n"


def _needed(param: dict[str, Any]) -> str:
    default = param["schema"].get("default")
    return "required" if param["required"] else f"default {json.dumps(default)}" if default is not None else ""


def _line(method: str, given: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": given}, ensure_ascii=False)


def _short(value: Any, indent: str = "") -> str:
    """On as few lines as it fits into."""
    flat, deeper = json.dumps(value, ensure_ascii=False), indent + "  "
    if len(indent) + len(flat) <= 110 or not isinstance(value, dict | list) or not value:
        return flat
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + _short(each, deeper) for each in value) + f"\n{indent}]"
    rows = (f"{deeper}{json.dumps(key)}: {_short(each, deeper)}" for key, each in value.items())
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def events() -> str:
    """Each with its own fields; those of every event stand above the table."""
    shapes = openrpc_document()["components"]["schemas"]
    common = set(shapes["CompactionError"]["required"]) - {"error", "hint"} | {"taskId"}
    rows = []
    for each in openrpc_document()["x-events"]:
        shape = shapes[each["params"]["$ref"].rpartition("/")[2]]
        own = {name: part for name, part in shape["properties"].items() if name not in common}
        fields = ", ".join(
            f"`{name}`{'' if name in shape['required'] else '?'} {_of(part)}" for name, part in own.items()
        )
        rows.append(f"| `{each['name']}` | {' '.join(each['summary'].split())} | {fields} |")
    return "\n".join(["| event | when | its own fields |", "|---|---|---|", *rows])


def shapes() -> str:
    return "\n".join(
        line
        for name, shape in sorted(openrpc_document()["components"]["schemas"].items())
        for line in _shape(name, shape)
    )


def _shape(name: str, shape: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    if shape.get("description"):
        yield f"{' '.join(shape['description'].split())}\n"
    if "properties" not in shape:
        if shape.get("type") != "object":
            yield f"{_of(shape)}\n"
        return
    required = shape.get("required", [])
    rows = [f"| `{key}`{'' if key in required else '?'} | {_of(part)} |" for key, part in shape["properties"].items()]
    yield "\n".join(["| field | type |", "|---|---|", *rows]) + "\n"
    if shape.get("additionalProperties"):
        yield "It may have more: what other programs wrote is there too.\n"


def errors() -> str:
    rows = [
        f"| {each['code']} | {name} | {each['message']} |"
        for name, each in openrpc_document()["components"]["errors"].items()
    ]
    return "\n".join(["| code | name | what it means |", "|---|---|---|", *rows])


def _names(method: dict[str, Any]) -> str:
    return ", ".join(f"`{each['name']}`{'' if each['required'] else '?'}" for each in method["params"])


def _of(schema: dict[str, Any]) -> str:
    """A schema's type, in words."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if found := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_of(each) for each in found)
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_of(schema.get('items', {}))}"
    return "object" if schema.get("type") == "object" else _TYPES.get(schema.get("type", ""), "anything")


def _link(name: str) -> str:
    """To its heading, whose anchor has no dots and no capitals."""
    return f"[{name}](#{name.replace('.', '').lower()})"
