"""JSON as it is on disk: what other programs wrote can be read, and what we write they can read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Made once: json.dumps, and JSONEncoder.encode too, make one for each call, which costs more than encoding a short
# message does. These are their arguments, but for the record of what it is inside of: nothing we write is in itself.
_encoder: Callable[[Any, int], Iterable[str]] = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, json.JSONEncoder().default, json.encoder.encode_basestring, None, ": ", ", ", False, False, False
)


_quoted: Callable[[str], str] = json.encoder.encode_basestring


@dataclass(frozen=True)
class Encoded:
    """A value that is JSON already: it is sent as it is."""

    data: bytes

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Encoded:
        """An object of fields that are JSON already. Joined at once: a large text costs most where it is copied."""
        pieces = [piece for name, value in fields.items() for piece in (", ", f'"{name}": ', value)][1:]
        return cls("".join(("{", *pieces, "}")).encode("utf-8", "backslashreplace"))


class Undecodable(ValueError):
    """The bytes are not one JSON document; str() says why in words for a user."""


_HOLDERS = {dict, list, tuple}
_DEPTH = 200  # levels of nesting: Python's json gives up at some 900 of them, at fewer the deeper it is called


def encode(value: Any) -> bytes:
    """One line, non-ASCII as itself. A lone surrogate becomes its JSON escape: that is what
    `backslashreplace` writes, and UTF-8 cannot hold one."""
    try:
        text = "".join(_encoder(value, 0))
    except ValueError:
        text = "".join(_encoder(_finite(value), 0))
    return text.encode("utf-8", "backslashreplace")


def escaped(text: str) -> str:
    """The form of a text between the quotes of a JSON text; escaped parts are joined by escaped ones."""
    return _quoted(text)[1:-1]


def pretty(value: Any) -> bytes:
    """A whole document: two-space indent and a final newline."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def decode(data: bytes) -> Any:
    """Parse what another program wrote. A repeated key is refused: taking the last would drop the first."""
    if not data.strip(b" \t\r\n"):
        raise Undecodable("is empty")
    if not data.strip(b"\0"):
        raise Undecodable("holds nothing but NUL bytes")
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise Undecodable(f"is not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise Undecodable("is nested too deeply") from None
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at").removesuffix(" starting")  # the line says where
        raise Undecodable(f"is not valid JSON (line {error.lineno}: {what})") from None
    except Undecodable:
        raise
    except ValueError as error:
        raise Undecodable(f"is not valid JSON: {error}") from None
    if too_deep(value):
        raise Undecodable("is nested too deeply")
    return value


def too_deep(value: Any, inside: int = 0) -> bool:
    """Whether a value could be written now, `inside` so many others, and not be read again later. Level by level:
    following it into its depth would fail itself."""
    level = [value] if type(value) in _HOLDERS else []
    for _ in range(_DEPTH - inside):
        items = (held.values() if type(held) is dict else held for held in level)
        level = [item for held in items for item in held if type(item) in _HOLDERS]
        if not level:
            return False
    return True


def decode_object(data: bytes) -> dict[str, Any]:
    value = decode(data)
    if not isinstance(value, dict):
        raise Undecodable(f"must hold an object, not {kind(value)}")
    return value


def decode_own(data: bytes) -> Any:
    """Parse a line that we wrote ourselves: the fast path."""
    return json.loads(data)


def kind(value: Any) -> str:
    """The JSON name of a value's type, for messages to users."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Undecodable(f"has the key {json.dumps(twice)} twice in one object")
    return result


def _no_constant(_: str) -> None:
    """NaN and Infinity are Python's and not JSON: written back they would make the file unreadable in JavaScript."""


def _finite(value: Any) -> Any:
    """The same value with null for what JSON has no number for (1e999 is read as infinity)."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
