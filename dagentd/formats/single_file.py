"""L4: `sessions/{sid}.json`, a whole conversation in one file."""

from __future__ import annotations

from typing import Any

from dagentd.formats import kinds
from dagentd.formats.entries import Reading
from dagentd.formats.shape import Converted, Source, began, carried, created, document, listed
from dagentd.model import ids
from dagentd.model.jsontext import Undecodable


def convert(raw: Any, source: Source) -> Converted:
    if isinstance(raw, list):
        raise Undecodable("must hold an object, not a list")
    whole = document(raw, "messages")
    read = Reading(source.path, since=began(whole)).read(listed(whole, "messages", "entries"))
    old = _old_id(whole, source)
    session_id, fields = _session(whole, source, old)
    fields = {**carried(whole), **fields, **created(whole, read.messages), "status": "active"}
    alias = old if old != session_id else None
    return Converted("L4", session_id, fields, read.messages, read.rejected, alias, whole.get("stats"))


def _session(whole: dict[str, Any], source: Source, old: str) -> tuple[str, dict[str, Any]]:
    """One of a type that we do not know keeps its id: in another session its messages would be out of place."""
    kind = whole.get("type")
    task = kinds.task_of(whole, source.task_id) if kind != "pm-feature" else None
    agent = kinds.TYPES.get(kind) if isinstance(kind, str) else None
    if agent is not None:
        return kinds.canonical_id(agent, source.feature_id, task), kinds.fields(agent, source.feature_id, task)
    agent = kinds.named_in(old) or ("dev" if task else "pm")
    original = {} if kind is None else {"originalType": kind}
    return ids.checked(old), {**kinds.fields(agent, source.feature_id, task), **original}


def _old_id(whole: dict[str, Any], source: Source) -> str:
    """By which it was asked for: its own id, else the name of its file."""
    given = whole.get("id")
    return str(given) if ids.is_safe(given) else source.session_id or ""
