"""The legacy formats: L1 to L4, conversations in one file each, of a feature, of a task, of a whole session; and L5,
which is next door."""

from __future__ import annotations

import re
from typing import Any

from dagentd.errors import InvalidInput
from dagentd.formats import five_documents, moments
from dagentd.formats import shape as kinds
from dagentd.formats.chat_entries import Reading
from dagentd.formats.shape import (
    Converted,
    Newer,
    Rejected,
    Source,
    began,
    carried,
    created,
    document,
    listed,
    refuse_newer,
)
from dagentd.model import ids
from dagentd.model.jsontext import Undecodable

# L1 to L4: conversations in one file each, of a feature, of a task, of a whole session.

# L1: `chat.json` of a feature, the old chat with the PM; entries of both variants, also mixed.


def convert_feature_chat(raw: Any, source: Source) -> Converted:
    if source.path.startswith("context-chat/"):  # of the app's newest version: the chat of the project itself
        fields = {"type": "project", "agentType": "pm", "featureId": source.feature_id}
        return read_chat(raw, source, "L1", ids.checked(f"pm-project-{source.feature_id}"), fields)
    fields = {"type": "feature", "agentType": "pm", "featureId": source.feature_id}
    return read_chat(raw, source, "L1", ids.feature_session("pm", source.feature_id), fields)


def read_chat(raw: Any, source: Source, shape: str, session_id: str, fields: dict[str, Any]) -> Converted:
    """A chat of this shape as the session that its place makes it."""
    whole = document(raw, "entries")
    read = Reading(source.path, since=began(whole)).read(listed(whole, "entries", "messages"))
    fields = {**carried(whole), **fields, **created(whole, read.messages), "status": "active"}
    return Converted(shape, session_id, fields, read.messages, read.rejected)


# L2: `nodes/{taskId}/session.json`, what a task's agent and the harness told each other.

_STATE = "in_dev"


def convert_task_session(raw: Any, source: Source) -> Converted:
    whole, task = document(raw, "messages"), source.task_id or ""
    session_id = ids.task_session("dev", source.feature_id, task, _STATE)
    reading = Reading(source.path, moments.canonical, since=began(whole), internal=True)
    read = reading.read(listed(whole, "messages", "entries"))
    fields = {
        **carried(whole), "type": "task", "agentType": "dev", "featureId": source.feature_id, "taskId": task,
        "taskState": _STATE, **created(whole, read.messages), "status": "active",
    }  # fmt: skip
    return Converted("L2", session_id, fields, read.messages, read.rejected)


# L3: `nodes/{taskId}/chat.json`, a task's planning chat; a feature's chat in another place.

_PLANNING = "planning"


def convert_task_chat(raw: Any, source: Source) -> Converted:
    task = source.task_id or ""
    fields = {
        "type": "task", "agentType": "pm", "featureId": source.feature_id, "taskId": task, "taskState": _PLANNING,
    }  # fmt: skip
    session_id = ids.task_session("pm", source.feature_id, task, _PLANNING)
    return read_chat(raw, source, "L3", session_id, fields)


# L4: `sessions/{sid}.json`, a whole conversation in one file.


def convert_single_file(raw: Any, source: Source) -> Converted:
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
        return kinds.canonical_id(agent, source.feature_id, task), kinds.kind_fields(agent, source.feature_id, task)
    agent = kinds.named_in(old) or ("dev" if task else "pm")
    original = {} if kind is None else {"originalType": kind}
    return ids.checked(old), {**kinds.kind_fields(agent, source.feature_id, task), **original}


def _old_id(whole: dict[str, Any], source: Source) -> str:
    """By which it was asked for: its own id, else the name of its file."""
    given = whole.get("id")
    return str(given) if ids.is_safe(given) else source.session_id or ""


# The way in: which legacy shape a file has, by its place and content, and its conversion to canonical form.

__all__ = ["OF_FEATURE", "OF_FLAT_FEATURE", "OF_TASK", "Converted", "Newer", "Rejected", "Source", "convert",
           "recognise", "shape_at", "source_at"]  # fmt: skip

_DOCUMENTS = "chat|checkpoint|context|agent-description|memory"
# The shape of each that has one name, by which it is found and watched: in a feature, in one that is a .dagent by
# itself, in a task.
OF_FEATURE = {"chat.json": "L1"}
OF_FLAT_FEATURE = {"context-chat/messages.json": "L1"}
OF_TASK = {"chat.json": "L3", "session.json": "L2"}
_NAMED = {*OF_FEATURE.values(), *OF_FLAT_FEATURE.values(), *OF_TASK.values()}
_PLACES = [
    *((shape, re.compile(re.escape(name))) for name, shape in (OF_FEATURE | OF_FLAT_FEATURE).items()),
    *((shape, re.compile(rf"nodes/(?P<task>[^/]+)/{re.escape(name)}")) for name, shape in OF_TASK.items()),
    ("L5", re.compile(rf"(nodes/(?P<task>[^/]+)/)?sessions/({_DOCUMENTS})_(?P<session>[^/]+)\.json")),
    ("L4", re.compile(rf"(nodes/(?P<task>[^/]+)/)?sessions/(?!({_DOCUMENTS}|session)_)(?P<session>[^/]+)\.json")),
]
_CONVERTERS = {
    "L1": convert_feature_chat,
    "L2": convert_task_session,
    "L3": convert_task_chat,
    "L4": convert_single_file,
    "L5": five_documents.convert,
}


def source_at(path: str, feature_id: str) -> Source | None:
    """The source, if a legacy file may be at that path within a feature."""
    found = _place(path)
    if found is None:
        return None
    named = {"task": None, "session": None} | found[1].groupdict()
    if not all(name is None or ids.is_safe(name) for name in named.values()):
        return None
    return Source(path, feature_id, named["task"], named["session"])


def shape_at(path: str) -> str | None:
    """The shape that a legacy file at that path within a feature has."""
    found = _place(path)
    return found[0] if found else None


def recognise(raw: Any, source: Source) -> str | None:
    """The shape of a parsed file; None for what is canonical already or none of ours. One file of L5 is recognised
    by itself: that it has no session document beside it, the caller sees. Where only a legacy file can be, a shape
    that cannot be understood is still recognised, so that converting it says what is wrong."""
    shape = shape_at(source.path)
    if isinstance(raw, dict) and ("dagentd" in raw or not _fits(raw, shape)):
        return None
    return shape if isinstance(raw, dict) or shape in _NAMED else None


def convert(raw: Any, format: str, source: Source) -> Converted:
    """`raw` is the parsed file; of L5 an object with the parsed documents by name: `chat`, `checkpoint`, `context`,
    `agent-description`, and `memory` (L6) where it lies beside them. Raises Undecodable if the whole makes no sense,
    and Newer, which is one, for later formats."""
    if format != "L5":
        refuse_newer(raw, "version")
    try:
        return _CONVERTERS[format](raw, source)
    except InvalidInput as error:
        raise Undecodable(f"gives no session: {error.message}") from None


def _place(path: str) -> tuple[str, re.Match[str]] | None:
    matches = ((shape, place.fullmatch(path)) for shape, place in _PLACES)
    return next(((shape, match) for shape, match in matches if match), None)


def _fits(raw: dict[str, Any], shape: str | None) -> bool:
    if shape == "L2":  # a session document of today that strayed here has no messages
        return "messages" in raw or not {"agentType", "files"} <= raw.keys()
    if shape == "L4":  # the folder may hold anything
        return "messages" in raw or raw.get("type") in list(kinds.TYPES)
    return True
