"""The structure of a project as a list of a bounded length: what HEAD tracks, and what lies untracked at the top."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dagentd.adapters import disk
from dagentd.adapters.git_objects import Entry, Objects, entries
from dagentd.model import oneline

_OURS = {b".git", b".dagent", b".dagent-worktrees", b".agx"}
_ASKED = 1000  # untracked names; libgit2 takes 13 µs for each, and a folder of downloads may hold any number


@dataclass(frozen=True)
class Listing:
    """`left_out` counts what lies directly in the listed folders, down to the depth, and is not listed itself. What is
    in a folder that is not listed is not looked at: so no more folders are read than are listed, whatever is there."""

    folders_and_files: tuple[str, ...]  # depth first, in git's order; a folder ends in "/"
    left_out: int


@dataclass(frozen=True)
class Found:
    path: bytes  # from the top of the worktree; a folder ends in "/"
    tree: str | None  # what is in it


def untracked(objects: Objects, worktree: Path, tracked: Sequence[Found]) -> tuple[list[Found], int]:
    """What git would show as new at the top of the worktree, without looking into folders; and how many more there
    are, of which git was not asked whether it ignores them."""
    known = _OURS | {found.path.rstrip(b"/") for found in tracked}
    with disk.explained(worktree), os.scandir(os.fsencode(worktree)) as every:
        others = [Entry(one.name, one.is_dir(follow_symlinks=False), None) for one in every if one.name not in known]
    others.sort(key=lambda entry: entry.name)
    asked = others[:_ASKED]
    ignored = objects.ignored([entry.name for entry in asked]) if asked else set()
    return [_found(b"", entry) for entry in asked if entry.name not in ignored], len(others) - len(asked)


def listing(objects: Objects, top: Sequence[Found], *, depth: int, room: int) -> tuple[Listing, int]:
    """Filled level by level, so that a large folder early in the alphabet does not hide the others. Also how many
    folders there are whose content this clone does not have."""
    folders: list[Sequence[Found]] = [top]
    listed: list[Found] = []
    left_out = absent = 0
    for level in range(1, depth + 1):
        chosen = _shared(folders, room - len(listed))
        left_out += sum(map(len, folders)) - len(chosen)
        listed += chosen
        if level < depth:
            read = contents(objects, chosen)
            absent += read.count(None)
            folders = [content for content in read if content is not None]
    paths = sorted(found.path for found in listed)
    return Listing(tuple(oneline.visible(os.fsdecode(path)) for path in paths), left_out), absent


def contents(objects: Objects, folders: Sequence[Found]) -> list[list[Found] | None]:
    """What is in each of those that are folders of this repository; None for one that this clone does not have."""
    inner = [(found.path, found.tree) for found in folders if found.tree is not None]
    raw = objects.read([tree for _, tree in inner]) if inner else []
    return [
        None if tree is None else [_found(path, entry) for entry in entries(tree, len(id) // 2)]
        for (path, id), tree in zip(inner, raw, strict=True)
    ]


def _shared(folders: Sequence[Sequence[Found]], room: int) -> list[Found]:
    """The first of each folder before the second of any."""
    ranked = [(rank, found) for content in folders for rank, found in enumerate(islice(content, room))]
    return [found for _, found in sorted(ranked, key=lambda pair: pair[0])[:room]]


def _found(folder: bytes, entry: Entry) -> Found:
    return Found(folder + entry.name + (b"/" if entry.folder else b""), entry.tree)
