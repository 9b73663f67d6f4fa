"""From what a model answered to operations: JSON wherever it stands, each operation read for itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from dagentd.model.compaction.operations import Add, Drop, ListName, Move, Operation, Resolve, Set, Supersede
from dagentd.model.jsontext import Undecodable

Raw = Mapping[str, Any]

_MOST = 1000  # operations of one answer, and places at which one may begin
_LISTS: dict[str, ListName] = {name.lower(): name for name in get_args(ListName)}
_OF_AN_OPERATION = ("op", "item", "text", "list", "to", "goal", "next")
_decoder = json.JSONDecoder(strict=False)  # a line end within a text is no reason to lose it


def found_in(text: str) -> list[Raw] | None:
    """The operations of an answer, as they were written; None if it has no JSON that could hold any. What stands around
    it is left alone, and so is what is broken: the others hold all the same."""
    values = list(_values(text))
    listed = [one for value in values for one in _listed(value)]
    held = any(isinstance(value, list) or isinstance(_operations(value), list) for value in values)
    return listed[:_MOST] if listed or held else None


def _values(text: str) -> Iterator[Any]:
    at, tries = 0, 0
    while (start := _begin(text, at)) >= 0 and tries < _MOST:
        try:
            value, at = _decoder.raw_decode(text, start)
            yield value
        except (ValueError, RecursionError):
            at, tries = start + 1, tries + 1


def _begin(text: str, at: int) -> int:
    """A list is looked for only where it may hold operations: brackets are common in prose."""
    match = re.compile(r"\{|\[(?=\s*[{\]])").search(text, at)
    return match.start() if match else -1


def _operations(value: Any) -> Any:
    return value.get("operations") if isinstance(value, dict) else None


def _listed(value: Any) -> list[Raw]:
    held = _operations(value)
    if isinstance(held, list):
        value = held
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)]
    return [value] if isinstance(value, dict) and any(key in value for key in _OF_AN_OPERATION) else []


def operation(raw: Raw) -> Operation:
    """One of them; Undecodable if that cannot be told. Which it is follows from its fields where it does not say so."""
    kind = _text(raw, "op").lower() or _inferred(raw)
    sources = _sources(raw.get("sources", raw.get("source")))
    text, quote = _text(raw, "text"), _text(raw, "quote")
    if kind == "add":
        return Add(_list(raw, "list", "to"), text, sources, quote)
    if kind == "set":
        field = _text(raw, "field") or ("goal" if "goal" in raw else "next" if "next" in raw else "")
        if field not in ("goal", "next"):
            raise Undecodable("set is of goal or next")
        return Set("goal" if field == "goal" else "next", text or _text(raw, field), sources)
    item = _text(raw, "item", "id").strip("[]")
    if not item:
        raise Undecodable("it names no item" if kind in ("move", "resolve", "supersede", "drop") else "unknown op")
    if kind == "move":
        return Move(item, _list(raw, "to", "list"), sources, text, quote)
    if kind == "supersede":
        return Supersede(item, text, sources, quote)
    if kind == "resolve":
        return Resolve(item, sources)
    if kind == "drop":
        return Drop(item, sources)
    raise Undecodable("unknown op")


def _inferred(raw: Raw) -> str:
    if "field" in raw or "goal" in raw or ("next" in raw and "text" not in raw):
        return "set"
    if "item" not in raw:
        return "add"
    return "move" if "to" in raw or "list" in raw else "supersede" if raw.get("text") else "resolve"


def _list(raw: Raw, *keys: str) -> ListName:
    name = re.sub(r"[\s_-]", "", _text(raw, *keys)).lower()
    if name not in _LISTS:
        raise Undecodable(f"there is no list {_text(raw, *keys)[:40]!a}")
    return _LISTS[name]


def _sources(value: Any) -> tuple[str, ...]:
    """A list, or names in one text; a bare number is the name without its letter."""
    values = value if isinstance(value, list) else re.split(r"[\s,;]+", value) if isinstance(value, str) else [value]
    named = (str(one).strip("[] ") for one in values if isinstance(one, str | int) and not isinstance(one, bool))
    return tuple(dict.fromkeys(f"m{one}" if one.isdecimal() else one for one in named if one))


def _text(raw: Raw, *keys: str) -> str:
    """The first that is there. Half a character, which JSON can spell and UTF-8 cannot hold, becomes a mark."""
    found = next((raw[key] for key in keys if isinstance(raw.get(key), str)), "")
    return found.encode("utf-8", "replace").decode().strip()
