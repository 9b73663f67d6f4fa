"""The Python client's types and methods, from the OpenRPC document."""

from __future__ import annotations

import json
import keyword
import textwrap

from clients.described import Schema, choices, literals, name_of, namespaces, one_of, shapes, snake

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_MADE = '"""{about}\n\nGenerated from `rpc.discover` by `python -m clients.generate`: do not edit."""\n'
_IMPORTS = """
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from dagentd_client import types as shapes
from dagentd_client.connection import Connection
"""
_METHODS = '''

class Methods:
    """By namespace: `session.getOrCreate` is `session.get_or_create(…)`."""

    def __init__(self, connection: Connection) -> None:
'''


def types(document: Schema) -> str:
    parts = [_MADE.format(about="The shapes of what the daemon answers and tells.")]
    parts.append("from __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypedDict")
    every = shapes(document)
    aliases = [name for name, schema in every.items() if "properties" not in schema and schema.get("type") != "object"]
    parts += [f"\n{name} = {_type(every[name])}" for name in aliases if literals(every[name])]
    parts += [_shape(name, schema) for name, schema in every.items() if name not in aliases]
    parts += [f"\n{name} = {_type(every[name])}" for name in aliases if not literals(every[name])]
    return "".join(f"{part}\n" for part in parts)


def _shape(name: str, schema: Schema) -> str:
    required = schema.get("required", [])
    fields = {key: _field(part, key in required) for key, part in schema.get("properties", {}).items()}
    if any(keyword.iskeyword(key) or key == "list" for key in fields):  # such a field has no place in a class
        rows = "".join(f"    {key!r}: {text!r},\n" for key, text in fields.items())
        return f'\n{name} = TypedDict("{name}", {{\n{rows}}})'
    about = f"    {_docstring(schema)}\n" if schema.get("description") else ""
    rows = "".join(f"    {key}: {text}\n" for key, text in fields.items())
    between = "\n" if about and rows else ""
    return f"\n\nclass {name}(TypedDict):\n{about}{between}{rows or ('' if about else '    pass' + chr(10))}".rstrip()


def _field(schema: Schema, required: bool) -> str:
    return _type(schema) if required else f"NotRequired[{_type(schema)}]"


def _docstring(schema: Schema, indent: str = "    ") -> str:
    flat = " ".join(schema["description"].split()) + '"""'
    return ('"""' + f"\n{indent}".join(textwrap.wrap(flat, 112 - len(indent)))).replace("\\", "\\\\")


def _type(schema: Schema) -> str:
    if name := name_of(schema):
        return name
    if choices(schema):
        return one_of(schema, _type)
    if (found := literals(schema)) is not None:
        return f"Literal[{', '.join(json.dumps(each) for each in found)}]"
    if schema.get("type") == "array":
        return f"list[{_type(schema.get('items', {}))}]"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"dict[str, {_type(inner) if isinstance(inner, dict) else 'Any'}]"
    return _PLAIN.get(schema.get("type", ""), "Any")


def client(document: Schema) -> str:
    spaces = namespaces(document)
    classes = [_namespace(name, methods, set(shapes(document))) for name, methods in spaces.items()]
    made = [f"        self.{name} = {_class(name)}(connection)\n" for name in spaces]
    head = _MADE.format(about="Every method of the daemon, by its name.")
    return f"{head}{_IMPORTS}{''.join(classes)}{_METHODS}{''.join(made)}"


def _class(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}Methods"


def _namespace(name: str, methods: list[Schema], known: set[str]) -> str:
    begin = "    def __init__(self, connection: Connection) -> None:\n        self._connection = connection\n"
    return f"\n\nclass {_class(name)}:\n{begin}" + "".join(_method(method, known) for method in methods)


def _method(method: Schema, known: set[str]) -> str:
    result = _qualified(_type(method["result"]["schema"]), known)
    given = ", ".join(f'"{param["name"]}": {_argument(param)}' for param in method["params"])
    signature = f"    def {snake(method['name'].partition('.')[2])}({_arguments(method['params'], known)}) -> {result}:"
    about = _docstring({"description": method["summary"]}, "        ")
    call = f'self._connection.call("{method["name"]}", {{{given}}})'
    return f'\n{signature}\n        {about}\n        return cast("{result}", {call})\n'


def _arguments(params: list[Schema], known: set[str]) -> str:
    typed = {_argument(each): _qualified(_type(each["schema"]), known) for each in params}
    needed = [f"{_argument(each)}: {typed[_argument(each)]}" for each in params if each["required"]]
    rest = [f"{_argument(each)}: {_optional(typed[_argument(each)], each)}" for each in params if not each["required"]]
    return ", ".join(["self", *needed, *(["*", *rest] if rest else [])])


def _argument(param: Schema) -> str:
    return snake(param["name"])


def _optional(typed: str, param: Schema) -> str:
    """What is None is not sent."""
    if "default" in param["schema"]:
        return f"{typed} = {param['schema']['default']!r}"
    return f"{typed} | None = None"


def _qualified(text: str, known: set[str]) -> str:
    """A shape's name as it is called beside them; no name of a method is taken for a type."""
    words = {name: f"shapes.{name}" for name in known}
    return "".join({**words, "list": "Sequence"}.get(part, part) for part in _words(text))


def _words(text: str) -> list[str]:
    """Outside of quotes, so that no value of a literal is taken for a shape."""
    parts, word, quoted = [], "", False
    for sign in text:
        quoted ^= sign == '"'
        if sign.isalnum() and not quoted:
            word += sign
            continue
        parts += [word, sign]
        word = ""
    return [*parts, word]
