"""Changes of two checkouts of a repository since they parted (merge base): committed, and not yet. No lock is taken."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dagentd.adapters.git.command import ask
from dagentd.adapters.git.repository import check_no_pipes
from dagentd.errors import DagentdError

_ASKED = 500  # files: as many as an argument list surely has room for
_MOST = 2000  # files of one side: a branch that moved everything says nothing about any of them


def parted(common: Path, mine: str, theirs: str) -> tuple[frozenset[str], frozenset[str]]:
    """The files that each of two commits changed since the last one that both come from; nothing where there is
    none."""
    there = f"--git-dir={common}"
    base = ask(common, there, "merge-base", mine, theirs, answers=(0, 1)).strip()
    if not base or mine == theirs:
        return frozenset(), frozenset()
    return _changed(common, base, mine), _changed(common, base, theirs)


def _changed(common: Path, base: str, commit: str) -> frozenset[str]:
    if base == commit:
        return frozenset()
    told = ask(common, f"--git-dir={common}", "diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    names = frozenset(filter(None, told.split("\0")))
    return names if len(names) <= _MOST else frozenset()


def edited(worktree: Path, among: Collection[str] = ()) -> frozenset[str]:
    """The files that were changed there and are not committed, of all files or among these; new files too, but for
    those in new folders. Nothing where git cannot say."""
    question = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
    try:
        check_no_pipes(worktree)
        told = ask(worktree, "--literal-pathspecs", *question, "--", *list(among)[:_ASKED])
    except DagentdError:
        return frozenset()
    names = (entry[3:] for entry in told.split("\0"))
    return frozenset(name for name in names if name and not name.endswith("/"))
