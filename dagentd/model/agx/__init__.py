"""The vocabulary of AGX: its documents as plain objects that keep what we do not know, and what may be done to them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dagentd.model import times

Raw = dict[str, Any]


def stamp(moment: datetime) -> str:
    """AGX writes whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: object) -> datetime | None:
    """None for what is no time, and for one that no calendar of ours has in UTC."""
    found = times.parse(text)
    try:
        return None if found is None else found.astimezone(UTC)
    except OverflowError:
        return None


def section(raw: Raw, *names: str) -> Raw:
    """A part of a document; an empty one where it is not there or is something else."""
    for name in names:
        found = raw.get(name)
        raw = found if isinstance(found, dict) else {}
    return raw


def changed(raw: Raw, *names: str, **fields: Any) -> Raw:
    """The document with fields of one of its parts set. The order of what is there stays; what is new comes last."""
    if not names:
        return {**raw, **fields}
    held = raw.get(names[0])
    return {**raw, names[0]: changed(held if isinstance(held, dict) else {}, *names[1:], **fields)}


def overlaid(held: Raw, over: Raw) -> Raw:
    """What we know over what was there; what we do not know stays."""
    result = {**held, **over}
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(held.get(key), dict):
            result[key] = overlaid(held[key], value)
    return result
