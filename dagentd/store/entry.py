"""One message as the journal knows it: where its record is, which contents it had, when it was in chat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dagentd.model import conversation, jsontext
from dagentd.model.conversation import Said

_PLAIN = re.compile(r"[0-9TZ:.+-]*", re.ASCII)


@dataclass(slots=True)
class Entry:
    id: str
    rank: int  # order among all messages of the session
    start: int  # of the record that holds its content
    end: int
    stamp: str  # timestamp as written, as JSON text
    core: bytes
    versions: list[tuple[int, bytes]]  # end of the record, fingerprint of the content it brought
    moves: list[tuple[int, bool]]  # end of the record, in chat from there on
    line: bytes | None = None  # its JSON; only while it is in chat
    tokens: int | None = None
    internal: bool | None = None  # None: nobody has asked yet
    _said: tuple[bytes, Said | None] | None = None  # the line that it was made from, and what requests have of it

    @property
    def here(self) -> bool:
        return self.moves[-1][1]

    @property
    def moved(self) -> int:
        return self.moves[-1][0]

    @property
    def edited(self) -> int:
        return self.versions[-1][0]

    @property
    def whole(self) -> bytes:
        return self.versions[-1][1]

    def here_at(self, pos: int) -> bool:
        return next((here for end, here in reversed(self.moves) if end <= pos), False)

    def whole_at(self, pos: int) -> bytes | None:
        return next((whole for end, whole in reversed(self.versions) if end <= pos), None)

    def raw(self) -> dict[str, Any]:
        assert self.line is not None
        value: dict[str, Any] = jsontext.decode_own(self.line)
        return value

    def said(self, line: bytes, tokens: int | None) -> Said | None:
        """As it stands in requests with this content, and of this size if that is known; made with the first of them.
        None if they do not have it."""
        known = self._said
        if known is None or known[0] is not line:
            known = line, conversation.said(jsontext.decode_own(line), tokens)
            if tokens is not None:
                self._said = known
        return known[1]


def stamp_of(raw: dict[str, Any]) -> str:
    """The timestamp as JSON text. Usual ones need no encoder."""
    stamp = raw.get("timestamp")
    if isinstance(stamp, str) and _PLAIN.fullmatch(stamp):
        return f'"{stamp}"'
    return jsontext.encode(stamp).decode()
