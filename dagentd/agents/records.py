"""Ours about a kept conversation: whose it is, pins, its archive, its checkpoint; records that are only added."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, disk, fileio
from dagentd.agents.ownership import Owner
from dagentd.model import jsontext

_FORGOTTEN, _IGNORED = "forgotten", "ignored"

Record = dict[str, Any]


@dataclass
class State:
    owner: Owner | None = None
    pinned: set[str] = field(default_factory=set)
    archived_at: str | None = None
    checkpoint: Record | None = None
    sources: list[str] = field(default_factory=list)  # where the agent had its transcript, the last one last
    scrubbed: dict[int, list[tuple[int, int]]] = field(
        default_factory=dict
    )  # by part: where a text was, and its length

    @property
    def source(self) -> str | None:
        """Where the agent had its transcript when it was last read."""
        return self.sources[-1] if self.sources else None

    @property
    def has_pins(self) -> bool:
        """Of messages, or of items of its checkpoint."""
        items = (self.checkpoint or {}).get("items")
        return bool(self.pinned) or any(isinstance(each, dict) and each.get("pinned") for each in items or ())

    def add(self, record: Record) -> None:
        """Records of later versions are passed over."""
        match record:
            case {"t": "owner", "worktree": str(worktree)}:
                self.owner = Owner(_text(record, "project"), _text(record, "root"), worktree)
            case {"t": "pin", "messageId": str(message), "pinned": bool(pinned)}:
                (self.pinned.add if pinned else self.pinned.discard)(message)
            case {"t": "archive", "archived": bool(archived)}:
                self.archived_at = str(record.get("at")) if archived else None
            case {"t": "checkpoint", "checkpoint": dict(checkpoint)}:
                self.checkpoint = checkpoint
            case {"t": "source", "path": str(path)}:
                self.sources = [*(each for each in self.sources if each != path), path]
            case {"t": "scrubbed", "part": int(part), "spans": list(spans)}:
                self.scrubbed.setdefault(part, []).extend((int(start), int(length)) for start, length in spans)


def owned(owner: Owner) -> Record:
    return {"t": "owner", "project": owner.project, "root": owner.root, "worktree": owner.worktree}


def read(path: Path) -> State:
    """A line that is cut or damaged is passed over: none of them is the only copy of anything that was said."""
    state = State()
    try:
        data = fileio.read(path, fileio.CHAT_LIMIT)
    except FileNotFoundError:
        return state
    for line in data.splitlines():
        try:
            state.add(jsontext.decode_object(line))
        except jsontext.Undecodable:
            continue
    return state


def append(path: Path, record: Record) -> None:
    _add(path, jsontext.encode({"at": clock.stamp(), **record}))


def _add(path: Path, line: bytes) -> None:
    """Durable when this returns. A line that a crash cut is ended first."""
    with disk.explained(path):
        new = disk.is_missing(path)
        fd = disk.create(path) if new else disk.open_append(path)
        try:
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            disk.write(fd, (b"\n" if torn else b"") + line + b"\n", path)
            disk.sync_data(fd, path)
        finally:
            os.close(fd)
        if new:
            disk.sync_folder(path.parent)


# --- conversations that the user wants gone -------------------------------------------------------------------------


def digest(agent: str, key: str) -> str:
    """By which a conversation is known again that must not be taken in again while the agent still has it."""
    return hashlib.sha256(f"{agent} {key.partition('.')[0]}".encode("utf-8", "surrogatepass")).hexdigest()


def forgotten(folder: Path) -> set[str]:
    try:
        return set(fileio.read(folder / _FORGOTTEN).decode("ascii", "replace").split())
    except FileNotFoundError:
        return set()


def forget(folder: Path, agent: str, key: str) -> None:
    _add(folder / _FORGOTTEN, digest(agent, key).encode())


# --- agents that the user wants left alone --------------------------------------------------------------------------


def ignored(folder: Path) -> set[str]:
    try:
        return set(fileio.read(folder / _IGNORED).decode("utf-8", "replace").split())
    except FileNotFoundError:
        return set()


def ignore(folder: Path, agent: str, on: bool) -> None:
    names = ignored(folder) | {agent} if on else ignored(folder) - {agent}
    with disk.explained(folder):
        disk.make_folders(folder)
    atomic.put(folder / _IGNORED, "".join(f"{name}\n" for name in sorted(names)).encode())


def _text(record: Record, name: str) -> str | None:
    found = record.get(name)
    return found if isinstance(found, str) else None
