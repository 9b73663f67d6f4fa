"""Maintenance of the projects' features, each job in its feature's turn. The jobs load with the first of them: all
together take 80 ms, and a start does not wait for that."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dagentd.errors import DagentdError, NotFound
from dagentd.model.problem import Problem, still_wrong
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.model.report import Report
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.store import Store
from dagentd.worker import Worker

if TYPE_CHECKING:
    from dagentd.jobs.context import Checkouts
    from dagentd.jobs.due import Done
    from dagentd.jobs.migration import File, Seen

_MOMENT = 0.5  # seconds that whoever makes a session waits for its context
_FRESH = 5.0  # seconds that whoever uses a context waits for what has changed
_log = logging.getLogger(__name__)


class Sources(Protocol):
    def made_from(self, store: Store, feature: FeatureFolder, files: frozenset[Path]) -> None:
        """The contexts of a feature are made from these files, beside those that are watched anyway."""


class Budgets(Protocol):
    def weigh_some(self, store: Store, folders: Iterable[SessionFolder]) -> None:
        """Of these something was looked at or written anew."""


@dataclass
class _Kept:
    """The state of a project that is kept up, and who is told of it."""

    sources: Sources | None = None
    budgets: Budgets | None = None
    features: set[str] = field(default_factory=set)
    problems: dict[tuple[Path, str], list[Problem]] = field(default_factory=dict)  # by feature, and what they are of


class Maintenance:
    def __init__(self, worker: Worker, settings_of: Callable[[Path], Settings]) -> None:
        self._worker, self._settings_of = worker, settings_of
        self._lock = threading.Lock()
        self._kept: dict[Store, _Kept] = {}
        self._glances: dict[tuple[Path, str], list[bytes]] = {}  # what chats held that are about to be looked at

    @cached_property
    def _shared(self) -> Checkouts:
        from dagentd.jobs.context import Checkouts

        return Checkouts()

    @cached_property
    def _seen(self) -> Seen:
        from dagentd.jobs.migration import Seen

        return Seen()

    # --- projects -----------------------------------------------------------------------------------------

    def take_up(self, store: Store, sources: Sources | None = None, budgets: Budgets | None = None) -> None:
        self._kept[store] = _Kept(sources, budgets)

    def survey(self, store: Store, job: Callable[[], None]) -> None:
        """In the turn of the project: before anything is done for its features, and again while it fails."""
        key = str(store.project.root)
        with self._lock:
            if store not in self._kept:
                return
            self._kept[store].features.add(key)
        self._worker.submit(key, "survey", job)

    def clear_out(self, store: Store) -> None:
        """Remove the sessions of worktrees that have been gone for long enough."""
        days = self._settings_of(store.project.root).archive.keep_days
        self._worker.submit(str(store.project.root), "clear out", partial(_clear_out, store, days))

    def release(self, store: Store) -> Callable[[float], bool]:
        """Nothing more is begun for this project. What is returned waits until nothing runs, for so many seconds."""
        with self._lock:
            keys = self._kept.pop(store, _Kept()).features
        for key in keys:
            self._worker.forget(key)
        return partial(self._worker.finished, keys)

    def problems(self) -> list[Problem]:
        return [each for kept in list(self._kept.values()) for some in list(kept.problems.values()) for each in some]

    # --- features -----------------------------------------------------------------------------------------

    def reconcile(self, store: Store, feature: FeatureFolder) -> None:
        """Look at every session of it that is not as we left it, and renew the contexts."""

        def insist() -> None:
            """Where there was no room for some of it, it fails and is done again: nobody tells us when there is."""
            self._all(store, feature, everything=False)
            if (shortage := store.noted.shortage(feature.path)) is not None:
                raise shortage

        self._worker.submit(self._key(store, feature), "reconcile", insist)

    def migrate(self, store: Store, feature: FeatureFolder) -> None:
        """Make sessions of files of older formats that are new or have changed."""
        self.submit(store, feature, "migrate", partial(self._migrate, store, feature))

    def look(self, store: Store, feature: FeatureFolder, session_id: str) -> None:
        """Take in what another program wrote to a session."""
        self.submit(store, feature, f"look {session_id}", partial(self._look, store, feature, session_id))

    def glance(self, store: Store, feature: FeatureFolder, session_id: str, held: list[bytes]) -> None:
        """Take in what another program has just added to a chat, in a turn of its own and before all that nobody waits
        for. `held` is what was in it when that was heard. The look that follows tells what goes wrong."""
        with contextlib.suppress(DagentdError):
            key = self._key(store, feature, "glance")
            with self._lock:
                self._glances.setdefault((feature.path, session_id), []).extend(held)
            self._worker.ask(key, f"glance {session_id}", partial(self._glance, store, feature, session_id))

    def _glance(self, store: Store, feature: FeatureFolder, session_id: str) -> None:
        with self._lock:
            held = self._glances.pop((feature.path, session_id), [])
        store.glance(feature, session_id, held)

    def renew(self, store: Store, feature: FeatureFolder) -> None:
        """Bring the contexts of its sessions up to date, and archive what has come to its end."""
        self.submit(store, feature, "renew", partial(self._renew, store, feature))

    def renew_contexts(self, store: Store, feature: FeatureFolder) -> None:
        """The first of these alone."""
        self.submit(store, feature, "renew contexts", partial(self._renew_contexts, store, feature))

    def forget(self, store: Store, feature: FeatureFolder) -> None:
        """It is gone, and with it what was wrong with it."""
        self._worker.forget(str(feature.path))
        self._shared.forget(feature.tree.worktree)
        with self._lock:
            if (kept := self._kept.get(store)) is not None:
                kept.problems = {key: each for key, each in kept.problems.items() if key[0] != feature.path}
        self._seen.forget(feature)
        store.let_go(feature)

    # --- for somebody who waits ---------------------------------------------------------------------------

    def give_context(self, store: Store, folder: SessionFolder) -> None:
        """Renew it; who makes a session hears of it when it has one, because a file that appears in a worktree that is
        removed at once makes git fail. The first of all waits for no vocabulary: that takes a second to load."""
        self.renew(store, folder.feature)
        if not folder.document("context").exists():
            with contextlib.suppress(TimeoutError, DagentdError):
                self._renewed(store, folder).result(_MOMENT)

    def freshen(self, store: Store, folder: SessionFolder) -> None:
        """For somebody who is about to use a context: it is made again if what it is made from has changed, whether we
        have heard of that or not. Who waits too long is served what there is."""
        from dagentd.jobs import context

        if folder.gone or store.read_only or store.pauses.on(folder.id):
            return
        if not context.is_current(store, folder, self._settings_of(store.project.root), self._shared):
            job = partial(self._renew, store, folder.feature)
            with contextlib.suppress(TimeoutError, DagentdError):
                self._worker.ask(self._key(store, folder.feature), "freshen", job).result(_FRESH)

    def _renewed(self, store: Store, folder: SessionFolder) -> Future[object]:
        """A new session gets its context also where nothing is done by itself."""
        key = self._key(store, folder.feature)
        if not store.pauses.on(folder.id):
            return self._worker.ask(key, "after renewing", lambda: None)
        from dagentd.jobs import context

        job = partial(context.rebuild_now, store, folder, self._settings_of(store.project.root), self._shared)
        return self._worker.ask(key, f"rebuild {folder.id}", job)

    def scan(self, store: Store) -> Report:
        """Look at the whole project now, and say what was done."""
        from dagentd.jobs import due

        store.reconciler.look_around()

        def look(feature: FeatureFolder, done: list[Done]) -> Done:
            """Again where some of it had to wait."""
            done.append(self._all(store, feature, everything=True))
            return due.together(done)

        asked = [
            self._worker.ask(self._key(store, each), "scan", partial(look, each, []))
            for each in store.catalogue.features()
        ]
        return due.report(store, [answer.result() for answer in asked])

    def rebuild(self, store: Store, folder: SessionFolder) -> dict[str, Any] | None:
        """The context of a session, made anew now."""
        from dagentd.jobs import context

        def in_turn(job: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
            return self._worker.ask(self._key(store, folder.feature), f"rebuild {folder.id}", job).result()

        return context.rebuild_one(store, folder, self._settings_of(store.project.root), self._shared, in_turn)

    def migrate_now(self, store: Store, under: Path | None) -> list[File]:
        """Also what is not done by itself: what was taken back before."""
        from dagentd.jobs import migration

        settings = self._settings_of(store.project.root)
        return self._in_each(store, f"migrate {under}", lambda each: migration.running(store, each, settings, under))

    def roll_back(self, store: Store, under: Path | None) -> list[File]:
        """Take migrations back."""
        from dagentd.jobs import migration

        def of(each: FeatureFolder) -> Callable[[], list[File]]:
            return partial(migration.rollback, store, each, under)

        return self._in_each(store, f"roll back {under}", of)

    def _in_each(self, store: Store, name: str, of: Callable[[FeatureFolder], Callable[[], list[File]]]) -> list[File]:
        """In the turn of each feature, the job that `of` gives for it; what follows from it is done soon."""
        features = store.catalogue.features()
        asked = [self._worker.ask(self._key(store, each), name, of(each)) for each in features]
        found = [answer.result() for answer in asked]
        for feature, files in zip(features, found, strict=True):
            if files:
                self._seen.forget(feature)
                self.reconcile(store, feature)
        return [file for files in found for file in files]

    # --- jobs ---------------------------------------------------------------------------------------------

    def submit(
        self, store: Store, feature: FeatureFolder, name: str, job: Callable[[], object], after: float = 0.0
    ) -> None:
        """In the turn of the feature, `after` so many seconds."""

        def insist() -> None:
            job()
            if store.noted.shortage(feature.path) is not None:
                self.reconcile(store, feature)

        self._worker.submit(self._key(store, feature), name, insist, after)

    def _key(self, store: Store, feature: FeatureFolder, turn: str = "") -> str:
        key = f"{feature.path}\0{turn}" if turn else str(feature.path)
        with self._lock:
            if store not in self._kept:
                raise NotFound(f"{store.project.root} is no longer served", hint="dagentd projects")
            self._kept[store].features.add(key)
        return key

    def _all(self, store: Store, feature: FeatureFolder, everything: bool) -> Done:
        from dagentd.jobs import due

        settings = self._settings_of(store.project.root)
        done = due.all_of(store, feature, settings, self._shared, self._seen, everything=everything)
        self._done(store, feature, done)
        return done

    def _migrate(self, store: Store, feature: FeatureFolder) -> None:
        from dagentd.jobs import due

        settings = self._settings_of(store.project.root)
        done = due.migrations_of(store, feature, settings, self._shared, self._seen)
        if done.lines:
            self._done(store, feature, done)
        elif done.files is not None:
            self._note_files(store, feature, done.files)

    def _look(self, store: Store, feature: FeatureFolder, session_id: str) -> None:
        if store.reconciler.look(feature, session_id):
            self._renew(store, feature)

    def _renew(self, store: Store, feature: FeatureFolder) -> None:
        from dagentd.jobs import due

        self._done(store, feature, due.renewal_of(store, feature, self._settings_of(store.project.root), self._shared))

    def _renew_contexts(self, store: Store, feature: FeatureFolder) -> None:
        from dagentd.jobs import context

        rebuilt = context.rebuild(store, feature, self._settings_of(store.project.root), self._shared)
        for folder in rebuilt.written:
            _log.info("%s: %s: context written", store.project.root, folder.id)
        self._renewed_contexts(store, feature, rebuilt.problems(), rebuilt.sources, rebuilt.written)

    def _done(self, store: Store, feature: FeatureFolder, done: Done) -> None:
        if done.files is not None:
            self._note_files(store, feature, done.files)
        for line in done.lines:
            if line.done:
                _log.info("%s: %s: %s", store.project.root, line.session_id, line.done)
        ids = {line.session_id for line in done.lines}
        folders = [folder for folder in layout.sessions(feature) if folder.id in ids] if ids else []
        self._renewed_contexts(store, feature, done.problems, done.sources, folders)

    def _renewed_contexts(
        self, store: Store, feature: FeatureFolder, problems: list[Problem], sources: frozenset[Path],
        changed: Collection[SessionFolder],
    ) -> None:  # fmt: skip
        """Contexts that must wait are made when they are due: a wait holds up no thread, nor other jobs of the
        feature."""
        self._note(store, (feature.path, "contexts"), problems)
        if (seconds := store.contexts.due(feature.path)) is not None:
            with contextlib.suppress(DagentdError):  # the project is not served any more, or too much waits
                self.submit(store, feature, "renew later", partial(self._renew, store, feature), seconds)
        kept = self._kept.get(store)
        if kept is not None and kept.sources is not None:
            kept.sources.made_from(store, feature, sources)
        if kept is not None and kept.budgets is not None and changed:
            kept.budgets.weigh_some(store, changed)

    def _note_files(self, store: Store, feature: FeatureFolder, files: list[File]) -> None:
        from dagentd.jobs import migration

        self._note(store, (feature.path, "files"), migration.problems(files))

    def _note(self, store: Store, key: tuple[Path, str], problems: list[Problem]) -> None:
        with self._lock:
            if (kept := self._kept.get(store)) is None:
                return
            if problems:
                kept.problems[key] = still_wrong(kept.problems.get(key, []), problems)
            else:
                kept.problems.pop(key, None)


def _clear_out(store: Store, keep_days: int) -> None:
    from dagentd.jobs import retention

    if not store.read_only and not store.pauses.of_project():
        retention.remove_expired(store, keep_days)
