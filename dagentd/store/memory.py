"""Memory of a project: what its user decided and what agents noted, in a file of git's common folder that is only added
to, so that it outlives sessions, worktrees and conversations."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import disk, fileio, marks
from dagentd.errors import DagentdError, InvalidInput, LimitReached, NotAllowed, NotFound
from dagentd.model import jsontext
from dagentd.model.ids import By
from dagentd.model.jsontext import Undecodable
from dagentd.model.problem import Problem
from dagentd.model.project import Project

LONGEST = 1000  # characters of one entry
MOST_NOTES = 50  # of agents, in one worktree
MOST_DECISIONS = 200  # of a project
_MOST_BYTES = 4 << 20  # of the file: what was withdrawn stays in it


# --- entries, and what they are for ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A decision of the user, or a note of an agent. It is for a feature, else for a worktree, else for the project."""

    id: str
    at: str
    by: By
    text: str
    feature_id: str | None = None
    worktree: str | None = None
    session_id: str | None = None
    confirms: str | None = None

    @property
    def decides(self) -> bool:
        """Only what a user said does."""
        return self.by == "user"

    def is_for(self, features: Collection[str], worktree: str | None) -> bool:
        """Whether somebody at work in this worktree, on these features, is told of it. A note is for its own worktree
        alone."""
        if self.decides and self.feature_id is not None:
            return self.feature_id in features
        return self.worktree == worktree if self.worktree is not None else self.decides

    def raw(self) -> dict[str, Any]:
        told = {
            "id": self.id, "at": self.at, "by": self.by, "sessionId": self.session_id, "featureId": self.feature_id,
            "worktree": self.worktree, "confirms": self.confirms, "text": self.text,
        }  # fmt: skip
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Entry:
        by, texts = raw.get("by"), [raw.get(name) for name in ("id", "at", "text")]
        if (by != "user" and by != "agent") or not all(isinstance(each, str) and each for each in texts):
            raise Undecodable("is no entry")
        others = [raw.get(name) for name in ("featureId", "worktree", "sessionId", "confirms")]
        known = [each if isinstance(each, str) else None for each in others]
        return cls(str(texts[0]), str(texts[1]), by, str(texts[2]), *known)


@dataclass
class _Replayed:
    entries: dict[str, Entry] = field(default_factory=dict)  # in force, by id, the oldest first
    wrong: list[int] = field(default_factory=list)  # numbers of lines that make no sense

    def add(self, raw: dict[str, Any]) -> None:
        if isinstance(withdrawn := raw.get("withdraws"), str):
            self.entries.pop(withdrawn, None)
            return
        entry = Entry.parse(raw)
        self.entries.pop(entry.confirms or "", None)
        self.entries[entry.id] = entry


def replay(lines: Iterable[bytes]) -> _Replayed:
    """The entries in force after these records. One without sense, or of a later version, is passed over and told."""
    found = _Replayed()
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                found.add(jsontext.decode_object(line))
        except Undecodable:
            found.wrong.append(number)
    return found


# --- the file -------------------------------------------------------------------------------------------------------


