"""Shared by the sessions of one project: where things are kept, whom to tell, and the thread that writes documents."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dagentd.adapters import clock
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import NotAllowed
from dagentd.model.documents import version_of
from dagentd.model.project import Project
from dagentd.model.records import Record
from dagentd.store.journal.index import Index
from dagentd.store.journal.kept_journals import KeptJournals

# What records mean to somebody who watches a session.

Announce = Callable[..., object]  # as `Events.publish`
_BY_STATUS = {"archived": "archived", "active": "restored"}


def actions_of(committed: list[Record]) -> list[dict[str, Any]]:
    """The fields of the `session:updated` events for one append, in order. A compaction that is taken back for another
    one to take its place is not told of."""
    added = [record.body["message"]["id"] for record in committed if record.t in ("message", "edit")]
    found: list[dict[str, Any]] = [{"action": "message_added", "message_ids": added}] if added else []
    for record in committed:
        if record.told is not None:
            found.append(record.told)
        elif record.t == "left":
            action = "compacted" if "checkpoint" in record.body else "cleared"
            found.append({"action": action, "messages": len(record.body["ids"])})
        elif record.t == "back" and "checkpoint" in record.body and record is committed[-1]:
            found.append({"action": "undone", "messages": len(record.body["ids"])})
        elif record.t == "checkpoint":
            found.append({"action": "checkpoint", "version": version_of(record.body["checkpoint"])})
        elif record.t == "session" and (status := record.body["set"].get("status")) in _BY_STATUS:
            found.append({"action": _BY_STATUS[status]})
    return found


# One thread that writes documents behind the journals, when they are due.

_MOMENT = 0.02  # seconds


class Tended(Protocol):
    def tend(self, now: float) -> float | None:
        """Do what is due now; the time at which there is more to do, None if there is nothing."""

    @property
    def failing(self) -> bool:
        """Whether its work could not be done and waits for better times: nobody who stops waits for those."""

    @property
    def idle(self) -> bool:
        """Whether its later work can be done at any time: nobody who stops waits for it either."""


class Projector:
    def __init__(self, on_bug: Callable[[BaseException], None]) -> None:
        self._on_bug = on_bug
        self._due: dict[Tended, float] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="projector", daemon=True)
        self._thread.start()

    def soon(self, tended: Tended) -> None:
        """There is work. Cheap when it is already known. What failed may go well now, whatever it waits for. A moment
        later: who is told that a message is stored, and what is said next, come first."""
        if tended in self._due and not _can_wait(tended):
            return
        with self._changed:
            self._due[tended] = 0.0 if tended.failing else clock.monotonic() + _MOMENT
            self._changed.notify()

    def stop(self) -> None:
        """Finish what is due at any time and can be done, then end. What failed is tried once more, now."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while self._turn():
            pass

    def _turn(self) -> bool:
        """One after the other; in a function of its own, so that what is done is not held until the next is due."""
        if (found := self._next()) is None:
            return False
        tended, early = found
        try:
            due = tended.tend(clock.monotonic() + early)
        except Exception as bug:  # the others must still be served
            self._on_bug(bug)
            due = clock.monotonic() + 60 if not self._stopping else None
        with self._changed:
            if due is not None and not (early and _can_wait(tended)):
                self._due[tended] = min(due, self._due.get(tended, due))
        return True

    def _next(self) -> tuple[Tended, float] | None:
        """The next that is due, and by how many seconds it is early: what failed is tried a last time when we stop."""
        with self._changed:
            while True:
                now = clock.monotonic()
                tended = min(self._due, key=lambda each: self._due[each], default=None)
                if tended is not None and (self._due[tended] <= now or (self._stopping and _can_wait(tended))):
                    return tended, max(0.0, self._due.pop(tended) - now)
                if tended is None and self._stopping:
                    return None
                self._changed.wait(self._due[tended] - now if tended is not None else None)


def _can_wait(tended: Tended) -> bool:
    return tended.failing or tended.idle


# What the sessions of one project share: where things are kept, how patiently, and whom to tell.


@dataclass(frozen=True)
class Resources:
    project: Project
    kept: KeptJournals
    temps: Temps
    index: Index
    settle: float  # seconds for which a file that makes no sense must stay as it is
    read_only: bool
    soon: Callable[[Tended], None]  # there is something to write behind the journals
    announce: Announce
    changed: Callable[..., None]  # something was committed to the session that is given

    @property
    def search_file(self) -> Path | None:
        """Where the words of all messages are indexed; None: nowhere but in memory."""
        return self.index.path.with_name("search.sqlite3") if self.index.path else None

    def check_writable(self) -> None:
        if self.read_only:
            raise NotAllowed("is served read-only", path=self.project.root, hint="dagentd status says why.")
