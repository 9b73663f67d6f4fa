"""The entries of a legacy chat, whatever shape each has, as canonical messages in the order of the file.

What is no message is rejected with its position; the original has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dagentd.formats import moments, parts
from dagentd.formats.parts import NoMessage
from dagentd.formats.shape import Rejected
from dagentd.model import conversation, ids, jsontext

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
        metadata = parts.metadata(entry)
        content = parts.content(entry, metadata)
        word, role, original = parts.role(entry, self._internal)
        message_id = self._own_id(entry.get("id"), (word, entry.get("timestamp"), content))
        stamp = self._stamp(entry.get("timestamp"), original)
        metadata["migratedFrom"] = self._source
        metadata.update(original)
        if self._internal:
            metadata["internal"] = True
        message = {"id": message_id, "role": role, "content": content, "timestamp": stamp, "metadata": metadata}
        message.update(parts.others(entry, content, metadata))
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
