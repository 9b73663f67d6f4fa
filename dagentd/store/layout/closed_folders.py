"""Folders that should hold features or sessions and in which nothing is served: what cannot be read is not missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dagentd.adapters.files import beneath, disk
from dagentd.errors import DagentdError, NotAllowed, from_oserror
from dagentd.model.project import FeatureFolder, Project
from dagentd.store.layout.layout import GROUPS, WORKTREES, checkouts, features, folder_names, foreign_links, trees


def closed(project: Project) -> Iterator[DagentdError]:
    """Links that lead out of their worktree, and what we may not look into; each once, and nothing behind it."""
    told_of = set[Path]()
    for error in _found(project):
        path = Path(error.path or "")
        if told_of.isdisjoint((path, *path.parents)):
            told_of.add(path)
            yield error


def _found(project: Project) -> Iterator[DagentdError]:
    worktrees = project.root / WORKTREES
    if os.path.islink(worktrees) and not os.path.isdir(worktrees):
        yield NotAllowed("is a link that leads nowhere", path=worktrees, hint="Replace the link by a folder.")
    else:
        yield from _unseen(worktrees)
    for link in foreign_links(project):
        told = "is a link, and to no worktree of this repository"
        yield NotAllowed(told, path=link, hint="Replace the link by a folder.")
    for tree in checkouts(project):
        yield from _closed(tree.path)
    for tree in trees(project):
        for group in GROUPS:
            yield from _closed(tree.path / group)
        for feature in features(tree):
            yield from _in_feature(feature)


def _in_feature(feature: FeatureFolder) -> Iterator[DagentdError]:
    nodes = feature.path / "nodes"
    yield from _closed(nodes)
    for place in (feature.sessions_dir, *(feature.task_dir(task) / "sessions" for task in folder_names(nodes))):
        yield from _closed(place)
        for name in folder_names(place):
            yield from _unseen(place / name)


def _closed(folder: Path) -> Iterator[DagentdError]:
    if beneath.leads_out(folder):
        yield NotAllowed("leads out of its worktree", path=folder, hint="Replace the link by a folder.")
    else:
        yield from _unseen(folder)


def _unseen(folder: Path) -> Iterator[DagentdError]:
    """By the name of the folder that forbids it: this one, or one that it is in."""
    try:
        os.stat(os.path.join(folder, "."))  # to read its names is another permission than to go in
        beneath.names(folder)
    except OSError as error:
        if not disk.is_missing(folder):
            yield from_oserror(error, next(filter(os.path.lexists, (folder, *folder.parents))))