class Memory:
    """Safe to call from any thread. Who writes holds the project's lock; the file is read when it is another one."""

    def __init__(self, project: Project, read_only: bool = False) -> None:
        self.path, self._read_only = project.memory_file, read_only
        self._lock = threading.RLock()  # held from reading to writing: of two who note at once both count
        self._mark: tuple[int, ...] = ()
        self._known = _Replayed()

    def entries(self) -> list[Entry]:
        """All in force, the oldest first."""
        return list(self._read().entries.values())

    def told(self, features: Collection[str], worktree: str | None) -> list[Entry]:
        """To somebody at work in a worktree, on its features."""
        return [entry for entry in self._read().entries.values() if entry.is_for(features, worktree)]

    def add(
        self, text: str, by: By, *, feature_id: str | None = None, worktree: str | None = None,
        session_id: str | None = None,
    ) -> Entry:  # fmt: skip
        """Without a feature and a worktree it is for the project, which only a user can say."""
        said = _checked(text)
        if by == "agent" and worktree is None:
            raise NotAllowed("a note of an agent is for its worktree", hint="Give `worktree`.")
        with self._lock:
            self._check_room(by, worktree)
            return self._append(Entry(self._new_id(), clock.stamp(), by, said, feature_id, worktree, session_id))

    def confirm(self, ident: str) -> Entry:
        """Make a user's decision of an agent's note; it stands in the note's place, for its feature or worktree."""
        with self._lock:
            note = self._find(ident)
            if note.decides:
                raise InvalidInput(f"{ident} is a decision already", hint="dagentd recall")
            self._check_room("user", None)
            confirmed = Entry(self._new_id(), clock.stamp(), "user", note.text, note.feature_id, note.worktree,
                              note.session_id, note.id)  # fmt: skip
            return self._append(confirmed)

    def withdraw(self, ident: str, by: By) -> Entry:
        """Withdraw an entry: it is told to nobody any more; its line stays."""
        with self._lock:
            found = self._find(ident)
            if by == "agent" and found.decides:
                raise NotAllowed(f"{ident} is a decision of the user", hint=f"dagentd remember --withdraw {ident}")
            self._write({"withdraws": found.id, "at": clock.stamp(), "by": by})
            return found

    def problems(self) -> list[Problem]:
        try:
            wrong = self._read().wrong
        except DagentdError as error:
            return [Problem.of("memory", error, clock.stamp())]
        if not wrong:
            return []
        told = f"makes no sense in line {', '.join(map(str, wrong[:5]))}{', …' if len(wrong) > 5 else ''}"
        shown = DagentdError(f"{told}; the rest of it counts", path=self.path, hint="Mend or remove these lines.")
        return [Problem.of("memory", shown, clock.stamp())]

    def _find(self, ident: str) -> Entry:
        if (found := self._read().entries.get(ident)) is None:
            raise NotFound(f"nothing is remembered as {ident!a}", hint="dagentd recall")
        return found

    def _new_id(self) -> str:
        return next(ident for ident in iter(_random_id, None) if ident not in self._read().entries)

    def _check_room(self, by: By, worktree: str | None) -> None:
        decisions = [each for each in self.entries() if each.decides]
        notes = [each for each in self.entries() if not each.decides and each.worktree == worktree]
        held, most = (decisions, MOST_DECISIONS) if by == "user" else (notes, MOST_NOTES)
        if len(held) >= most:
            what = "decisions in this project" if by == "user" else "notes in this worktree"
            hint = "dagentd recall; dagentd remember --withdraw ID"
            raise LimitReached(f"there are {most} {what} already", hint=hint)

    def _append(self, entry: Entry) -> Entry:
        self._write(entry.raw())
        return entry

    def _write(self, record: dict[str, Any]) -> None:
        """Durable when this returns. A line that a crash cut is ended first."""
        if self._read_only:
            raise NotAllowed("is served read-only", path=self.path, hint="dagentd status says why.")
        with disk.explained(self.path):
            new = disk.is_missing(self.path)
            fd = disk.create(self.path) if new else disk.open_append(self.path)
            try:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:  # a second name may be a file of the user's
                    hint = "Move it away; `dagentd recall` shows what it holds."
                    raise NotAllowed("is no file of its own, so nothing is added", path=self.path, hint=hint)
                if (size := status.st_size) > _MOST_BYTES:
                    raise LimitReached("is full", path=self.path, hint="Keep a copy, and remove old lines by hand.")
                torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
                disk.write(fd, (b"\n" if torn else b"") + jsontext.encode(record) + b"\n", self.path)
                disk.sync_data(fd, self.path)
            finally:
                os.close(fd)
            if new:
                disk.sync_folder(self.path.parent)

    def _read(self) -> _Replayed:
        with self._lock:
            if (mark := marks.seen(self.path)) != self._mark:
                known = _Replayed()
                with contextlib.suppress(FileNotFoundError):
                    known = replay(fileio.read(self.path).splitlines())
                self._known, self._mark = known, mark
            return self._known


def _random_id() -> str:
    return f"m-{uuid.uuid4().hex[:8]}"


def _checked(text: str) -> str:
    said = " ".join(text.split())
    if not said:
        raise InvalidInput("there is nothing to remember", hint="dagentd remember 'What was decided'")
    if len(said) > LONGEST:
        raise InvalidInput(f"is {len(said)} characters; at most {LONGEST}", hint="Say it in a few sentences.")
    try:
        said.encode()
    except UnicodeEncodeError:
        raise InvalidInput("the text is not UTF-8", hint="Convert it, for example with `iconv -t utf-8`.") from None
    return said
