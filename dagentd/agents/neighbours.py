"""Who else is at work in a repository: its worktrees with a conversation, a commit or an edit in the last day, and what
they and this one have both changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, git
from dagentd.adapters.git import Head, parting
from dagentd.errors import DagentdError
from dagentd.model import times
from dagentd.model.opening import Neighbour
from dagentd.model.project import Project

_RECENT = 86_400.0  # seconds
_MOST = 5  # the last active: each takes git some ten milliseconds
_HELD = 256  # pairs of commits
_MOVED = ("logs/HEAD", "HEAD", "index")  # written to by a commit, a checkout, a file that is added
_OURS = (".dagent/", ".agx/", ".dagent-worktrees/")

Changed = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True)
class Checkout:
    """A worktree that git knows of, its git folder found in the repository's."""

    path: Path
    own: Path
    head: Head


def checkouts(project: Project) -> list[Path]:
    """Where the repository is checked out, as git itself keeps it in mind."""
    main = [] if git.is_bare(project.common_dir) else [project.root]
    return [*main, *git.linked_worktrees(project.common_dir).values()]


def checkout(path: Path, project: Project) -> Checkout | None:
    """None for one that is being removed, or whose `.git` leads to another repository."""
    try:
        own = git.checked_dir(path, project.common_dir)
        return Checkout(path, own, git.head(path, own))
    except (DagentdError, OSError):
        return None


class Neighbours:
    """Finds who else is at work. The changes between two commits never change: git is asked for them once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parted: dict[tuple[str, str], Changed] = {}

    def of(
        self, mine: Checkout, project: Project, working: Mapping[Path, Mapping[str, Any]], *, files: bool = True
    ) -> list[Neighbour]:
        """The last active first. `working`: by worktree, what was last said there: `at`, `agent`, `goal`. Without
        `files` only those in which something was said, and git is not asked."""
        others = [path for path in checkouts(project) if path != mine.path]
        active = [(at, path) for path in others if (at := _last_active(path, project, working.get(path, {})))]
        newest = sorted(active, key=lambda each: each[0], reverse=True)[:_MOST]
        edited = parting.edited(mine.path) if files and newest else frozenset()
        found = []
        for at, path in newest:
            theirs, said = checkout(path, project), working.get(path, {})
            here, there = self._since_parted(project, mine, theirs) if files and theirs else (frozenset(), frozenset())
            if theirs is not None and (there or said.get("at")):
                shared = sorted(_shared(here | edited, there, path) if files else ())
                told = (str(said.get("agent") or ""), times.of_seconds(at), str(said.get("goal") or ""))
                found.append(Neighbour(str(path), theirs.head.branch or "", *told, shared))
        return found

    def _since_parted(self, project: Project, mine: Checkout, theirs: Checkout) -> Changed:
        if mine.head.commit is None or theirs.head.commit is None:
            return frozenset(), frozenset()
        pair = mine.head.commit, theirs.head.commit
        with self._lock:
            known = self._parted.pop(pair, None)
        if known is None:
            try:
                known = parting.parted(project.common_dir, *pair)
            except DagentdError:  # a partial clone lacks one of them
                return frozenset(), frozenset()
        with self._lock:
            self._parted[pair] = known
            if len(self._parted) > _HELD:
                del self._parted[next(iter(self._parted))]
        return known


def _last_active(path: Path, project: Project, said: Mapping[str, Any]) -> float:
    """0 if that was long ago."""
    moment = times.parse(said.get("at"))
    moved = [moment.timestamp()] if moment else []
    try:
        own = git.checked_dir(path, project.common_dir)
    except (DagentdError, OSError):
        return 0.0
    moved += [status.st_mtime for name in _MOVED if (status := _status(own / name)) is not None]
    last = max(moved, default=0.0)
    return last if clock.now().timestamp() - last < _RECENT else 0.0


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=False)
    except OSError:
        return None


def _shared(here: frozenset[str], there: frozenset[str], path: Path) -> frozenset[str]:
    """The files that were changed both here and there, committed or not yet."""
    mine = frozenset(name for name in here if not name.startswith(_OURS))
    return mine & (there | parting.edited(path, mine)) if mine else frozenset()
