"""One project that is watched: its checkouts and where they are in their history, the features in each, the folders
that matter."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dagentd.adapters import clock, git
from dagentd.adapters.git import Head
from dagentd.errors import DagentdError, NotAllowed
from dagentd.model.project import FeatureFolder, Tree
from dagentd.model.triggers import Place
from dagentd.store.layout import layout, watch_plan
from dagentd.store.spool import Spool
from dagentd.store.store import Store

_PAUSE = 1.0  # seconds without a commit after which a rebase has stopped, for a conflict or a long command


@dataclass
class Checkout:
    """One checkout as it was last surveyed."""

    features: list[FeatureFolder] = field(default_factory=list)
    places: dict[Path, Place] = field(default_factory=dict)
    sources: dict[Path, frozenset[Path]] = field(default_factory=dict)  # of contexts, by the folder of their feature
    head: Head | None = None


@dataclass
class Changes:
    """The features that came or went since the last survey."""

    new: list[FeatureFolder] = field(default_factory=list)
    gone: list[FeatureFolder] = field(default_factory=list)


class WatchedProject:
    def __init__(self, store: Store, watched: bool) -> None:
        self.store, self._watched = store, watched
        self._spool = Spool(store.project)
        self.checkouts: dict[Tree, Checkout] = {}
        self.rebasing: dict[Tree, float] = {}  # until when to wait for more commits

    def survey(self, trees: Collection[Tree] | None = None) -> Changes:
        """Find out anew what there is: in some checkouts, or in the whole project."""
        changes = Changes()
        there = layout.checkouts(self.store.project) if trees is None else list(filter(_is_there, trees))
        for gone in (self.checkouts.keys() if trees is None else set(trees)) - set(there):
            changes.gone += self.checkouts.pop(gone, Checkout()).features
        for each in there:
            self._survey(each, changes)
        return changes

    def _survey(self, tree: Tree, changes: Changes) -> None:
        known = self.checkouts.setdefault(tree, Checkout())
        features = layout.features(tree) if layout.is_tree(tree) else []
        changes.new += [each for each in features if each not in known.features]
        paths = {each.path for each in features}
        changes.gone += [each for each in known.features if each.path not in paths]
        known.features = features
        known.sources = {path: files for path, files in known.sources.items() if path in paths}
        if self._watched:
            own: Path | None = None
            with contextlib.suppress(NotAllowed):  # as the context says; the rest of the project is watched
                own = git.git_dir(tree.worktree)
            found = watch_plan.of_tree(tree, own, _all(known.sources))
            if tree.worktree == self.store.project.root:
                found |= watch_plan.of_agx(tree)
            # One that comes later is heard of by the folder it is in.
            known.places = {path: place for path, place in found.items() if path.is_dir()}

    def places(self) -> dict[Path, Place]:
        if not self._watched:
            return {}
        found = watch_plan.of_project(self.store.project)
        for each in self.checkouts.values():
            found |= each.places
        return found

    def worktrees(self) -> list[str]:
        """Whether or not there is a `.dagent` in them yet."""
        return [tree.name for tree in list(self.checkouts) if tree.worktree != self.store.project.root]

    def features(self, tree: Tree) -> list[FeatureFolder]:
        known = self.checkouts.get(tree)
        return known.features if known else []

    def made_from(self, feature: FeatureFolder, files: frozenset[Path]) -> bool:
        """The contexts of a feature are made from these files too; whether its checkout has others to be heard then."""
        known = self.checkouts.get(feature.tree)
        if known is None or feature not in known.features:
            return False
        if known.sources.get(feature.path, frozenset()) == files:
            return False
        before = _all(known.sources)
        known.sources[feature.path] = files
        return _all(known.sources) != before

    def moved(self, tree: Tree, unheard: float = 0.0, *, first: bool = False) -> Head | None:
        """Where HEAD is, if it is not where it was when this was last asked; None too where git cannot tell, as the
        context says. A rebase is one change, however many commits it makes; while they come in one stream, we hear of
        them only after up to `unheard` seconds. At the `first` look nothing is waited for: nothing has moved yet."""
        until = self.rebasing.pop(tree, None)  # first: one that cannot be looked at must not be due at once again
        known = self.checkouts.get(tree)
        if known is None:
            return None
        own = git.git_dir(tree.worktree)
        if not first and git.rebasing(tree.worktree, own) and (until is None or until > clock.monotonic()):
            self.rebasing[tree] = clock.monotonic() + _PAUSE + unheard
            return None
        before, known.head = known.head, None
        with contextlib.suppress(DagentdError):
            known.head = git.head(tree.worktree, own)
        return known.head if known.head != before else None

    def told(self) -> set[Tree]:
        """The checkouts that hooks left word of; all, if one could not tell which."""
        worktrees = {note.worktree for note in self._spool.take()}
        return {tree for tree in self.checkouts if None in worktrees or tree.worktree in worktrees}


def _all(sources: Mapping[Path, frozenset[Path]]) -> frozenset[Path]:
    return frozenset().union(*sources.values())


def _is_there(tree: Tree) -> bool:
    return tree.worktree.is_dir()
