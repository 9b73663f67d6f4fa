"""The parts of one legacy entry, whatever shape it has.

An entry is kept if it says anything. One of an unknown role is a system message: neither the user nor the agent may
be made to say what perhaps they did not.
"""

from __future__ import annotations

from typing import Any

_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "outgoing": "assistant",
    "task_to_harness": "assistant",
    "incoming": "user",
    "harness_to_task": "user",
}
_TAKEN = {"id", "role", "direction", "type", "content", "text", "timestamp", "metadata", "media"}
_TOOL = {"toolName": "name", "toolInput": "input", "toolResult": "result"}

Entry = dict[str, Any]


class NoMessage(Exception):
    """str() says why, as the end of a sentence that begins with the entry's number."""


def content(entry: Entry, metadata: dict[str, Any]) -> Any:
    """As it is written, whatever its type: lists of blocks are content too. Beside media or a tool's use it may be
    missing."""
    content = entry.get("content")
    if content is None:
        content = entry.get("text")
    if content is not None:
        return content
    if metadata.get("media") or metadata.get("toolUse"):
        return ""
    raise NoMessage("has no text")


def metadata(entry: Entry) -> dict[str, Any]:
    given, media, own_id = entry.get("metadata"), entry.get("media"), entry.get("id")
    metadata = dict(given) if isinstance(given, dict) else {} if given is None else {"originalMetadata": given}
    if metadata and "toolUse" not in metadata:
        tool = {new: metadata.pop(old) for old, new in _TOOL.items() if metadata.get(old) is not None}
        metadata |= {"toolUse": tool} if tool else {}
    if media is not None:
        metadata.setdefault("media", media)
    if own_id is not None and not isinstance(own_id, str):
        metadata["originalId"] = own_id
    return metadata


def role(entry: Entry, internal: bool) -> tuple[Any, str, dict[str, Any]]:
    """The role as it is written and as we have it, and as `originalType` and `originalRole` what ours does not say."""
    said, kind = entry.get("role"), entry.get("type")
    if said is None:
        said = entry.get("direction")
    role, original = _known(said), {}
    if kind is not None and (internal or (kind != said and (role or not _known(kind)))):
        original["originalType"] = kind
    if said is None:
        return kind, _known(kind) or "system", original
    if role is None:
        original["originalRole" if original else "originalType"] = said
    return said, role or _known(kind) or "system", original


def _known(word: Any) -> str | None:
    return (_ROLES.get(word) or _ROLES.get(word.strip().lower())) if isinstance(word, str) else None


def others(entry: Entry, content: Any, metadata: dict[str, Any]) -> dict[str, Any]:
    """Fields that we do not know stay on the message, and those whose place another one took. One whose name has a
    lone surrogate goes into the metadata: pydantic refuses it as a name, and so would every request."""
    others: dict[str, Any] = {}
    for key, value in entry.items():
        if key not in _TAKEN:
            (others if _is_name(key) else metadata)[key] = value
    if entry.get("text") not in (None, content):
        others["text"] = entry["text"]
    if entry.get("media") not in (None, metadata.get("media")):
        others["media"] = entry["media"]
    if entry.get("role") is not None and "direction" in entry:
        others["direction"] = entry["direction"]
    return others


def _is_name(key: str) -> bool:
    return key.isascii() or not any("\ud800" <= character <= "\udfff" for character in key)
