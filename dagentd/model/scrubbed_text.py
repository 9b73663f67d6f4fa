"""Removing a text from files without moving any other byte of them: in how many forms it can stand there, where, and
what is put in its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.errors import InvalidInput

MARK = b"*"  # stands for each byte of a text that was removed, so that every other byte stays where it is
Spans = Sequence[tuple[int, int]]  # places in a file, and how long they are

_SHORTEST = 6  # characters of a text that is removed: shorter ones stand in every word
# Fields by which records are told apart and found: with a mark in one of them, a journal could not be read any more.
_NAMES = {"t", "at", "id", "ids", "uuid", "after", "role", "type", "status", "why", "timestamp"}
_NAMES |= {"sessionId", "featureId", "taskId"}


@dataclass(frozen=True)
class Trace:
    """A file that holds the text, and how often; or `error`, why it cannot be looked into or must stay."""

    path: Path
    times: int
    error: str | None = None


def forms(text: str) -> list[bytes]:
    """How a text can stand in a file of JSON: as it is, escaped, and escaped within a text of JSON; the longest
    first."""
    if len(text) < _SHORTEST:
        raise InvalidInput(f"a text of less than {_SHORTEST} characters stands in too much", hint="Give more of it.")
    found = {text}
    for _ in range(2):
        found |= {json.dumps(each, ensure_ascii=plain)[1:-1] for each in found for plain in (True, False)}
        found |= {each.replace("/", "\\/") for each in found}
    encoded = {each.encode("utf-8", "surrogatepass") for each in found}
    return sorted(encoded, key=lambda each: (-len(each), each))


def spans(data: bytes, wanted: list[bytes]) -> list[tuple[int, int]]:
    """Where it is; of places that overlap the longer form counts."""
    found: list[tuple[int, int]] = []
    for form in wanted:
        at = data.find(form)
        while at >= 0:
            if not any(start < at + len(form) and at < start + length for start, length in found):
                found.append((at, len(form)))
            at = data.find(form, at + len(form))
    return sorted(found)


def masked(data: bytes, start: int, places: Spans) -> bytes:
    """Bytes that begin at `start` of a file, with a mark of its length for each of these places."""
    if not places:
        return data
    changed = bytearray(data)
    for at, length in places:
        first, last = max(0, at - start), min(len(data), at - start + length)
        if first < last:
            changed[first:last] = MARK * (last - first)
    return bytes(changed)


def trace_of(path: Path, data: bytes, wanted: list[bytes]) -> Trace | None:
    """The trace of a text in a file's content; None if it is not there."""
    if not (places := spans(data, wanted)):
        return None
    fits = _keeps_form(data, masked(data, 0, places))
    return Trace(path, len(places), None if fits else "the text is also a name in the format of this file")


def _keeps_form(before: bytes, after: bytes) -> bool:
    """Whether a document or the lines of a journal are read as before, but for what was said in them."""
    if (whole := _parsed(before)) is not None:
        return bool(_form(whole) == _form(_parsed(after)))
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return all(bool(_form(_parsed(one)) == _form(_parsed(other))) for one, other in pairs if one != other)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _form(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: item if key in _NAMES and not isinstance(item, dict) else _form(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_form(item) for item in value]
    return "" if isinstance(value, str) else value
