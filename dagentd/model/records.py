"""The records of a journal, one JSON object a line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dagentd.model import jsontext
from dagentd.model.jsontext import Undecodable

_END = object()
_PLAIN = re.compile(r"[0-9TZ:.+-]*", re.ASCII)


class Record(NamedTuple):
    """`body` is the record without `t`, `at` and `more`; `message` holds a message's bytes, serialised once. `new`
    says that whoever planned it knows that its message is not in the journal yet; `told` how watchers hear of it, where
    what it holds does not say so."""

    t: str
    at: str
    body: dict[str, Any]
    message: bytes = b""
    new: bool = False
    told: dict[str, Any] | None = None

    def line(self, more: bool = False) -> bytes:
        """`more` says that the next record belongs to the same append: of a group, all count or none."""
        if self.new and len(self.body) == 1:  # nearly all are of this form, and need no encoder
            middle = b'", "more": true, "message": ' if more else b'", "message": '
            return b"".join((f'{{"t": "{self.t}", "at": "{self.at}'.encode(), middle, self.message, b"}\n"))
        head: dict[str, Any] = {"t": self.t, "at": self.at} | ({"more": True} if more else {})
        if not self.message:
            return jsontext.encode(head | self.body) + b"\n"
        if len(self.body) > 1:
            head |= {key: value for key, value in self.body.items() if key != "message"}
        return jsontext.encode(head)[:-1] + b', "message": ' + self.message + b"}\n"


def message(raw: dict[str, Any], line: bytes, at: str, after: Any = _END) -> Record:
    """A message arrived; at the end, or after the one with id `after` (None: first)."""
    body: dict[str, Any] = {"message": raw}
    if after is not _END:
        body["after"] = after
    return Record("message", at, body, line, True)


def glanced(record: Record, shown: int) -> Record:
    """The same message, from a chat of which it is yet to be judged what it lacks of that which was `shown`."""
    return record._replace(body={**record.body, "glanced": shown}) if record.t == "message" else record


def edit(raw: dict[str, Any], line: bytes, at: str) -> Record:
    return Record("edit", at, {"message": raw}, line)


def left(ids: Sequence[str], why: str, at: str, checkpoint_doc: dict[str, Any] | None = None) -> Record:
    body: dict[str, Any] = {"ids": list(ids), "why": why}
    return Record("left", at, body if checkpoint_doc is None else body | {"checkpoint": checkpoint_doc})


def back(ids: Sequence[str], at: str, checkpoint_doc: dict[str, Any] | None = None) -> Record:
    body: dict[str, Any] = {"ids": list(ids)}
    return Record("back", at, body if checkpoint_doc is None else body | {"checkpoint": checkpoint_doc})


def checkpoint(doc: dict[str, Any], at: str) -> Record:
    return Record("checkpoint", at, {"checkpoint": doc})


def session(changes: dict[str, Any], at: str, base: dict[str, Any] | None = None) -> Record:
    """Fields of the session were set. `base` is what its statistics start from, in the first one."""
    return Record("session", at, {"set": changes, **({"base": base} if base else {})})


def seen(documents: dict[str, str], at: str) -> Record:
    """Documents without a position were taken in: met again after a crash, these bytes have been counted."""
    return Record("seen", at, {"optional": True, "documents": documents})


def order(ids: Sequence[str], at: str) -> Record:
    """These messages stand in this order, in the places that they have now among all."""
    return Record("order", at, {"optional": True, "ids": list(ids)})


def parse(line: bytes) -> tuple[Record, bool]:
    """A record and whether more of its group follow; Undecodable for a line that is none."""
    try:
        raw = jsontext.decode_own(line)
    except (ValueError, RecursionError) as error:
        raise Undecodable(str(error)) from None
    if not isinstance(raw, dict) or not isinstance(raw.get("t"), str):
        raise Undecodable("is no record")
    t, at, more = raw.pop("t"), str(raw.pop("at", "")), raw.pop("more", False) is True
    held = raw.get("message")
    return Record(t, at, raw, jsontext.encode(held) if isinstance(held, dict) else b""), more


def checksum(line: bytes) -> str:
    """The `sum` of a journal position: the hash of the record that ends there."""
    return hashlib.sha256(line).hexdigest()[:16]


def fingerprint(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]


def core(raw: dict[str, Any]) -> bytes:
    """The fingerprint of a message: of its role and content, also what that was before it was a text."""
    role, content, metadata = raw.get("role"), raw.get("content"), raw.get("metadata")
    blocks = [metadata["content"]] if isinstance(metadata, dict) and "content" in metadata else []
    if isinstance(role, str) and isinstance(content, str) and not blocks:
        return fingerprint(f"{role}\0{content}".encode("utf-8", "surrogatepass"))
    return fingerprint(jsontext.encode([role, content, *blocks]))


def stamp_of(raw: dict[str, Any]) -> str:
    """The timestamp as JSON text. Usual ones need no encoder."""
    stamp = raw.get("timestamp")
    if isinstance(stamp, str) and _PLAIN.fullmatch(stamp):
        return f'"{stamp}"'
    return jsontext.encode(stamp).decode()
