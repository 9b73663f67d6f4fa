"""The linked worktrees of a repository, read off the files git keeps about them."""

from __future__ import annotations

import os
from pathlib import Path

from dagentd.adapters import files
from dagentd.errors import DagentdError


def linked(common: Path) -> dict[str, Path]:
    """Where each is checked out, by the name git gave it; those whose folder is gone are left out."""
    try:
        names = sorted(os.listdir(common / "worktrees"))
    except OSError:  # git removes the folder with the last one
        return {}
    return {name: path for name in names if (path := checkout(common, name)) is not None}


def checkout(common: Path, name: str) -> Path | None:
    try:
        pointer = os.fsdecode(files.read(common / "worktrees" / name / "gitdir")).rstrip("\n")
    except (FileNotFoundError, DagentdError):
        return None
    # Relative to the file itself where worktree.useRelativePaths is set.
    marker = Path(os.path.normpath(common / "worktrees" / name / pointer))
    return marker.parent if marker.name == ".git" and os.path.exists(marker) else None
