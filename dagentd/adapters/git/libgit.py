"""Reads a repository by libgit2: the only module that knows pygit2. Import it where it is used (98 ms, 21 MB)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dagentd.adapters.git.objects import GitReader

try:
    import pygit2
    from pygit2.enums import RepositoryOpenFlag
except ImportError:
    raise
except Exception as error:  # it reads certificates as it loads: without a descriptor for them, libgit2 itself fails
    raise ImportError(f"pygit2: {error}", name=__name__) from error


class Unreadable(Exception):
    """libgit2 cannot read it; git may. SHA-256, an extension of the format, another owner, a path that is no text."""


@contextlib.contextmanager
def opened(worktree: Path, own: Path | None = None) -> Iterator[LibgitReader]:
    with _refusals():
        repository = pygit2.Repository(os.fspath(own or worktree), RepositoryOpenFlag.NO_SEARCH)
    try:
        yield LibgitReader(repository, worktree, own)
    finally:
        repository.free()
        vars(repository).clear()  # its parts hold it, and the collector may leave such a circle for long


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """All errors of libgit2 are a GitError, but OSError for a file that vanished; pygit2 itself has KeyError for an
    absent object and ValueError for text that cannot be UTF-8."""
    try:
        yield
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise Unreadable(str(error)) from error


@dataclass
class LibgitReader:
    _repository: pygit2.Repository
    _worktree: Path
    _own: Path | None = None

    def history(self, start: str, count: int) -> list[str]:
        """A shallow clone's last commit has no parents here: libgit2 heeds the file that says so."""
        ids: list[str] = []
        rest = [pygit2.Oid(hex=start)]
        while rest and len(ids) < count:
            ids.append(str(rest[0]))
            with _refusals():
                rest = self._repository[rest[0]].peel(pygit2.Commit).parent_ids
        return ids

    def read(self, ids: Sequence[str]) -> list[bytes | None]:
        found: list[bytes | None] = []
        with _refusals():
            for id in ids:
                try:
                    found.append(self._repository.read(pygit2.Oid(hex=id))[1])
                except KeyError:
                    found.append(None)
        return found

    def ignored(self, names: Sequence[bytes]) -> set[bytes]:
        """A link to a folder is a file to git and a folder to libgit2, and a name that is no text pygit2 cannot
        take: there git is asked."""
        odd = [name for name in names if self._is_odd(name)]
        plain = (name for name in names if name not in odd)
        with _refusals():
            found = {name for name in plain if self._repository.path_is_ignored(name.decode())}
        return found | GitReader(self._worktree, self._own).ignored(odd) if odd else found

    def _is_odd(self, name: bytes) -> bool:
        path = os.path.join(os.fsencode(self._worktree), name)
        try:
            name.decode()
        except UnicodeDecodeError:
            return True
        return os.path.islink(path) and os.path.isdir(path)
