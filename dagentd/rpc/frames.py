"""A line from the socket as JSON, held to the standard and to a depth that all else can cope with."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from dagentd.errors import DagentdError

# json reads what is nested up to Python's recursion limit, and what comes after it, deeper in the stack, would fail.
MAX_DEPTH = 128


class ParseError(DagentdError):
    code = -32700

    def __init__(self, reason: str) -> None:
        super().__init__(f"Parse error: {reason}", hint="Send each message as JSON in UTF-8 on one line.")


def parse(line: bytes) -> Any:
    """Stricter than what is read from files: NaN and repeated keys are refused while the sender can mend them."""
    try:
        value = _decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ParseError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ParseError(f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ParseError(f"nested deeper than {MAX_DEPTH}") from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        raise ParseError("a number is too long") from None
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _deep(value):
        raise ParseError(f"nested deeper than {MAX_DEPTH}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ParseError("a key is twice in one object")
    return result


def _refuse(constant: str) -> NoReturn:
    raise ParseError(f"{constant} is not JSON")


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in _children(each)]
    return any(isinstance(each, dict | list) for each in level)


def _children(value: Any) -> list[Any]:
    """Those that can have children themselves."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in inside if isinstance(child, dict | list)]


# Made once: json.loads makes a decoder for each call that has hooks, which costs more than a short line.
_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)


def _decode(text: str) -> Any:
    """As JSONDecoder.decode, which looks for white space on both sides by regular expressions."""
    if text.startswith(("{", "[")):
        value, end = _decoder.raw_decode(text)
        if end == len(text):
            return value
    return _decoder.decode(text)
