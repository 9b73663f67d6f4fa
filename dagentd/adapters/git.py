"""Git repositories: which one a path belongs to, and where its common folder is."""

from __future__ import annotations

import re
from pathlib import Path

from dagentd.errors import NotFound
from dagentd.model.project import Project


def project_at(path: Path) -> Project:
    """The project that a path lies in: from a linked worktree, the repository it was linked from. Read off the
    files git keeps, because opening a repository with libgit2 costs 100 ms and 21 MB."""
    start = path.resolve()
    for folder in (start, *start.parents):
        if (common := _common_dir(folder)) is not None:
            return Project(_root(folder, common), common)
    raise NotFound("is not in a git repository", path=path, hint="Run `git init` there, or give another path.")


def _common_dir(folder: Path) -> Path | None:
    marker = folder / ".git"
    if marker.is_dir():
        return marker
    if marker.is_file():
        return _linked(folder, marker)
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
        return _through_commondir(folder)
    return None


def _linked(folder: Path, marker: Path) -> Path | None:
    kind, _, target = marker.read_text(encoding="utf-8", errors="surrogateescape").partition(":")
    if kind != "gitdir":
        return None
    git_dir = (folder / target.strip("\n").lstrip()).resolve()
    return _through_commondir(git_dir) if git_dir.is_dir() else None


def _through_commondir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return (git_dir / pointer.read_text(encoding="utf-8", errors="surrogateescape").strip()).resolve()


def _root(folder: Path, common: Path) -> Path:
    """The main checkout; a bare repository itself. Where the git folder lies elsewhere (a submodule's, a separate
    one), only the place of the worktree tells."""
    if common.name == ".git":
        return common.parent
    if folder.parent.name == ".dagent-worktrees":
        return folder.parent.parent
    return folder if (folder / ".git").is_file() and not _is_bare(common) else common


def _is_bare(common: Path) -> bool:
    config = (common / "config").read_text(encoding="utf-8", errors="replace")
    return re.search(r"^\s*bare\s*=\s*true", config, re.MULTILINE) is not None
