"""Reading git's objects by the git command line: slower than libgit2, and of every repository that git itself can
read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from dagentd.adapters.git.command import ask
from dagentd.errors import DagentdError


class Objects(Protocol):
    """Reads a repository, by the library or by the git command. It never writes, and takes no lock."""

    def history(self, start: str, count: int) -> list[str]:
        """The ids of a commit and of those before it, by first parents: what was done on this branch. A merge is one
        line, and not the commits of others mixed in by their dates, which also costs 100 times more to sort."""

    def read(self, ids: Sequence[str]) -> list[bytes | None]:
        """The objects; None for one that is not here."""

    def ignored(self, names: Sequence[bytes]) -> set[bytes]:
        """Which of these names at the top of the worktree git ignores."""


_PROMISED = "promisor remote"  # git's words when a partial clone lacks an object that it may not fetch


class GitReader:
    def __init__(self, worktree: Path, own: Path | None = None) -> None:
        self._worktree, self._own = worktree, own
        self._is_ours = own is None

    def _ask(self, *arguments: str, **more: Any) -> str:
        """Git does not look whose the folder is that it is told of: it must find it by itself once."""
        if not self._is_ours:
            ask(self._worktree, "rev-parse", "--git-dir")
            self._is_ours = True
        there = (f"--git-dir={self._own}", f"--work-tree={self._worktree}") if self._own else ()
        return ask(self._worktree, *there, *arguments, **more)

    def history(self, start: str, count: int) -> list[str]:
        return self._ask("rev-list", "--first-parent", f"--max-count={count}", start, "--").split()

    def read(self, ids: Sequence[str]) -> list[bytes | None]:
        try:
            return self._read(ids)
        except DagentdError as error:
            if _PROMISED not in error.message:
                raise
        # git ends at the first object that a partial clone lacks: each by itself, then.
        return [None] if len(ids) == 1 else [one for id in ids for one in self.read([id])]

    def _read(self, ids: Sequence[str]) -> list[bytes | None]:
        told = "".join(f"{id}\n" for id in ids).encode()
        return _objects(os.fsencode(self._ask("cat-file", "--batch", told=told)))

    def ignored(self, names: Sequence[bytes]) -> set[bytes]:
        """`./` because git takes a name that begins with a colon for a pattern; without the index, as libgit2 does."""
        told = b"".join(b"./" + name + b"\0" for name in names)
        output = self._ask("check-ignore", "--no-index", "-z", "--stdin", told=told, answers=(0, 1))
        return {name.removeprefix(b"./") for name in os.fsencode(output).split(b"\0")[:-1]}


def _objects(output: bytes) -> list[bytes | None]:
    """For each id its type and length, a line end, the object, a line end; or that it is missing."""
    found: list[bytes | None] = []
    at = 0
    while at < len(output):
        line_end = output.index(b"\n", at)
        length = re.search(rb" (\d+)$", output[at:line_end])
        at = line_end + 1
        found.append(output[at : at + int(length[1])] if length else None)
        at += int(length[1]) + 1 if length else 0
    return found
