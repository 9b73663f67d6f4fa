"""What is known of one project that is watched: its checkouts, the features in each, the folders that matter."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dagentd.adapters.git import repository
from dagentd.adapters.git.repository import Head
from dagentd.errors import DagentdError
from dagentd.model.change import Place
from dagentd.model.project import FeatureFolder, Tree
from dagentd.store import layout, places
from dagentd.store.spool import Spool
from dagentd.store.store import Store


@dataclass
class Checkout:
    """One checkout as it was last surveyed."""

    is_tree: bool = False  # there is a .dagent in it
    features: list[FeatureFolder] = field(default_factory=list)
    places: dict[Path, Place] = field(default_factory=dict)
    sources: dict[Path, frozenset[Path]] = field(default_factory=dict)  # of contexts, by the folder of their feature
    head: Head | None = None


@dataclass
class Changes:
    """What a survey found that was not there before, and what it missed."""

    new: list[FeatureFolder] = field(default_factory=list)
    gone: list[FeatureFolder] = field(default_factory=list)


class Surveyed:
    def __init__(self, store: Store, watched: bool) -> None:
        self.store, self._watched = store, watched
        self._spool = Spool(store.project)
        self.checkouts: dict[Tree, Checkout] = {}

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
        known.is_tree = layout.is_tree(tree)
        features = layout.features(tree) if known.is_tree else []
        changes.new += [each for each in features if each not in known.features]
        paths = {each.path for each in features}
        changes.gone += [each for each in known.features if each.path not in paths]
        known.features = features
        known.sources = {path: files for path, files in known.sources.items() if path in paths}
        if self._watched:
            found = places.of_tree(tree, repository.git_dir(tree.worktree), _all(known.sources))
            if tree.worktree == self.store.project.root:
                found |= places.of_agx(tree)
            # One that comes later is heard of by the folder it is in.
            known.places = {path: place for path, place in found.items() if path.is_dir()}

    def places(self) -> dict[Path, Place]:
        if not self._watched:
            return {}
        found = places.of_project(self.store.project)
        for each in self.checkouts.values():
            found |= each.places
        return found

    def worktrees(self) -> list[str]:
        root = self.store.project.root
        return [tree.name for tree, each in list(self.checkouts.items()) if each.is_tree and tree.worktree != root]

    def features(self, tree: Tree) -> list[FeatureFolder]:
        known = self.checkouts.get(tree)
        return known.features if known else []

    def made_from(self, feature: FeatureFolder, files: Iterable[Path]) -> bool:
        """The contexts of a feature are made from these files too; whether its checkout has others to be heard then."""
        known = self.checkouts.get(feature.tree)
        if known is None or feature not in known.features:
            return False
        before = _all(known.sources)
        known.sources[feature.path] = frozenset(files)
        return _all(known.sources) != before

    def moved(self, tree: Tree) -> Head | None:
        """Where HEAD is, if it is not where it was when this was last asked."""
        known = self.checkouts.get(tree)
        if known is None:
            return None
        before, known.head = known.head, _head(tree)
        return known.head if known.head != before else None

    def told(self) -> set[Tree]:
        """The checkouts that hooks left word of; all, if one could not tell which."""
        worktrees = {note.worktree for note in self._spool.take()}
        return {tree for tree in self.checkouts if None in worktrees or tree.worktree in worktrees}


def _all(sources: Mapping[Path, frozenset[Path]]) -> frozenset[Path]:
    return frozenset().union(*sources.values())


def _head(tree: Tree) -> Head | None:
    """None where git cannot tell: the context says why."""
    try:
        return repository.head(tree.worktree)
    except DagentdError:
        return None


def _is_there(tree: Tree) -> bool:
    return tree.worktree.is_dir()
