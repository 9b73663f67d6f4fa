"""A worktree as a session's context needs it: branch, recent commits, structure; read and never written."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dagentd.adapters import disk, git
from dagentd.adapters.git import git_dir as git_dir
from dagentd.adapters.git import listing as listings
from dagentd.adapters.git import waiting
from dagentd.adapters.git.head import Head as Head
from dagentd.adapters.git.head import head as head
from dagentd.adapters.git.head import rebasing as rebasing
from dagentd.adapters.git.listing import Listing as Listing
from dagentd.adapters.git.objects import Commit as Commit
from dagentd.adapters.git.objects import Entry, Objects, subject, tree_of
from dagentd.adapters.git.reader import GitReader
from dagentd.errors import DagentdError
from dagentd.model import oneline

_NOTHING = Listing((), 0)
_ABSENT = "The content of some folders is not in this clone: it is a partial one, or `git fsck` says more."
Part = TypeVar("Part")


@dataclass(frozen=True)
class Snapshot:
    head: Head
    commits: tuple[Commit, ...]  # newest first, by first parents
    listing: Listing
    notes: tuple[str, ...]  # what could not be read and why, in a sentence each


def snapshot(worktree: Path, own: Path | None = None, *, commits: int, depth: int, entries: int) -> Snapshot:
    """What can be read, and notes on the rest: it raises nothing that a repository could cause. `own` is its git
    folder, where that was looked up before."""
    from dagentd.adapters.git import libgit

    try:
        waiting.check(worktree, own)
        where = head(worktree, own)
    except DagentdError as error:
        return unread(error, worktree)
    try:
        with libgit.opened(worktree, own) as objects:
            return Reading(objects, worktree, where, own).snapshot(commits, depth, entries)
    except libgit.Unreadable:
        return Reading(GitReader(worktree, own), worktree, where, own).snapshot(commits, depth, entries)


def unread(error: DagentdError, worktree: Path) -> Snapshot:
    return Snapshot(Head(None, None), (), _NOTHING, (_told(error, worktree),))


class Reading:
    """One snapshot in the making, by either reader."""

    def __init__(self, objects: Objects, worktree: Path, where: Head, own: Path | None = None) -> None:
        self._objects = objects
        self._worktree, self._own = worktree, own
        self._head = where
        self._notes: list[str] = []

    def snapshot(self, commits: int, depth: int, entries: int) -> Snapshot:
        found = self._part(lambda: self._commits(commits)) or ()
        listing = self._listing(depth, entries)
        return Snapshot(self._head, found, listing, tuple(dict.fromkeys(self._notes)))

    def _part(self, read: Callable[[], Part]) -> Part | None:
        """One part that cannot be read leaves the others."""
        try:
            with disk.explained(self._worktree):
                return read()
        except DagentdError as error:
            self._notes.append(_told(error, self._worktree))
            return None

    def _commits(self, count: int) -> tuple[Commit, ...]:
        if self._head.commit is None:
            self._notes.append("There are no commits yet.")
            return ()
        ids = self._objects.history(self._head.commit, count)
        found = tuple(Commit(id, subject(raw or b"")) for id, raw in zip(ids, self._objects.read(ids), strict=True))
        own = self._own or git.git_dir(self._worktree)
        if len(found) < count and own is not None and (git.common_dir(own) / "shallow").is_file():
            self._notes.append("This is a shallow clone: older commits are not here.")
        return found

    def _listing(self, depth: int, entries: int) -> Listing:
        tracked = self._part(self._tracked) or []
        new, more = self._part(lambda: self._untracked(tracked)) or ([], 0)
        top = [*tracked, *new]
        found = self._part(lambda: listings.listing(self._objects, top, depth=depth, room=entries))
        listing, absent = found or (_NOTHING, 0)
        if absent:
            self._notes.append(_ABSENT)
        return Listing(listing.folders_and_files, listing.left_out + more)

    def _tracked(self) -> Sequence[Entry]:
        commit = self._objects.read([self._head.commit])[0] if self._head.commit else None
        if commit is None:
            return []
        (top,) = listings.contents(self._objects, [(b"", tree_of(commit))])
        if top is None:
            self._notes.append(_ABSENT)
            return []
        return top.entries

    def _untracked(self, tracked: Sequence[Entry]) -> tuple[list[Entry], int]:
        own = self._own or git.git_dir(self._worktree)
        if own is None or git.is_bare(own):
            return [], 0
        return listings.untracked(self._objects, self._worktree, tracked)


def _told(error: DagentdError, worktree: Path) -> str:
    if "dubious ownership" in error.message:
        command = f"git config --global --add safe.directory {shlex.quote(str(worktree.resolve()))}"
        return f"Another user owns this repository, so git does not read it. If you trust it, run `{command}`."
    return oneline.visible(f"Git could not be read: {error}. {error.hint}")
