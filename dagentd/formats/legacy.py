"""The way in: which legacy shape a file has, by its place and content, and its conversion to canonical form."""

from __future__ import annotations

import re
from typing import Any

from dagentd.errors import InvalidInput
from dagentd.formats import feature_chat, five_documents, kinds, single_file, task_chat, task_session
from dagentd.formats.shape import Converted, Newer, Rejected, Source, refuse_newer
from dagentd.model import ids
from dagentd.model.jsontext import Undecodable

__all__ = ["Converted", "Newer", "Rejected", "Source", "convert", "recognise", "shape_at", "source_at"]

_DOCUMENTS = "chat|checkpoint|context|agent-description|memory"
_PLACES = {
    "L1": re.compile(r"chat\.json|context-chat/messages\.json"),
    "L2": re.compile(r"nodes/(?P<task>[^/]+)/session\.json"),
    "L3": re.compile(r"nodes/(?P<task>[^/]+)/chat\.json"),
    "L5": re.compile(rf"(nodes/(?P<task>[^/]+)/)?sessions/({_DOCUMENTS})_(?P<session>[^/]+)\.json"),
    "L4": re.compile(rf"(nodes/(?P<task>[^/]+)/)?sessions/(?!({_DOCUMENTS}|session)_)(?P<session>[^/]+)\.json"),
}
_CONVERTERS = {
    "L1": feature_chat.convert,
    "L2": task_session.convert,
    "L3": task_chat.convert,
    "L4": single_file.convert,
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
    return shape if isinstance(raw, dict) or shape in ("L1", "L2", "L3") else None


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
    matches = ((shape, place.fullmatch(path)) for shape, place in _PLACES.items())
    return next(((shape, match) for shape, match in matches if match), None)


def _fits(raw: dict[str, Any], shape: str | None) -> bool:
    if shape == "L2":  # a session document of today that strayed here has no messages
        return "messages" in raw or not {"agentType", "files"} <= raw.keys()
    if shape == "L4":  # the folder may hold anything
        return "messages" in raw or raw.get("type") in list(kinds.TYPES)
    return True
