"""The structure of a project as a list of a bounded length: what HEAD tracks, and what lies untracked at the top."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dagentd.adapters import beneath, disk
from dagentd.adapters.git.objects import FILE, FOLDER, SUBMODULE, Entry, Objects, entries
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
class Folder:
    path: bytes  # from the top of the worktree, with "/" at its end; nothing for the top itself
    entries: Sequence[Entry]


def untracked(objects: Objects, worktree: Path, tracked: Sequence[Entry]) -> tuple[list[Entry], int]:
    """What git would show as new at the top of the worktree, without looking into folders; and how many more there
    are, of which git was not asked whether it ignores them."""
    known = _OURS | {name for _, name, _ in tracked}
    with disk.explained(worktree), beneath.entries_of(worktree) as every:
        kinds = {os.fsencode(one.name): FOLDER if one.is_dir(follow_symlinks=False) else FILE for one in every}
    others = sorted(kinds.keys() - known)
    asked = others[:_ASKED]
    ignored = objects.ignored(asked) if asked else set()
    return [(kinds[name], name, b"") for name in asked if name not in ignored], len(others[_ASKED:])


def listing(objects: Objects, top: Sequence[Entry], *, depth: int, room: int) -> tuple[Listing, int]:
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
    """What is in these folders, given by path and id; None for one that this clone does not have."""
    trees = objects.read([id for _, id in folders]) if folders else []
    return [
        None if tree is None else Folder(path, entries(tree, len(id) // 2))
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
    slash = b"/" if mode in (FOLDER, SUBMODULE) else b""
    return folder + name + slash, id.hex() if mode == FOLDER else ""
