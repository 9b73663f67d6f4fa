"""An independent reader of a session's files: the json module and the written protocol, no code of dagentd."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Files:
    """The files of one session: prefixed names in one folder, or plain names in a folder of its own."""

    folder: Path
    sid: str

    def _path(self, name: str, suffix: str) -> Path:
        if self.folder.name == self.sid:
            return self.folder / f"{name}{suffix}"
        return self.folder / f"{name}_{self.sid}{suffix}"

    @property
    def journal(self) -> Path:
        return self._path("history", ".jsonl")

    @property
    def chat(self) -> Path:
        return self._path("chat", ".json")

    @property
    def checkpoint(self) -> Path:
        return self._path("checkpoint", ".json")

    @property
    def session(self) -> Path:
        return self._path("session", ".json")

    @property
    def context(self) -> Path:
        return self._path("context", ".json")

    @property
    def agent(self) -> Path:
        return self._path("agent-description", ".json")

    def projections(self) -> list[Path]:
        return [self.chat, self.checkpoint, self.session]

    def beside(self, path: Path, kind: str) -> list[Path]:
        return sorted(path.parent.glob(f"{path.name}.{kind}.*"))


@dataclass
class Told:
    """What a journal adds up to."""

    arrived: Counter[str]
    order: list[str]  # ids of all, in order
    chat: list[str]  # ids in chat, in order
    moved: dict[str, int]  # offset after the record that last made a message arrive, leave or return
    content: dict[str, Any]
    checkpoint: dict[str, Any] | None
    session: dict[str, Any]
    ends: dict[int, str]  # offset after each record, with the hash of the record that ends there
    bad_lines: list[bytes]
    tail: bytes  # what follows the last whole group


def records(data: bytes) -> tuple[list[tuple[dict[str, Any], int, bytes]], list[bytes], bytes]:
    """Whole groups only: (record, offset after it, its line); lines that are no record; the torn tail."""
    found: list[tuple[dict[str, Any], int, bytes]] = []
    group: list[tuple[dict[str, Any], int, bytes]] = []
    bad: list[bytes] = []
    at = whole = 0
    for line in data.split(b"\n")[:-1]:
        line += b"\n"
        at += len(line)
        try:
            record = json.loads(line)
        except ValueError:
            if line.strip():
                bad.append(line)
            if not group:
                whole = at
            continue
        group.append((record, at, line))
        if record.get("more") is not True:
            found += group
            group, whole = [], at
    return found, bad, data[whole:]


def read_journal(path: Path) -> Told:
    return replay(path.read_bytes())


def replay(data: bytes) -> Told:
    found, bad, tail = records(data)
    told = Told(Counter(), [], [], {}, {}, None, {}, {}, bad, tail)
    here: set[str] = set()
    for record, end, line in found:
        _apply(told, here, record, end)
        told.ends[end] = hashlib.sha256(line).hexdigest()[:16]
    told.chat = [one for one in told.order if one in here]
    return told


def _apply(told: Told, here: set[str], record: dict[str, Any], end: int) -> None:
    kind = record["t"]
    if kind == "message":
        message = record["message"]
        told.arrived[message["id"]] += 1
        if message["id"] not in told.content:
            _place(told.order, message["id"], record)
            here.add(message["id"])
            told.moved[message["id"]] = end
            told.content[message["id"]] = message
    elif kind == "edit":
        told.content[record["message"]["id"]] = record["message"]
    elif kind in ("left", "back"):
        moving = [one for one in record["ids"] if one in told.content and (one in here) == (kind == "left")]
        here.symmetric_difference_update(moving)
        told.moved |= dict.fromkeys(moving, end)
    elif kind == "session":
        told.session |= record["set"]
    told.checkpoint = record.get("checkpoint", told.checkpoint)


def _place(order: list[str], message_id: str, record: dict[str, Any]) -> None:
    after = record.get("after", "")
    if after is None:
        order.insert(0, message_id)
    elif after in order:
        order.insert(order.index(after) + 1, message_id)
    else:
        order.append(message_id)


def whole(path: Path) -> dict[str, Any]:
    """A document that parses."""
    data = path.read_bytes()
    try:
        raw = json.loads(data)
    except ValueError as error:
        raise AssertionError(f"{path} is not whole: {error}; it holds {data[:60]!r}…{data[-60:]!r}") from None
    assert isinstance(raw, dict), path
    return raw


def agree(files: Files) -> Told:
    """After a start: the documents say what the journal says. What the journal says."""
    told = read_journal(files.journal)
    chat, checkpoint, session = whole(files.chat), whole(files.checkpoint), whole(files.session)
    assert told.tail == b"", f"torn end of {files.journal}: {told.tail[:80]!r}"
    assert [message["id"] for message in chat["messages"]] == told.chat
    assert all(message == told.content[message["id"]] for message in chat["messages"])
    for raw in (chat, checkpoint, session):
        held = raw.pop("dagentd")
        assert told.ends[held["pos"]] == held["sum"]
    assert checkpoint == _with_lists(told.checkpoint)
    assert {key: session[key] for key in told.session} == told.session
    return told


def _with_lists(checkpoint: dict[str, Any] | None) -> dict[str, Any] | None:
    """The five lists are there, also where the journal's checkpoint lacks some."""
    lists: dict[str, Any] = {name: [] for name in ("completed", "inProgress", "pending", "blockers", "decisions")}
    return checkpoint if checkpoint is None else {**checkpoint, "summary": lists | checkpoint.get("summary", {})}


def once(told: Told, ids: set[str]) -> None:
    """Each of these is in the journal, and nothing is there twice."""
    missing = [one for one in sorted(ids) if one not in told.arrived]
    assert not missing, f"{len(missing)} of {len(ids)} are not in the journal: {missing[:5]}"
    twice = [one for one, count in told.arrived.items() if count > 1]
    assert not twice, f"more than once in the journal: {twice[:5]}"


def temps(root: Path) -> list[str]:
    """Temp files anywhere under a folder."""
    return sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if "dagentd-tmp" in name
    )
