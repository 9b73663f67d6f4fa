"""The sessions that are open: each at most once, some of them although nobody uses them just now."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from dagentd.errors import NotFound
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.model.records import Record
from dagentd.store.journal.index import Index
from dagentd.store.journal.opening import Found
from dagentd.store.journal.session_journal import ReadOnlyJournal, SessionJournal
from dagentd.store.layout import layout
from dagentd.store.layout.catalogue import Catalogue
from dagentd.store.sessions.project_problems import ProjectProblems
from dagentd.store.sessions.resources import Resources
from dagentd.store.sessions.session import Session
from dagentd.waiting import patiently

_OPEN = 32  # sessions kept open although nobody uses them


class OpenSessions:
    """A long session takes seconds to open or to make: whoever uses another one does not wait for that."""

    def __init__(self, resources: Resources, catalogue: Catalogue, problems: ProjectProblems) -> None:
        self.lock = threading.RLock()  # held by whoever changes what several sessions share
        self._doors: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        self._mutex = threading.Lock()  # for what is noted here; nobody waits for anything else meanwhile
        self._resources, self._catalogue, self._problems = resources, catalogue, problems
        self._open: dict[Path, Session] = {}
        self._found: dict[tuple[str | None, ...], SessionFolder] = {}
        self.ended = False

    def door(self, session_id: str) -> threading.RLock:
        """Held by whoever opens, makes or removes a session of that id, and taken before `lock`. It lives for as long
        as somebody has it."""
        with self._mutex:
            door = self._doors.get(session_id)
            if door is None:
                door = self._doors[session_id] = threading.RLock()
            return door

    @contextlib.contextmanager
    def alone(self, session_id: str) -> Iterator[None]:
        """While a session is made or removed."""
        with self.door(session_id), self.lock:
            yield

    def take(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> Session:
        """A session to be used and given back. Where it was found is remembered while it is open, so that the next
        call need not look through all worktrees, nor wait at the door: whoever closes it meanwhile finds it in use."""
        where = (session_id, worktree, feature_id)
        folder = self._found.get(where)
        if folder is not None and not self.ended:
            session = self._open.get(folder.journal)
            # There may be but a twin now: the app made the same one in its own style.
            is_twin = folder.style == "folder" and not folder.gone and any(map(os.path.lexists, folder.of_the_app))
            if session is not None and os.path.lexists(folder.journal) and not is_twin and session.enter():
                with self._mutex:  # the order tells which was not used for longest
                    if self._open.get(folder.journal) is session:
                        self._open[folder.journal] = self._open.pop(folder.journal)
                return session
        folder = self._catalogue.find(*where)
        with self._mutex:
            self._found[where] = folder
        return self.open(folder)

    def give_back(self, session: Session) -> None:
        if session.problems_by_kind:
            self._problems.note(session.folder, session.problems_by_kind)
        session.leave()
        if self._resources.read_only or session.folder.gone:
            self._let_go(session)  # somebody else writes to it
        if len(self._open) > _OPEN:
            self._retire_some()

    @contextlib.contextmanager
    def using(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> Iterator[Session]:
        """A session for as long as it is used."""
        session = self.take(session_id, worktree, feature_id)
        try:
            yield session
        finally:
            self.give_back(session)

    @contextlib.contextmanager
    def use(self, folder: SessionFolder) -> Iterator[Session]:
        session = self.open(folder)
        try:
            yield session
        finally:
            self.give_back(session)

    def _let_go(self, session: Session) -> None:
        """The next one who asks reads it again."""
        with self._mutex:
            if self._open.get(session.folder.journal) is session:
                del self._open[session.folder.journal]
        session.retire()

    def open(self, folder: SessionFolder, written: Sequence[Record] = ()) -> Session:
        """A session, open until the end. `written` is what its journal holds, if it was made just now."""
        with self.door(folder.id):
            if self.ended:
                raise NotFound(f"{self._resources.project.root} is no longer served", hint="dagentd projects")
            session = self._open.get(folder.journal)
            if session is None or not session.enter():
                if session is not None:
                    self._let_go(session)
                layout.checked_folder(folder.path)  # links come and go
                session = patiently(lambda: Session(self._resources, folder, self._opener(folder, written)))
                session.enter()
                self._problems.note(folder, session.problems_by_kind)  # as they are at any time
            with self._mutex:  # last, as in `take`
                self._open.pop(folder.journal, None)
                self._open[folder.journal] = session
            return session

    def _opener(self, folder: SessionFolder, written: Sequence[Record]) -> Callable[[Found], SessionJournal]:
        kept = self._resources.kept
        if self._resources.read_only or folder.gone:
            return lambda first: ReadOnlyJournal(folder, kept, Index(None), first)
        return lambda first: SessionJournal(folder, kept, self._resources.index, first, written)

    def held(self, folder: SessionFolder) -> Session | None:
        """A session if it is open, which is not opened for this: what is on disk may be behind it."""
        session = self._open.get(folder.journal)
        return session if session is not None and session.is_served else None

    def document(self, folder: SessionFolder) -> dict[str, Any] | None:
        return held.document() if (held := self.held(folder)) is not None else None

    def _retire_some(self) -> None:
        """Keep only some open: a project has more sessions than a process may have files open."""
        with self._mutex:
            self._open = {path: session for path, session in self._open.items() if not session.closed}
            self._found = {key: folder for key, folder in self._found.items() if folder.journal in self._open}
            longest = list(self._open.values())[:-_OPEN]
        for session in longest:
            if not session.leaving:  # or we would wait for it to be closed
                session.retire()

    # --- closing ------------------------------------------------------------------------------------------

    def let_go(self, feature: FeatureFolder) -> None:
        """Close what is open of a feature that is gone."""
        for _, session in self._noted():
            if session.folder.feature.path == feature.path:
                session.retire()

    def close_lost(self, session_id: str) -> None:
        """Close what is still open of it from before its worktree was gone: it would write to the same file."""
        self._close(lambda path, session: session.id == session_id and not os.path.lexists(path))

    def close_one(self, folder: SessionFolder) -> None:
        self._close(lambda path, _: path == folder.journal)

    def close_all_of(self, session_id: str) -> None:
        self._close(lambda _, session: session.id == session_id)

    def _close(self, concerned: Callable[[Path, Session], bool]) -> None:
        for path, session in self._noted():
            if concerned(path, session):
                with self._mutex:
                    self._open.pop(path, None)
                session.close()

    def _noted(self) -> list[tuple[Path, Session]]:
        with self._mutex:
            return list(self._open.items())

    def end(self) -> None:
        """No more are opened."""
        self.ended = True
        with self._mutex:
            doors = list(self._doors.values())
        for door in doors:  # those that are being opened
            with door:
                pass

    def close(self) -> None:
        for _, session in self._noted():
            session.close()
        self._open = {}
