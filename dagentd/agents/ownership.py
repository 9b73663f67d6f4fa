"""Whose a conversation is: of the registered project in which its first folder lies, however that folder is named, and
also when it is gone. A folder is what an agent wrote: it is compared and never opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dagentd.adapters import git
from dagentd.adapters.files import fileio
from dagentd.errors import DagentdError
from dagentd.model.project import Registered

_POINTER = 1 << 13  # bytes: a path has at most 4096


@dataclass(frozen=True)
class Owner:
    """A project and the worktree of it; without a project (scope `all`), the folder alone."""

    project: str | None
    root: str | None
    worktree: str


def now(owner: Owner, roots: Mapping[str, str]) -> Owner:
    """Where a project's conversation is to be found after its repository was moved. `roots` by the projects' ids."""
    root = roots.get(owner.project or "")
    if root is None or owner.root is None or root == owner.root:
        return owner
    moved = _is_under(owner.worktree, owner.root)
    return Owner(owner.project, root, root + owner.worktree[len(owner.root) :] if moved else owner.worktree)


class Ownership:
    """As the registry, the repositories and the settings are now: made anew for each look at everything."""

    def __init__(
        self, projects: Iterable[Registered], known: Iterable[Owner] = (), *, scope: str = "registered",
        ignored: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._projects = {_real(each.project.common_dir): each for each in projects}
        self._everything = scope == "all"
        self._ignored = [_normal(os.path.expanduser(path)) for path in ignored]
        self._places = self._known_places(known)
        self._asked: dict[str, Owner | None] = {}

    def of(self, cwd: str | None) -> Owner | None:
        """None: it is not ours to keep."""
        if cwd is None or not os.path.isabs(cwd) or "\0" in cwd:
            return None
        if cwd not in self._asked:
            self._asked[cwd] = self._found(_normal(cwd))
        return self._asked[cwd]

    def _found(self, cwd: str) -> Owner | None:
        if any(_is_under(cwd, path) for path in self._ignored):
            return None
        return self._by_git(cwd) or (Owner(None, None, cwd) if self._everything else None)

    def _by_git(self, cwd: str) -> Owner | None:
        """A folder that is there says itself which repository it is in. Of one that is gone, the longest known path
        above it counts, unless what is left of its way lies in another repository below that."""
        there = _deepest(cwd)
        top = _checkout(there)
        try:
            project = git.project_at(Path(there))
        except (OSError, DagentdError):
            project = None
        entry = self._projects.get(_real(project.common_dir)) if project is not None else None
        if there != cwd and (known := self._remembered(cwd)) is not None:
            foreign = project is not None and entry is None and _is_under(top, known.worktree)
            return None if foreign else replace(known, worktree=_gone_checkout(cwd, known.worktree))
        return None if entry is None else Owner(entry.id, str(entry.project.root), _gone_checkout(cwd, top))

    def _remembered(self, cwd: str) -> Owner | None:
        above = [path for path in self._places if _is_under(cwd, path)]
        return self._places[max(above, key=len)] if above else None

    def _known_places(self, known: Iterable[Owner]) -> dict[str, Owner]:
        """Where worktrees are or were: as git has it of those that nobody pruned yet, and as we have seen them."""
        by_id = {each.id: each for each in self._projects.values()}
        by_root = {str(each.project.root): each for each in self._projects.values()}
        found: dict[str, Owner] = {}
        for owner in known:
            entry = by_id.get(owner.project or "") or by_root.get(owner.root or "")
            if entry is not None:
                root = owner.root or str(entry.project.root)  # of one that was moved, `now` says where it is
                found[owner.worktree] = Owner(entry.id, root, owner.worktree)
        for entry in self._projects.values():
            for path in (str(entry.project.root), *_linked(entry.project.common_dir)):
                found[path] = Owner(entry.id, str(entry.project.root), path)
        return found


def _linked(common: Path) -> list[str]:
    """Where the linked worktrees of a repository are or were."""
    try:
        names = os.listdir(common / "worktrees")
    except OSError:  # git removes the folder with the last one
        return []
    found = []
    for name in names:
        try:
            pointer = os.fsdecode(fileio.read(common / "worktrees" / name / "gitdir", _POINTER)).rstrip("\n")
        except (OSError, DagentdError):
            continue
        marker = os.path.normpath(common / "worktrees" / name / pointer)
        if os.path.basename(marker) == ".git":
            found.append(os.path.dirname(marker))
    return found


def _checkout(folder: str) -> str:
    """The top of the checkout that a folder lies in."""
    for path in (Path(folder), *Path(folder).parents):
        if os.path.lexists(path / ".git"):
            return str(path)
    return folder


def _gone_checkout(cwd: str, above: str) -> str:
    """The worktree that a folder was in which is gone, where its way from a checkout says so."""
    parts = Path(cwd).relative_to(above).parts if _is_under(cwd, above) and not os.path.isdir(cwd) else ()
    for holder in ((".dagent-worktrees",), (".claude", "worktrees")):
        if parts[: len(holder)] == holder and len(parts) > len(holder):
            return str(Path(above, *parts[: len(holder) + 1]))
    return above


def _deepest(cwd: str) -> str:
    """The folder itself if it is there, else the nearest one above it that is."""
    path = cwd
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def _is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _normal(path: str) -> str:
    return os.path.normpath(path)


def _real(path: Path) -> str:
    return os.path.realpath(path)
