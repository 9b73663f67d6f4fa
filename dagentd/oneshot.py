"""The service of one project for as long as a command lasts: the same jobs under the same locks as in the daemon."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd import paths
from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.errors import Conflict, DagentdError, NotFound, NotRunning
from dagentd.events import Events
from dagentd.jobs import pausing
from dagentd.model.compaction import How
from dagentd.model.problem import Problem
from dagentd.model.project import Project, Registered, SessionFolder
from dagentd.model.report import Report
from dagentd.settings import Settings
from dagentd.store.journal.index import Index
from dagentd.store.ledger import ledger
from dagentd.store.registry import Registry
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store

if TYPE_CHECKING:
    from dagentd.agents.followed import Followed
    from dagentd.agents.opening import Openings
    from dagentd.agents.resumable import Resumable
    from dagentd.agx.agx import Agx
    from dagentd.jobs.compaction import Compactor, Proposal
    from dagentd.jobs.migration import File

LOCK_WAIT = 5.0  # seconds that a command waits for a busy project


class OneShot:
    """Stands for the daemon where none serves the project: what that does in turns and later is done here at once.
    Without a store it serves what concerns no project."""

    def __init__(self, settings: Settings, store: Store | None, events: Events) -> None:
        self._settings, self._store, self.events = settings, store, events
        self.compacting = OneShotCompaction(settings)
        self.pausing = pausing

    def settings_of(self, project: Project) -> Settings:
        return self._settings

    def stores(self) -> list[Store]:
        return [] if self._store is None else [self._store]

    def scan(self, store: Store) -> Report:
        """Do everything that is due."""
        from dagentd.jobs import due

        report = due.in_project(store, self._settings)
        if store.pauses.of_project() is not None:
            return report
        return Report(report.lines, [*report.problems, *_agx_once(store.project, self._settings), *self._take_in()])

    def _take_in(self) -> list[Problem]:
        """Take in what other agents have said."""
        from dagentd.agents.intake import take_everything

        with disk.explained(paths.agents_dir()):
            disk.make_folders(paths.agents_dir())
        errors = take_everything(self.followed.following, self.followed.reading, lambda progress: None)
        self.followed.tidy()
        return [Problem.of("agents-transcript", error, clock.stamp()) for error in errors]

    def give_context(self, store: Store, folder: SessionFolder) -> None:
        with contextlib.suppress(DagentdError):  # of a context that cannot be made `context --rebuild` tells
            self.rebuild_context(store, folder)

    def freshen_context(self, store: Store, folder: SessionFolder) -> None:
        if not (folder.gone or store.read_only or store.pauses.on(folder.id)):
            self.give_context(store, folder)

    def rebuild_context(self, store: Store, folder: SessionFolder) -> dict[str, Any] | None:
        from dagentd.jobs import context

        return context.rebuild_one(store, folder, self._settings, context.Checkouts())

    def migrate(self, store: Store, under: Path | None) -> list[File]:
        """Migrate all features. Sessions that came to their end long ago are archived at once, as the daemon does."""
        from dagentd.jobs import archive, migration

        found = []
        for feature in store.catalogue.features():
            files = migration.run(store, feature, self._settings, under)
            if any(file.action in migration.DUE for file in files):
                archive.archive_ended(store, feature, self._settings)
            found += files
        return found

    def roll_back(self, store: Store, under: Path | None) -> list[File]:
        from dagentd.jobs import migration

        return [file for each in store.catalogue.features() for file in migration.rollback(store, each, under)]

    @cached_property
    def agx(self) -> Agx:
        return agx_jobs(*(store.project.root for store in self.stores()))

    @cached_property
    def followed(self) -> Followed:
        """The conversations that are kept; nothing more is taken in but by `scan`."""
        from dagentd.agents.followed import Followed

        registered = Registry(paths.registry_file()).projects()
        given = [Registered(str(store.project.root), store.project, "") for store in self.stores()]
        roots = {each.project.root for each in registered}
        known = [*registered, *(each for each in given if each.project.root not in roots)]
        return Followed(paths.state_dir(), lambda: self._settings.agents, lambda: known,
                        lambda: self._settings.compaction.checkpoint_tokens)  # fmt: skip

    @property
    def openings(self) -> Openings:
        from dagentd.agents.opening import Openings

        return Openings(self.followed)

    def close(self) -> None:
        if "followed" in self.__dict__:
            self.followed.close()

    def status(self) -> dict[str, Any]:
        raise _nobody()

    def shut_down(self) -> None:
        raise _nobody()


class OneShotCompaction:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._proposals: dict[str, Proposal] = {}

    @cached_property
    def compactor(self) -> Compactor:
        from dagentd.jobs.compaction import Compactor

        return Compactor(ledger(paths.ledger_file()))

    def compact(self, store: Store, folder: SessionFolder, proposal_id: str | None, again: bool) -> dict[str, Any]:
        with store.sessions.use(folder) as session:
            if proposal_id is None:
                return self.compactor.compact(session, self._settings, How(forced=True, again=again))
            if proposal_id not in self._proposals:
                raise NotFound(f"no proposal {proposal_id!a}", hint=f"dagentd compact {folder.id} --preview")
            return self.compactor.apply(session, self._proposals[proposal_id])

    def preview(self, store: Store, folder: SessionFolder) -> Proposal | None:
        with store.sessions.use(folder) as session:
            found = self.compactor.propose(session, self._settings, How(forced=True))
        if found is not None:
            self._proposals[found.id] = found
        return found

    def undo(self, session: Session) -> dict[str, Any]:
        return self.compactor.undo(session)

    def pin(self, store: Store, session: Session, *, pinned: bool, item: str | None = None,
            message: str | None = None) -> None:  # fmt: skip
        session.pin(item=item, message=message, pinned=pinned)

    def make_room(self, store: Store, session: Session, prompt: str) -> None:
        """If it is due: nobody comes later who could."""
        if not store.read_only and self.compactor.scales.fullness(session, self._settings).due:
            with contextlib.suppress(Conflict):
                self.compactor.compact(session, self._settings, How())

    def under_way(self) -> list[dict[str, str]]:
        return []


def once(project: Project, settings: Settings) -> Report:
    """Do everything that is due in one project."""
    with service(project, settings, writes=True) as one:
        return one.scan(*one.stores())


@contextlib.contextmanager
def service(project: Project | None, settings: Settings, *, writes: bool) -> Iterator[OneShot]:
    """With the project's lock held if something is written, and what is behind written before it is let go. Who only
    reads takes no lock and writes nothing, so that works in a read-only folder too."""
    events = Events(clock.stamp, _raise)
    with contextlib.ExitStack() as stack:
        store = None
        if project is not None:
            store = stack.enter_context(writing(project, settings, events) if writes else reading(project))
        yield stack.enter_context(contextlib.closing(OneShot(settings, store, events)))


@contextlib.contextmanager
def writing(project: Project, settings: Settings, events: Events | None = None) -> Iterator[Store]:
    """The project's store with its lock held; what is behind is written before it is let go."""
    announce = (events or Events(clock.stamp, _raise)).publish
    with _indexed(index_file()) as index:
        store = Store(project, index, settle=settings.watch.settle_ms / 1000, wait=LOCK_WAIT, announce=announce)
        with contextlib.closing(store):
            yield store


