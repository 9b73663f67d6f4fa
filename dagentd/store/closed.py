"""Folders that should hold features or sessions and in which nothing is served: what cannot be read is not missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dagentd.adapters import disk
from dagentd.errors import DagentdError, NotAllowed, told
from dagentd.model.project import FeatureFolder, Project
from dagentd.store.layout import WORKTREES, checkouts, feature_groups, features, folder_names, inside, trees


def closed(project: Project) -> Iterator[DagentdError]:
    """Links that lead out of their worktree, and what we may not look into; each once."""
    told_of = set()
    for error in _found(project):
        if error.path not in told_of:
            told_of.add(error.path)
            yield error


def _found(project: Project) -> Iterator[DagentdError]:
    worktrees = project.root / WORKTREES
    if os.path.islink(worktrees) and not os.path.isdir(worktrees):
        yield NotAllowed("is a link that leads nowhere", path=worktrees, hint="Replace the link by a folder.")
    else:
        yield from _unseen(worktrees)
    for tree in checkouts(project):
        yield from _closed(tree.path, tree.worktree)
    for tree in trees(project):
        for group in feature_groups(tree):
            yield from _closed(group, tree.worktree)
        for feature in features(tree):
            yield from _in_feature(feature)


def _in_feature(feature: FeatureFolder) -> Iterator[DagentdError]:
    worktree, nodes = feature.tree.worktree, feature.path / "nodes"
    yield from _closed(nodes, worktree)
    for place in (feature.sessions_dir, *(feature.task_dir(task) / "sessions" for task in folder_names(nodes))):
        yield from _closed(place, worktree)
        for name in folder_names(place):
            yield from _unseen(place / name)


def _closed(folder: Path, worktree: Path) -> Iterator[DagentdError]:
    if os.path.lexists(folder) and not inside(folder, worktree):
        yield NotAllowed("leads out of its worktree", path=folder, hint="Replace the link by a folder.")
    else:
        yield from _unseen(folder)


def _unseen(folder: Path) -> Iterator[DagentdError]:
    """By the name of the folder that forbids it: this one, or one that it is in."""
    try:
        os.stat(os.path.join(folder, "."))  # to read its names is another permission than to go in
        os.listdir(folder)
    except OSError as error:
        if not disk.is_missing(folder):
            yield told(error, next(filter(os.path.lexists, (folder, *folder.parents))))
