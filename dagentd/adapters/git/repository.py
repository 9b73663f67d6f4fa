"""A repository as contexts show it: where HEAD is, the subjects of the last commits, and the structure as a list of a
bounded length: what HEAD tracks, and what lies untracked at the top."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dagentd.adapters import git
from dagentd.adapters.files import beneath, disk
from dagentd.adapters.git import Head as Head
from dagentd.adapters.git import git_dir as git_dir
from dagentd.adapters.git import head as head
from dagentd.adapters.git import rebasing as rebasing
from dagentd.adapters.git.objects import GitReader, Objects
from dagentd.errors import DagentdError, NotAllowed
from dagentd.model import oneline

_OURS = {b".git", b".dagent", b".dagent-worktrees", b".agx"}
_ASKED = 1000  # untracked names; libgit2 takes 13 µs for each, and a folder of downloads may hold any number


SUBJECT = 200  # characters; a subject is a line, and some programs put all they have to say into it
_FILE, _FOLDER, _SUBMODULE = b"100644", b"40000", b"160000"  # modes in a tree; there are more for files
_BLANK = b" \t\r"
Entry = tuple[bytes, bytes, bytes]  # of a tree: mode, name, id. No class: it takes 2 µs to make one, and there are many


@dataclass(frozen=True)
class Commit:
    id: str
    subject: str


@dataclass(frozen=True)
class Listing:
    """`left_out` counts what lies directly in the listed folders, down to the depth, and is not listed itself. What is
    in a folder that is not listed is not looked at: so no more folders are read than are listed, whatever is there."""

    folders_and_files: tuple[str, ...]  # depth first, in git's order; a folder ends in "/"
    left_out: int


@dataclass(frozen=True)
class Folder:
    path: bytes  # from the top of the worktree, with "/" at its end; nothing for the top itself
    entries: Sequence[Entry]


def subject(commit: bytes) -> str:
    """The first paragraph on one line, as git shows it, in the encoding that the commit names."""
    header, _, message = commit.partition(b"\n\n")
    lines = [line.rstrip(_BLANK) for line in message.split(b"\n")]
    first = next((number for number, line in enumerate(lines) if line), len(lines))
    last = next((number for number in range(first, len(lines)) if not lines[number]), len(lines))
    told, named = b" ".join(lines[first:last]), re.search(rb"^encoding (\S+)$", header, re.MULTILINE)
    try:
        text = told.decode(named[1].decode("ascii", "replace") if named else "utf-8", "replace")
    except (LookupError, ValueError):
        text = told.decode("utf-8", "replace")
    return oneline.cut(oneline.visible(text.replace("\t", " ")), SUBJECT)


def list_entries(objects: Objects, top: Sequence[Entry], *, depth: int, room: int) -> tuple[Listing, int]:
    """Filled level by level, so that a large folder early in the alphabet does not hide the others. Also how many
    folders there are whose content this clone does not have."""
    folders = [Folder(b"", top)]
    listed: list[bytes] = []
    left_out = absent = 0
    for level in range(1, depth + 1):
        chosen = _shared(folders, room - len(listed))
        left_out += sum(len(folder.entries) for folder in folders) - len(chosen)
        listed += (path for path, _ in chosen)
        if level < depth:
            inner = [(path, id) for path, id in chosen if id]
            read = contents(objects, inner)
            folders = [folder for folder in read if folder is not None]
            absent += len(read) - len(folders)
    return Listing(tuple(oneline.visible(os.fsdecode(path)) for path in sorted(listed)), left_out), absent


def contents(objects: Objects, folders: Sequence[tuple[bytes, str]]) -> list[Folder | None]:
    """The entries of these folders, given by path and id, in git's order; None for a folder that this clone does not
    have. An id has 20 bytes, or 32 in a SHA-256 repository."""
    trees = objects.read([id for _, id in folders]) if folders else []
    entry = rb"([0-7]+) ([^\0]+)\0(.{%d})"
    return [
        None if tree is None else Folder(path, re.findall(entry % (len(id) // 2), tree, re.DOTALL))
        for (path, id), tree in zip(folders, trees, strict=True)
    ]


def _shared(folders: Sequence[Folder], room: int) -> list[tuple[bytes, str]]:
    """The first of each folder before the second of any: path and, for a folder that git tracks, id."""
    ranked = [(rank, one.path, entry) for one in folders for rank, entry in enumerate(islice(one.entries, room))]
    ranked.sort(key=lambda candidate: candidate[0])
    return [_placed(path, entry) for _, path, entry in ranked[:room]]


def _placed(folder: bytes, entry: Entry) -> tuple[bytes, str]:
    """A submodule is a folder that another repository fills: its id is a commit there."""
    mode, name, id = entry
    slash = b"/" if mode in (_FOLDER, _SUBMODULE) else b""
    return folder + name + slash, id.hex() if mode == _FOLDER else ""


# Files that git and libgit2 open without asking what they are: a pipe in the place of one would hold them for ever.

# What is opened on the way to commits, trees and ignore rules; objects have names that nobody can foresee.
_OF_CHECKOUT = ("HEAD", "commondir", "gitdir", "config.worktree")
_OF_ALL = ("HEAD", "config", "packed-refs", "shallow", "info/exclude", "info/grafts", "objects/info/alternates",
           "objects/info/commit-graph", "objects/pack/multi-pack-index")  # fmt: skip

_MEMORY = 1  # the devices null, zero, full, random


def check_no_pipes(worktree: Path, own: Path | None = None) -> None:
    """Before libgit2 is let into a checkout; NotAllowed if it would wait there: for a pipe, or a device such as a
    terminal, behind links too, as git follows them; not for /dev/null, to which some link such files."""
    paths = [worktree / ".gitignore"]
    if (own := own or git.git_dir(worktree)) is not None:
        common = git.common_dir(own)
        paths += [*(own / name for name in _OF_CHECKOUT), *(common / name for name in _OF_ALL)]
    for path in paths:
        with contextlib.suppress(OSError):  # what cannot be looked at cannot be opened either
            found = os.stat(path)
            device = stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) != _MEMORY
            if device or stat.S_ISFIFO(found.st_mode):
                told = f"{path.name} is a pipe or a device, and git would wait for it"
                raise NotAllowed(told, path=path, hint="Remove it.")


_NOTHING = Listing((), 0)
_ABSENT = "The content of some folders is not in this clone: it is a partial one, or `git fsck` says more."
Part = TypeVar("Part")


@dataclass(frozen=True)
class Snapshot:
    head: Head
    commits: tuple[Commit, ...]  # newest first, by first parents
    listing: Listing
    notes: tuple[str, ...]  # what could not be read and why, in a sentence each


def snapshot(
    worktree: Path, own: Path | None = None, where: Head | None = None, *, commits: int, depth: int, entries: int
) -> Snapshot:
    """Read HEAD, the last commits and the structure as far as they can be read, with notes on the rest: it raises
    nothing that a repository could cause. `own` is its git folder and `where` its HEAD, where that was looked up."""
    from dagentd.adapters.git import libgit

    try:
        check_no_pipes(worktree, own)
        where = where or head(worktree, own)
    except DagentdError as error:
        return unread(error, worktree)
    try:
        with libgit.opened(worktree, own) as objects:
            return Reading(objects, worktree, where, own).snapshot(commits, depth, entries)
    except libgit.Unreadable:
        return Reading(GitReader(worktree, own), worktree, where, own).snapshot(commits, depth, entries)


def unread(error: DagentdError, worktree: Path) -> Snapshot:
    return Snapshot(Head(None, None), (), _NOTHING, (_told(error, worktree),))


@dataclass
class Reading:
    """One snapshot in the making, by either reader."""

    _objects: Objects
    _worktree: Path
    _head: Head
    _own: Path | None = None
    _notes: list[str] = field(default_factory=list)

    def snapshot(self, commits: int, depth: int, entries: int) -> Snapshot:
        self._own = self._own or git.git_dir(self._worktree)
        found = self._part(lambda: self._commits(commits)) or ()
        tracked = self._part(self._tracked) or []
        new, more = self._part(lambda: self._untracked(tracked)) or ([], 0)
        top = [*tracked, *new]
        listing, absent = self._part(lambda: list_entries(self._objects, top, depth=depth, room=entries)) or (
            _NOTHING,
            0,
        )
        if absent:
            self._notes.append(_ABSENT)
        listing = replace(listing, left_out=listing.left_out + more)
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
        if len(found) < count and self._own and (git.common_dir(self._own) / "shallow").is_file():
            self._notes.append("This is a shallow clone: older commits are not here.")
        return found

    def _tracked(self) -> Sequence[Entry]:
        commit = self._objects.read([self._head.commit])[0] if self._head.commit else None
        if commit is None:
            return []
        tree = commit.split(b"\n", 1)[0].removeprefix(b"tree ").decode()
        (top,) = contents(self._objects, [(b"", tree)])
        if top is None:
            self._notes.append(_ABSENT)
            return []
        return top.entries

    def _untracked(self, tracked: Sequence[Entry]) -> tuple[list[Entry], int]:
        """The entries that git would show as new at the top of the worktree, without looking into folders; and how many
        more there are, of which git was not asked whether it ignores them."""
        if self._own is None or git.is_bare(self._own):
            return [], 0
        with beneath.entries(self._worktree, at_top=True) as every:
            kinds = {os.fsencode(one.name): _FOLDER if one.is_dir(follow_symlinks=False) else _FILE for one in every}
        others = sorted(kinds.keys() - _OURS - {name for _, name, _ in tracked})
        asked = others[:_ASKED]
        ignored = self._objects.ignored(asked) if asked else set()
        return [(kinds[name], name, b"") for name in asked if name not in ignored], len(others[_ASKED:])


def _told(error: DagentdError, worktree: Path) -> str:
    if "dubious ownership" in error.message:
        command = f"git config --global --add safe.directory {shlex.quote(str(worktree.resolve()))}"
        return f"Another user owns this repository, so git does not read it. If you trust it, run `{command}`."
    return oneline.visible(f"Git could not be read: {error}. {error.hint}")
