"""The service that methods act on: the open projects, and who asked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dagentd.errors import Conflict, NotFound
from dagentd.model import jsontext
from dagentd.rpc.protocol import MAX_LINE

if TYPE_CHECKING:  # a command that reads goes without the parts that write
    from dagentd.agents.followed import Followed
    from dagentd.agx.agx import Agx
    from dagentd.events import Deliver, Events
    from dagentd.jobs.compaction import Compactor
    from dagentd.jobs.compaction.proposal import Proposal
    from dagentd.jobs.migration.sources import File
    from dagentd.model.project import Project, SessionFolder
    from dagentd.model.report import Report
    from dagentd.rpc.params import OfSession
    from dagentd.settings import Settings
    from dagentd.store.sessions.session import Session
    from dagentd.store.store import Store

_ROOM = MAX_LINE - 4096  # for a list in an answer: the rest of the line is less


class Compacting(Protocol):
    """The part of compaction that a method may use."""

    def compact(self, store: Store, folder: SessionFolder, proposal_id: str | None, again: bool) -> dict[str, Any]: ...

    def preview(self, store: Store, folder: SessionFolder) -> Proposal | None: ...

    def undo(self, session: Session) -> dict[str, Any]: ...

    def pin(
        self, store: Store, session: Session, *, pinned: bool, item: str | None = None, message: str | None = None
    ) -> None: ...

    @property
    def compactor(self) -> Compactor: ...

    def make_room(self, store: Store, session: Session, prompt: str) -> None: ...

    def under_way(self) -> list[dict[str, str]]: ...


class Pausing(Protocol):
    """The part of pauses that a method may use: of a session, or without one of a whole project."""

    def pause(self, store: Store, session_id: str | None, seconds: float | None) -> dict[str, Any]: ...

    def resume(self, store: Store, session_id: str | None) -> dict[str, Any]: ...


class Openings(Protocol):
    """The text that agents are told when they begin, as a method may ask for it."""

    def text(
        self, agent: str, uuid: str, source: str, cwd: Path, transcript: Path | None, stores: list[Store],
        settings_of: Callable[[Project], Settings],
    ) -> str: ...  # fmt: skip


class Service(Protocol):
    """The part of the daemon that a method may use."""

    events: Events

    def settings_of(self, project: Project) -> Settings: ...

    def stores(self) -> list[Store]: ...

    def scan(self, store: Store) -> Report:
        """Look at the whole project now."""

    def give_context(self, store: Store, folder: SessionFolder) -> None:
        """Bring the context of a session up to date soon; that of a new one now, if it does not take long."""

    def freshen_context(self, store: Store, folder: SessionFolder) -> None:
        """Bring the context of a session up to date now, if what it is made from has changed."""

    def rebuild_context(self, store: Store, folder: SessionFolder) -> dict[str, Any] | None: ...

    def migrate(self, store: Store, under: Path | None) -> list[File]:
        """Make sessions of files of older formats now: of all, or of those under a path."""

    def roll_back(self, store: Store, under: Path | None) -> list[File]:
        """Take migrations back."""

    @property
    def agx(self) -> Agx: ...

    @property
    def followed(self) -> Followed:
        """The conversations of other agents."""

    @property
    def openings(self) -> Openings: ...

    @property
    def compacting(self) -> Compacting: ...

    @property
    def pausing(self) -> Pausing: ...

    def status(self) -> dict[str, Any]: ...

    def shut_down(self) -> None: ...


@dataclass
class Caller:
    """One connection, as its methods see it."""

    service: Service
    deliver: Deliver
    subscriptions: set[str] = field(default_factory=set)

    @contextlib.contextmanager
    def session(self, given: OfSession) -> Iterator[tuple[Store, Session]]:
        """The one that is meant, kept open for as long as it is used."""
        where = (given.session_id, given.worktree, given.feature_id)
        store = store_of(self.service, given.project, *where)
        try:
            session = store.sessions.take(*where)
        except NotFound:  # the project was opened anew in this moment, for writing or for reading only
            store, before = store_of(self.service, given.project, *where), store
            if store is before:
                raise
            session = store.sessions.take(*where)
        try:
            yield store, session
        finally:
            store.sessions.give_back(session)


def path_in(store: Store, path: str | None) -> Path | None:
    """A path in a project, its links followed."""
    if path is None:
        return None
    found = _real(path)
    if found is None or not found.is_relative_to(store.project.root):
        raise NotFound(f"{path!a} is not in {store.project.root}", hint="Give an absolute path in the project.")
    return found


def store_at(service: Service, project: str) -> Store:
    """The project that a path lies in, the innermost if one is inside another."""
    path = _real(project)
    found = [store for store in service.stores() if path is not None and path.is_relative_to(store.project.root)]
    if not found:
        raise NotFound(f"no project at {project!a}", hint="dagentd projects; add it with `dagentd init`.")
    return max(found, key=lambda store: len(store.project.root.parts))


def _real(path: str) -> Path | None:
    """Its links followed, as those of a project's root were; None if it cannot be a path of a file."""
    try:
        return Path(os.path.realpath(path)) if os.path.isabs(path) else None
    except (ValueError, OSError):
        return None


def store_of(
    service: Service, project: str | None, session_id: str, worktree: str | None = None, feature_id: str | None = None
) -> Store:
    """The project that is named, else the only one that has the session, or had it before its worktree was gone."""
    if project is not None:
        return store_at(service, project)
    stores = service.stores()
    found = (
        stores
        if len(stores) == 1
        else [each for each in stores if each.catalogue.has(session_id, worktree, feature_id)]
    )
    found = found or [each for each in stores if each.catalogue.gone(session_id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(f"no session {session_id!a}", hint="dagentd sessions")
    roots = ", ".join(str(each.project.root) for each in found)
    raise Conflict(f"{session_id} is in several projects: {roots}", hint="Name one with `project`.")


def fitting(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many of the last messages as one line can carry."""
    room, start = _ROOM, len(messages)
    while start and (room := room - len(jsontext.encode(messages[start - 1])) - 2) >= 0:
        start -= 1
    return messages[start:]
