"""The TypeScript client's types and methods, from the OpenRPC document."""

from __future__ import annotations

import json
import textwrap

from clients.described import Schema, choices, literals, name_of, namespaces, one_of, shapes

_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_MADE = "// Generated from `rpc.discover` by `python -m clients.generate`: do not edit.\n"
_IMPORTS = 'import type { Connection } from "./connection.js"\nimport type * as types from "./types.js"\n'


def types(document: Schema) -> str:
    return _MADE + "".join(_shape(name, schema) for name, schema in shapes(document).items())


def _shape(name: str, schema: Schema) -> str:
    about = _comment(schema["description"], "") if schema.get("description") else ""
    if schema.get("type") != "object":
        return f"\n{about}export type {name} = {_type(schema)}\n"
    required = schema.get("required", [])
    rows = [
        f"  {key}{'' if key in required else '?'}: {_type(part)}" for key, part in schema.get("properties", {}).items()
    ]
    if schema.get("additionalProperties"):
        rows.append("  [field: string]: unknown")
    return f"\n{about}export interface {name} {{\n" + "".join(f"{row}\n" for row in rows) + "}\n"


def _type(schema: Schema, prefix: str = "") -> str:
    if name := name_of(schema):
        return prefix + name
    if choices(schema):
        return one_of(schema, lambda each: _type(each, prefix))
    if (found := literals(schema)) is not None:
        return " | ".join(json.dumps(each) for each in found)
    if schema.get("type") == "array":
        inner = _type(schema.get("items", {}), prefix)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if schema.get("type") == "object":
        rest = schema.get("additionalProperties")
        return f"Record<string, {_type(rest, prefix) if isinstance(rest, dict) else 'unknown'}>"
    return _PLAIN.get(schema.get("type", ""), "unknown")


def client(document: Schema) -> str:
    spaces = namespaces(document)
    made = "".join(f"  readonly {name}: {_class(name)}\n" for name in spaces)
    set_up = "".join(f"    this.{name} = new {_class(name)}(connection)\n" for name in spaces)
    classes = "".join(_namespace(name, methods) for name, methods in spaces.items())
    about = _comment("By namespace: `session.getOrCreate` is `session.getOrCreate({…})`.", "")
    whole = f"\n{about}export class Methods {{\n{made}\n  constructor(connection: Connection) {{\n{set_up}  }}\n}}\n"
    return f"{_MADE}{_IMPORTS}{classes}{whole}"


def _class(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}Methods"


def _namespace(name: str, methods: list[Schema]) -> str:
    begin = "  constructor(private readonly connection: Connection) {}\n"
    return f"\nexport class {_class(name)} {{\n{begin}" + "".join(map(_method, methods)) + "}\n"


def _method(method: Schema) -> str:
    name, params = method["name"].partition(".")[2], method["params"]
    result = _type(method["result"]["schema"], "types.")
    rows = "; ".join(
        f"{each['name']}{'' if each['required'] else '?'}: {_type(each['schema'], 'types.')}" for each in params
    )
    optional = not any(each["required"] for each in params)
    given = f"params: {{ {rows} }}{' = {}' if optional else ''}" if params else ""
    sent = "params" if params else "{}"
    about = _comment(method["summary"], "  ")
    return (f"\n{about}  {name}({given}): Promise<{result}> {{\n"
            f'    return this.connection.call<{result}>("{method["name"]}", {sent})\n  }}\n')  # fmt: skip


def _comment(text: str, indent: str) -> str:
    flat = " ".join(text.split())
    if len(flat) < 100:
        return f"{indent}/** {flat} */\n"
    lines = textwrap.wrap(flat, 112)
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"
