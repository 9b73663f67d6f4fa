"""Files that git and libgit2 open without asking what they are: a pipe in the place of one would hold them for ever."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dagentd.adapters import git
from dagentd.errors import NotAllowed

# What is opened on the way to commits, trees and ignore rules; objects have names that nobody can foresee.
_OF_CHECKOUT = ("HEAD", "commondir", "gitdir", "config.worktree")
_OF_ALL = ("HEAD", "config", "packed-refs", "shallow", "info/exclude", "info/grafts", "objects/info/alternates",
           "objects/info/commit-graph", "objects/pack/multi-pack-index")  # fmt: skip

_MEMORY = 1  # the devices null, zero, full, random


def check(worktree: Path, own: Path | None = None) -> None:
    """Before libgit2 is let into a checkout; NotAllowed if it would wait there."""
    paths = [worktree / ".gitignore"]
    if (own := own or git.git_dir(worktree)) is not None:
        common = git.common_dir(own)
        paths += [*(own / name for name in _OF_CHECKOUT), *(common / name for name in _OF_ALL)]
    for path in paths:
        if _waits(path):
            told = f"{path.name} is a pipe or a device, and git would wait for it"
            raise NotAllowed(told, path=path, hint="Remove it.")


def _waits(path: Path) -> bool:
    """A pipe, or a device such as a terminal, behind links too, as git follows them; not /dev/null, to which some link
    such files. What cannot be looked at cannot be opened either."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    device = stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) != _MEMORY
    return stat.S_ISFIFO(found.st_mode) or device
