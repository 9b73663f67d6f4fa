"""The programs that write a session's documents beside dagentd: the app, which truncates and writes, programs that
write by rename, and an editor that moves the old file away first. Some hold old copies, some an open file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tests.torture import reader
from tests.torture.model import LISTS, Base, Written, lists_of, name_of
from tests.torture.reader import Files

Style = Literal["truncate", "rename", "editor"]
DAMAGE: dict[str, bytes | None] = {"gone": None, "empty": b"", "nul": b"\0" * 64, "half": b'{"messages": [{"id": "'}
THEIRS = "theirs"


@dataclass(frozen=True)
class Copy:
    """A document as somebody read it."""

    name: str
    raw: dict[str, Any]


@dataclass(frozen=True)
class Saved:
    """One save, and the bytes that it left under each name."""

    written: Written
    data: dict[Path, bytes]

    def is_there(self) -> bool:
        """Under the names that it was written to."""
        return all(path.exists() and path.read_bytes() == data for path, data in self.data.items())


class Writers:
    def __init__(self, files: Files) -> None:
        self.files = files
        self.paths = {"chat": files.chat, "checkpoint": files.checkpoint, "session": files.session}
        self._count = 0

    def read(self, name: str) -> Copy | None:
        """None while there is nothing to be read, which no program takes for empty."""
        try:
            return Copy(name, json.loads(self.paths[name].read_bytes()))
        except (FileNotFoundError, ValueError):
            return None

    def save(self, copies: list[Copy], style: Style = "truncate", **more: Any) -> Saved:
        written = replace(self._written(copies), **more)
        return Saved(written, {self.paths[copy.name]: self._save(copy, style) for copy in copies})

    def has(self, copy: Copy) -> bool:
        """Byte for byte as it would be saved: who reads cannot tell whether it was."""
        path = self.paths[copy.name]
        return path.exists() and path.read_bytes() == _encoded(copy)

    def save_into(self, file: int, copy: Copy) -> Saved:
        """Into a file that was opened before, whatever its name is now."""
        data = json.dumps(copy.raw).encode()
        os.ftruncate(file, 0)
        os.pwrite(file, data, 0)
        return Saved(self._written([copy]), {self.paths[copy.name]: data})

    def _save(self, copy: Copy, style: Style) -> bytes:
        path, data = self.paths[copy.name], _encoded(copy)
        other = path.with_name(f"{path.name}~")
        if style == "truncate":
            path.write_bytes(data)
        elif style == "rename":
            other.write_bytes(data)
            other.replace(path)
        else:
            if path.exists():
                path.replace(other)
            path.write_bytes(data)
            other.unlink(missing_ok=True)
        return data

    def damage(self, name: str, how: str) -> None:
        data = DAMAGE[how]
        if data is None:
            self.paths[name].unlink(missing_ok=True)
        else:
            self.paths[name].write_bytes(data)

    # --- what it means ----------------------------------------------------------------------------------------

    def _written(self, copies: list[Copy]) -> Written:
        self._count += 1
        docs = {copy.name: copy.raw for copy in copies}
        chat, checkpoint, session = docs.get("chat"), docs.get("checkpoint"), docs.get("session")
        (base,) = {id(found): found for copy in copies if (found := self._base(copy.raw))}.values() or (None,)
        return Written(
            self._count,
            chat=None if chat is None else {name_of(one): str(one["content"]) for one in chat["messages"]},
            checkpoint=None if checkpoint is None else lists_of(checkpoint),
            version=checkpoint["version"] if checkpoint else 0,
            fields={key: value for key, value in (session or {}).items() if key.startswith(THEIRS)},
            base=base,
        )

    def _base(self, raw: dict[str, Any]) -> Base | None:
        if "dagentd" not in raw:
            return None
        pos, journal = raw["dagentd"]["pos"], self.files.journal.read_bytes()
        told = reader.replay(journal[:pos])
        texts = {name_of(one): str(one["content"]) for one in told.content.values()}
        fields = {key: value for key, value in told.session.items() if key.startswith(THEIRS)}
        return Base(pos, texts, lists_of(told.checkpoint), fields)


def _encoded(copy: Copy) -> bytes:
    return json.dumps(copy.raw, indent=2).encode()


# --- edits --------------------------------------------------------------------------------------------------------

Edit = Callable[[dict[str, Any], str, int], None]  # a document, a name never used, and a number that chooses


def _push(raw: dict[str, Any], name: str, number: int) -> None:
    raw["messages"].append(_said(name, f"{name} by the app?"))


def _push_without_id(raw: dict[str, Any], name: str, number: int) -> None:
    message = _said(name, f"{name} by an agent?")
    del message["id"]
    raw["messages"].append(message)


def _push_same_id(raw: dict[str, Any], name: str, number: int) -> None:
    """Another message under an id that is taken."""
    if messages := raw["messages"]:
        taken = messages[number % len(messages)].get("id", name)
        messages.append(_said(taken, f"{name} is another one?") | {"timestamp": f"2025-01-01T00:00:0{number}.000Z"})


def _insert(raw: dict[str, Any], name: str, number: int) -> None:
    raw["messages"].insert(number % (len(raw["messages"]) + 1), _said(name, f"{name} between?"))


def _take_away(raw: dict[str, Any], name: str, number: int) -> None:
    if messages := raw["messages"]:
        messages.pop(number % len(messages))


def _change(raw: dict[str, Any], name: str, number: int) -> None:
    if messages := raw["messages"]:
        one = messages[number % len(messages)]
        if "id" not in one or one["timestamp"].startswith("2025"):
            return  # by its content it would be another message
        one["content"] = f"{name_of(one)} changed to {name}?"


def _nothing(raw: dict[str, Any], name: str, number: int) -> None:
    pass


def _note(raw: dict[str, Any], name: str, number: int) -> None:
    _list(raw, number).append(f"{name} is to be noted")


def _strike(raw: dict[str, Any], name: str, number: int) -> None:
    if held := _list(raw, number):
        held.pop(number % len(held))


def without(copy: Copy, struck: Collection[str]) -> Copy:
    """A checkpoint in none of whose lists these stand."""
    summary = copy.raw.get("summary") or {}
    lists = {name: [one for one in held if one not in struck] for name, held in summary.items() if name in LISTS}
    return Copy(copy.name, copy.raw | {"summary": summary | lists})


def _list(raw: dict[str, Any], number: int) -> list[Any]:
    held: list[Any] = raw.setdefault("summary", {}).setdefault(LISTS[number % 5], [])
    return held


def _field(raw: dict[str, Any], name: str, number: int) -> None:
    raw[f"{THEIRS}{number % 3}"] = name


EDITS: dict[str, dict[str, Edit]] = {
    "chat": {"push": _push, "push without id": _push_without_id, "push same id": _push_same_id, "insert": _insert,
             "take away": _take_away, "change": _change, "nothing": _nothing, "field": _field},
    "checkpoint": {"note": _note, "strike": _strike, "nothing": _nothing},
    "session": {"field": _field, "nothing": _nothing},
}  # fmt: skip


def _said(message_id: str, content: str) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": content, "timestamp": "2026-01-17T12:00:00.000Z"}