@contextlib.contextmanager
def reading(project: Project) -> Iterator[Store]:
    """The project's sessions as they are on disk. Nothing is written and no lock is taken, so this works beside a
    daemon and in a read-only folder."""
    with _indexed(None) as index, contextlib.closing(Store(project, index, read_only=True)) as store:
        yield store


def _indexed(path: Path | None) -> contextlib.closing[Index]:
    return contextlib.closing(Index(path))


def index_file() -> Path | None:
    """None, and so an index in memory, where the state folder cannot be made: it is only a cache."""
    try:
        with disk.explained(paths.state_dir()):
            disk.make_folders(paths.state_dir())
    except DagentdError:
        return None
    return paths.index_file()


# --- AGX ------------------------------------------------------------------------------------------------------------


def agx_jobs(*roots: Path) -> Agx:
    """AGX of the registered projects and of these."""
    from dagentd import settings as loading
    from dagentd.agx.agx import Agx

    given = loading.load(paths.config_file())
    registered = {each.project.root for each in Registry(paths.registry_file()).projects()}

    def conversations() -> Resumable:
        from dagentd.agents.resumable import Resumable

        return Resumable(lambda: given.agents.ignore_paths)

    return Agx(lambda: given.agx, lambda: sorted({*registered, *roots}), conversations)


def _agx_once(project: Project, settings: Settings) -> list[Problem]:
    """Do what is due in AGX, and say what was wrong."""
    if not settings.agx.enabled or not os.path.lexists(project.root / ".agx"):
        return []
    agx = agx_jobs(project.root)
    errors = []
    for act in (agx.settle, agx.check, lambda root: agx.check_all()):
        try:
            act(project.root)
        except DagentdError as error:
            errors.append(error)
    return [Problem.of("agx", error, clock.stamp()) for error in (*errors, *agx.problems())]


def _nobody() -> NotRunning:
    return NotRunning("no daemon runs", hint="dagentd start")


def _raise(bug: BaseException) -> None:
    raise bug
