"""Git repositories: which one a path belongs to, and where its folders are."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dagentd.adapters import beneath, disk, files
from dagentd.errors import CorruptFile, NotAllowed, NotFound
from dagentd.model.project import Project

_POINTER, _CONFIG = 1 << 13, 1 << 20  # bytes: a path has at most 4096
# `\s` would take line breaks too, and a megabyte of these took hours in which no other thread could run.
_BARE = re.compile(r"^[ \t]*bare[ \t]*=[ \t]*true", re.MULTILINE)


def project_at(path: Path) -> Project:
    """The project that a path lies in: from a linked worktree, the repository it was linked from. Read off the
    files git keeps, because opening a repository with libgit2 costs 100 ms and 21 MB."""
    start = path.resolve()
    for folder in (start, *start.parents):
        if (common := _common_dir(folder)) is not None:
            return Project(_root(folder, common), common)
    raise NotFound("is not in a git repository", path=path, hint="Run `git init` there, or give another path.")


def check_there(project: Project) -> None:
    """NotAllowed or another error in words, if its git folder is not there or may not be looked into."""
    with disk.explained(project.root):
        if disk.is_missing(project.common_dir) or not project.common_dir.is_dir():
            hint = "If it was moved, run `dagentd init` in its new place; else `dagentd remove` it."
            raise NotAllowed("the repository is not there", path=project.root, hint=hint)
        os.stat(os.path.join(project.common_dir, "."))


def git_dir(worktree: Path) -> Path | None:
    """The git folder of this checkout alone: .git, or .git/worktrees/NAME of a linked one; a bare repository is its
    own. None if the folder is no checkout, or no longer one. Read off the files."""
    marker = worktree / ".git"
    with disk.explained(marker):
        if marker.is_dir():
            return marker
        if marker.is_file():
            return _linked(worktree, marker)
        bare = (worktree / "HEAD").is_file() and (worktree / "objects").is_dir() and (worktree / "refs").is_dir()
        return worktree if bare else None


def common_dir(git_dir: Path) -> Path:
    """What all worktrees of the repository share: refs, objects, config."""
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return beneath.real(git_dir / _content(pointer, _POINTER).rstrip("\n"))


def checked_dir(worktree: Path, common: Path) -> Path:
    """The git folder of a checkout, as one look found it, before git's view becomes part of what its agent is told: an
    agent can write into the `.git` of its worktree, and would be shown the commits of any repository of the user. So
    it must lie in the project's, and is what is read: between two looks at `.git`, it may be another. One that lies in
    the worktree itself is not read either, since what is in it may be a link at any moment."""
    own = git_dir(worktree)
    if own is None:
        raise NotFound("is not the worktree of a git repository", path=worktree, hint="Try `git status` there.")
    with disk.explained(worktree):  # a link may be exchanged while it is followed
        own, home = own.resolve(), common.resolve()
    if not own.is_relative_to(home):
        raise NotAllowed("is the worktree of another repository", path=worktree, hint="Look at its .git.")
    return own


def is_bare(git_dir: Path) -> bool:
    """No checkout belongs to this git folder. With `extensions.worktreeConfig` that is said in a file of its own; the
    git folder of a linked worktree has neither."""
    configs = (git_dir / "config", git_dir / "config.worktree")
    return any(_BARE.search(_content(config, _CONFIG)) for config in configs if config.is_file())


def _content(path: Path, limit: int) -> str:
    """Of a small file that git keeps, behind links too as git follows them. An agent can put one of any size there."""
    return os.fsdecode(files.read(beneath.real(path), limit))


def _common_dir(folder: Path) -> Path | None:
    own = git_dir(folder)
    return None if own is None else common_dir(own)


def _linked(folder: Path, marker: Path) -> Path | None:
    try:
        kind, _, target = _content(marker, _POINTER).partition(":")
    except (FileNotFoundError, CorruptFile):  # removed at this moment, or larger than any that git writes
        return None
    if kind != "gitdir":
        return None
    found = (folder / target.strip("\n").lstrip()).resolve()
    return found if found.is_dir() else None


def _root(folder: Path, common: Path) -> Path:
    """The main checkout; a bare repository itself. Where the git folder lies elsewhere (a submodule's, a separate
    one), only the place of the worktree tells."""
    if common.name == ".git":
        return common.parent
    if folder.parent.name == ".dagent-worktrees":
        return folder.parent.parent
    return folder if (folder / ".git").is_file() and not is_bare(common) else common
