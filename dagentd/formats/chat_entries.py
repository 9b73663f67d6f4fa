"""The entries of a legacy chat, whatever shape each has, as canonical messages in the order of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dagentd.formats import moments
from dagentd.formats.shape import Rejected
from dagentd.model import conversation, ids, jsontext

# The parts of one legacy entry, whatever shape it has. An entry is kept if it says anything. One of an unknown role
# is a system message: neither the user nor the agent may be made to say what perhaps they did not.

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


def content_of(entry: Entry, metadata: dict[str, Any]) -> Any:
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


def metadata_of(entry: Entry) -> dict[str, Any]:
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


def role_of(entry: Entry, internal: bool) -> tuple[Any, str, dict[str, Any]]:
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


def other_fields(entry: Entry, content: Any, metadata: dict[str, Any]) -> dict[str, Any]:
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


_DEEPER = 4  # levels: a chat has the parts of an entry up to two deeper than the original had


class Reading:
    """Reads the entries of one file. `stamped` reads a time; `since` is the time of entries before the first that
    has one; internal entries are not the user's conversation and keep their type."""

    def __init__(
        self,
        source: str,
        stamped: Callable[[object], str | None] = moments.verbatim,
        since: str | None = None,
        internal: bool = False,
    ) -> None:
        self.messages: list[dict[str, Any]] = []
        self.rejected: list[Rejected] = []
        self._source, self._stamped, self._internal = source, stamped, internal
        self._naming = ids.Naming(source)
        self._latest = since
        self._seen: dict[str, tuple[Any, Any, Any]] = {}

    def read(self, entries: Sequence[Any]) -> Reading:
        deep = jsontext.too_deep(entries, _DEEPER)  # all at once: hardly ever is one of them
        for index, entry in enumerate(entries):
            try:
                if deep and jsontext.too_deep(entry, _DEEPER):
                    raise NoMessage("is nested too deeply")
                self.messages.append(self._message(entry))
            except NoMessage as why:
                self.rejected.append(Rejected(index, str(why)))
        self._fill_first()
        return self

    def _message(self, entry: Any) -> dict[str, Any]:
        if not isinstance(entry, dict):
            raise NoMessage(f"is {jsontext.kind(entry)}, not an object")
        metadata = metadata_of(entry)
        content = content_of(entry, metadata)
        word, role, original = role_of(entry, self._internal)
        message_id = self._own_id(entry.get("id"), (word, entry.get("timestamp"), content))
        stamp = self._stamp(entry.get("timestamp"), original)
        metadata["migratedFrom"] = self._source
        metadata.update(original)
        if self._internal:
            metadata["internal"] = True
        message = {"id": message_id, "role": role, "content": content, "timestamp": stamp, "metadata": metadata}
        message.update(other_fields(entry, content, metadata))
        return conversation.with_text(message)

    def _own_id(self, given: Any, said: tuple[Any, Any, Any]) -> str:
        """The entry's id, or one made from it. The first of several under one id keeps it, as in a file that grew."""
        name = self._naming.id_of(given, *said)
        while (other := self._seen.get(name)) is not None:
            if other == said:
                raise NoMessage("repeats another entry: the same id, role, time and content")
            name = ids.clashing(name, jsontext.encode(said))
        self._seen[name] = said
        return name

    def _stamp(self, written: Any, original: dict[str, Any]) -> str | None:
        """A missing time is its predecessor's, and what the file has instead of it is kept, if only null."""
        found = self._stamped(written)
        if found != written or found is None:
            original["originalTimestamp"] = written
        self._latest = found or self._latest
        return self._latest

    def _fill_first(self) -> None:
        """Those before the first time take that."""
        first = next((message["timestamp"] for message in self.messages if message["timestamp"]), moments.UNKNOWN)
        for message in self.messages:
            if message["timestamp"]:
                return
            message["timestamp"] = first
