"""Hears what happens to the files of the projects, and has done what that asks for."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from dagentd.adapters import clock
from dagentd.adapters.files import marks
from dagentd.adapters.watch import Watch
from dagentd.adapters.watch.batches import Batch
from dagentd.agx.agx_upkeep import AgxUpkeep
from dagentd.errors import DagentdError
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder, Tree
from dagentd.model.triggers import (
    OF_FEATURE,
    Agx,
    Collect,
    Look,
    Migrate,
    Moved,
    Place,
    Reconcile,
    Renew,
    RenewTree,
    Survey,
    Trigger,
    triggers_of,
)
from dagentd.serving.maintenance import Maintenance
from dagentd.serving.watched_project import WatchedProject
from dagentd.store.sessions.resources import Announce
from dagentd.store.store import Store

_AFTER_BUG = 1.0  # seconds: one that comes again and again must not fill the log

_log = logging.getLogger(__name__)


class Agents(Protocol):
    """The keeping of other agents' conversations, as far as it is heard of here."""

    folders: frozenset[Path]

    def hear(self, paths: Collection[Path]) -> None: ...

    def look_at_all(self) -> None: ...


class Watching:
    def __init__(
        self, maintenance: Maintenance, agx: AgxUpkeep, agents: Agents, announce: Announce, own: Collection[Path],
        on_own: Callable[[], None], on_bug: Callable[[BaseException], object],
    ) -> None:  # fmt: skip
        self._maintenance, self._agx, self._agents, self._announce = maintenance, agx, agents, announce
        self._own, self._on_own, self._on_bug = own, on_own, on_bug
        self._names = {path.name for path in own}
        self._lock = threading.RLock()
        self._watch: Watch | None = None
        self._projects: dict[Path, WatchedProject] = {}
        self._places: dict[Path, tuple[WatchedProject, Place]] = {}
        self._closing = threading.Event()

    @property
    def begun(self) -> bool:
        return self._watch is not None

    def start(self, watch: Watch) -> None:
        """Watch what was asked for before, and look at it: something may have changed before."""
        self._thread = threading.Thread(target=self._run, args=(watch,), name="watching", daemon=True)
        with self._lock:
            self._watch = watch
            self._thread.start()
            self._follow()

    def close(self) -> None:
        self._closing.set()
        if self._watch is not None:
            self._watch.close()
            self._thread.join()

    def check(self) -> None:
        """To be called every few seconds."""
        if self._watch is not None:
            self._watch.check()

    def pace(self, settle: float, ceiling: float) -> None:
        if self._watch is not None:
            self._watch.settle, self._watch.ceiling = settle, ceiling

    def status(self) -> dict[str, Any]:
        if self._watch is None:
            return {"mode": "starting", "count": 0, "polled": 0, "incidents": []}
        found = self._watch.status()
        happened = [vars(each) for each in found.incidents]
        return {"mode": found.mode, "count": found.native, "polled": found.polled, "incidents": happened}

    def problems(self) -> list[Problem]:
        return list(self._watch.status().problems) if self._watch is not None else []

    def worktrees(self, store: Store) -> list[str]:
        """The names of those that have a tree, as last surveyed."""
        project = self._projects.get(store.project.root)
        return project.worktrees() if project else []

    # --- projects -----------------------------------------------------------------------------------------

    def take_up(self, store: Store, watched: bool) -> None:
        """A project that is served from now on. It is surveyed later: with hundreds of worktrees that takes long."""
        with self._lock:
            project = self._projects[store.project.root] = WatchedProject(store, watched)
        self._maintenance.survey(store, partial(self._begin, project))

    def _begin(self, project: WatchedProject) -> None:
        with self._lock:
            if self._projects.get(project.store.project.root) is project:
                self._survey(project, {None})
                for tree in project.checkouts:
                    with contextlib.suppress(DagentdError):  # as the context says
                        project.moved(tree, first=True)
                self._maintenance.clear_out(project.store)
                self._agx.look(project.store)

    def drop(self, store: Store) -> None:
        with self._lock:
            self._projects.pop(store.project.root, None)
            self._agx.drop(store)
            self._follow()

    def look_at_all(self) -> None:
        """Find whatever was not heard of."""
        with self._lock:
            for project in list(self._projects.values()):
                self.look_at(project.store)
        self._agents.look_at_all()

    def look_at(self, store: Store) -> None:
        """At one project: something of it is no longer paused."""
        with self._lock:
            project = self._projects.get(store.project.root)
            if project is not None and project.store is store:
                self._perform(project, _everything(project))
                self._maintenance.clear_out(store)

    def follow_more(self) -> None:
        """AGX's own folder came to be, or one of another agent."""
        with self._lock:
            self._follow()

    def made_from(self, store: Store, feature: FeatureFolder, files: frozenset[Path]) -> None:
        """Watch what the contexts of a feature are made from elsewhere too: what a CLAUDE.md imports, and such."""
        with self._lock:
            project = self._projects.get(store.project.root)
            if project is not None and project.made_from(feature, files):
                self._survey(project, {feature.tree})

    # --- hearing ------------------------------------------------------------------------------------------

    def _run(self, watch: Watch) -> None:
        while not self._closing.is_set():
            try:
                with self._lock:  # and to listen only until a rebase may have stopped
                    due = min((at for each in self._projects.values() for at in each.rebasing.values()), default=None)
                batch = watch.batch(None if due is None else max(0.0, due - clock.monotonic()))
                with self._lock:
                    self._handle(batch)
            except Exception as bug:  # a thread that ended would hear nothing more
                self._on_bug(bug)
                self._closing.wait(_AFTER_BUG)

    def _handle(self, batch: Batch | None) -> None:
        if batch is not None and batch.early:
            self._glance(batch)
        elif batch is not None:
            asks: dict[WatchedProject, set[Trigger]] = {}
            for project, ask in self._asks(batch):
                asks.setdefault(project, set()).add(ask)
            for project, some in asks.items():
                self._perform(project, some)
        now = clock.monotonic()
        for project in list(self._projects.values()):
            stopped: set[Trigger] = {Moved(tree) for tree, due in project.rebasing.items() if due <= now}
            if stopped:
                self._perform(project, stopped)

    def _glance(self, batch: Batch) -> None:
        """At chats that were written just now; whatever else follows from it waits until they have settled."""
        for path in batch.paths:
            for project, ask in self._asks_of(path):
                if isinstance(ask, Look) and _is_about_something(project, ask):
                    self._maintenance.glance(project.store, ask.feature, ask.session_id, batch.contents.get(path, []))

    def _asks(self, batch: Batch) -> Iterator[tuple[WatchedProject, Trigger]]:
        agents = self._agents.folders
        if batch.lost or not agents.isdisjoint(batch.folders):
            self._agents.look_at_all()
        if said := [path for path in batch.paths if path.parent in agents]:
            self._agents.hear(said)
        if batch.lost:
            yield from ((each, ask) for each in self._projects.values() for ask in _everything(each))
        for folder in batch.folders & self._places.keys():
            project, place = self._places[folder]
            yield from ((project, ask) for ask in place.all)
        for path in batch.paths:
            if path.name in self._names:  # the registry, your settings or those of a project
                self._on_own()
            elif path in self._agx.files and not marks.is_own(path):
                self._agx.check_soon()
            elif not marks.is_own(path):
                yield from self._asks_of(path)

    def _asks_of(self, path: Path) -> Iterator[tuple[WatchedProject, Trigger]]:
        if path.parent in self._places:
            project, place = self._places[path.parent]
            is_folder = path in self._places or os.path.isdir(path)  # Path.is_dir raises where stat is refused
            some = triggers_of(place, path.name, folder=is_folder, gone=not os.path.lexists(path))
            yield from ((project, ask) for ask in some)

    # --- acting -------------------------------------------------------------------------------------------

    def _perform(self, project: WatchedProject, asks: set[Trigger]) -> None:
        """Do what is asked; a failure leaves other projects, and all of this one is looked at again until it succeeds:
        a worktree that came when there was no descriptor to list it was not watched until something else happened."""
        try:
            self._do(project, asks)
        except (DagentdError, OSError) as error:
            _log.warning("%s: %s", project.store.project.root, error)
            self._maintenance.survey(project.store, partial(self._look_again, project))
        except Exception as bug:
            self._on_bug(bug)

    def _look_again(self, project: WatchedProject) -> None:
        with self._lock:
            if self._projects.get(project.store.project.root) is project:
                self._do(project, _everything(project))

    def _do(self, project: WatchedProject, asks: set[Trigger]) -> None:
        """Surveys first: the rest is about what is there now, under the id that it has now."""
        if surveys := {ask.tree for ask in asks if isinstance(ask, Survey)}:
            self._survey(project, surveys)
        asks = {ask for ask in asks if _is_about_something(project, ask)}
        whole = {ask.feature for ask in asks if isinstance(ask, Reconcile)}
        for feature in whole:
            self._maintenance.reconcile(project.store, feature)
        for feature in {ask.feature for ask in asks if isinstance(ask, Migrate)} - whole:
            self._maintenance.migrate(project.store, feature)
        for ask in asks:
            if isinstance(ask, Look) and ask.feature not in whole:
                self._maintenance.look(project.store, ask.feature, ask.session_id)
        sources = {ask.feature for ask in asks if isinstance(ask, Renew)}
        sources |= {each for ask in asks if isinstance(ask, RenewTree) for each in project.features(ask.tree)}
        for feature in sources - whole:
            self._maintenance.renew(project.store, feature)
        moved = {ask.tree for ask in asks if isinstance(ask, Moved)}  # as git's folders say, and its hooks
        for tree in moved | (project.told() if Collect() in asks else set()):
            self._head(project, tree)
        if Agx() in asks:
            self._agx.look(project.store)

    def _survey(self, project: WatchedProject, trees: set[Tree | None]) -> None:
        changes = project.survey(None if None in trees else {tree for tree in trees if tree is not None})
        self._follow()
        if None in trees:
            project.store.reconciler.look_around()
        for feature in changes.gone:
            self._maintenance.forget(project.store, feature)
        for feature in changes.new:
            self._maintenance.reconcile(project.store, feature)

    def _follow(self) -> None:
        found = {
            path: (project, place) for project in self._projects.values() for path, place in project.places().items()
        }
        self._places = found
        if self._watch is not None:
            own = [path.parent for path in self._own if path.parent.is_dir()]
            self._watch.follow([*own, *self._agx.folders(), *self._agents.folders, *found])

    def _head(self, project: WatchedProject, tree: Tree) -> None:
        """Only contexts follow from another HEAD: what else came with it is heard of by its files."""
        head = None
        with contextlib.suppress(DagentdError):  # as the context says; what else was heard is done all the same
            head = project.moved(tree, self._watch.ceiling if self._watch is not None else 0.0)
        if head is None:
            return
        where = {"worktree": str(tree.worktree), "branch": head.branch, "commit": head.commit}
        features = project.features(tree)
        only = features[0].id if len(features) == 1 else None
        self._announce("git:changed", project=str(project.store.project.root), feature_id=only, **where)
        for feature in features:
            self._maintenance.renew_contexts(project.store, feature)
        if tree.worktree == project.store.project.root:
            self._agx.look(project.store)


def _everything(project: WatchedProject) -> set[Trigger]:
    features = {Reconcile(feature) for each in project.checkouts.values() for feature in each.features}
    return {Survey(), Collect(), Agx(), *features, *map(Moved, project.checkouts)}


def _is_about_something(project: WatchedProject, ask: Trigger) -> bool:
    return not isinstance(ask, OF_FEATURE) or ask.feature in project.features(ask.feature.tree)
