"""The entries of a legacy chat, whatever shape each has, as canonical messages in the order of the file.

An entry is kept if it says anything: one of an unknown role is a system message, since neither the user's nor the
agent's mouth may say what perhaps it did not. What is no message is rejected with its position; the original has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dagentd.formats import moments
from dagentd.formats.shape import Rejected
from dagentd.model import ids, jsontext

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

    def read(self, entries: Iterable[Any]) -> Reading:
        for index, entry in enumerate(entries):
            try:
                self.messages.append(self._message(entry))
            except NoMessage as why:
                self.rejected.append(Rejected(index, str(why)))
        self._fill_first()
        return self

    def _message(self, entry: Any) -> dict[str, Any]:
        if not isinstance(entry, dict):
            raise NoMessage(f"is {jsontext.kind(entry)}, not an object")
        if _nested(entry) and jsontext.too_deep([[[[entry]]]]):  # a chat has it one level deeper than the original
            raise NoMessage("is nested too deeply")
        metadata = _metadata(entry)
        content, word = _content(entry, metadata), _word(entry)
        message_id = self._own_id(entry, (word, entry.get("timestamp"), content))
        role, original = _role(entry, self._internal)
        stamp = self._stamp(entry, original)
        metadata |= {"migratedFrom": self._source} | original | ({"internal": True} if self._internal else {})
        message = {"id": message_id, "role": role, "content": content, "timestamp": stamp, "metadata": metadata}
        return message | _others(entry, content)

    def _own_id(self, entry: Entry, parts: tuple[Any, Any, Any]) -> str:
        """The entry's id, or one made from it. The first of several under one id keeps it, as in a file that grew."""
        name = self._naming.id_of(entry.get("id"), *parts)
        while (other := self._seen.get(name)) is not None:
            if other == parts:
                raise NoMessage("repeats another entry: the same id, role, time and content")
            name = ids.clashing(name, jsontext.encode(parts))
        self._seen[name] = parts
        return name

    def _stamp(self, entry: Entry, original: dict[str, Any]) -> str | None:
        """A missing time is its predecessor's, and what the file has instead of it is kept, if only null."""
        written = entry.get("timestamp")
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


def _nested(entry: Entry) -> bool:
    return any(isinstance(value, (dict, list)) for value in entry.values())


def _content(entry: Entry, metadata: dict[str, Any]) -> Any:
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


def _metadata(entry: Entry) -> dict[str, Any]:
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


def _word(entry: Entry) -> Any:
    """The role as it is written."""
    return next((entry[key] for key in ("role", "direction", "type") if entry.get(key) is not None), None)


def _role(entry: Entry, internal: bool) -> tuple[str, dict[str, Any]]:
    """The role, and as `originalType` and `originalRole` what it does not say."""
    said, kind = entry.get("role"), entry.get("type")
    if said is None:
        said = entry.get("direction")
    role, original = _known(said), {}
    if kind is not None and kind != said and (role or internal or not _known(kind)):
        original["originalType"] = kind
    if said is not None and not role:
        original["originalRole" if original else "originalType"] = said
    return role or _known(kind) or "system", original


def _known(word: Any) -> str | None:
    return (_ROLES.get(word) or _ROLES.get(word.strip().lower())) if isinstance(word, str) else None


def _others(entry: Entry, content: Any) -> dict[str, Any]:
    """Fields that we do not know stay on the message, and those that another one made needless."""
    others = {key: entry[key] for key in entry if key not in _TAKEN}
    if entry.get("text") not in (None, content):
        others["text"] = entry["text"]
    if entry.get("role") is not None and "direction" in entry:
        others["direction"] = entry["direction"]
    return others
