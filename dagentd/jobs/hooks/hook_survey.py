"""The hook files of a repository with all its worktrees: which there are, and which we may write."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dagentd.adapters import git
from dagentd.adapters.files import beneath, disk, fileio
from dagentd.adapters.git import command as git_hooks
from dagentd.errors import CorruptFile, DagentdError, NotAllowed, from_oserror
from dagentd.jobs.hooks import hook_text
from dagentd.model.project import Project
from dagentd.store.spool import EVENTS

_LARGEST_SCRIPT = 1 << 20


@dataclass(frozen=True)
class Hook:
    """One hook as one worktree sees it. `path` is what git runs, `target` what it is behind links; `barred` says
    why it is not ours to write."""

    worktree: Path
    event: str
    path: Path
    target: Path
    held: bytes | None = None
    has_folder: bool = True
    barred: DagentdError | None = None


def checkouts(project: Project) -> dict[str, Path]:
    """By their names in the git folder; the main one, or the bare repository itself, has none."""
    return {"": project.root, **git.linked_worktrees(project.common_dir)}


def survey(project: Project) -> list[Hook]:
    roots = list(checkouts(project).values())
    found = []
    for root in roots:
        try:
            folder = git_hooks.folder(root)
        except DagentdError as error:
            usual = project.common_dir / "hooks"
            found += [Hook(root, event, usual / event, usual / event, barred=error) for event in EVENTS]
        else:
            found += [_hook(project, roots, root, folder / event) for event in EVENTS]
    return found


def read_again(hooks: Sequence[Hook], changed: Collection[Path]) -> list[Hook]:
    """The same hooks as they are now, without asking git again where they are."""
    return [replace(hook, held=_read(hook.target)) if hook.target in changed else hook for hook in hooks]


def files_around(project: Project, hooks: Sequence[Hook]) -> tuple[dict[Path, bytes], dict[Path, DagentdError]]:
    """Every file that may hold a part of ours: where git looks now, where it looks by default, and under the names that
    other tools give to the hooks they replace (`post-commit.legacy`). And what may not be read: hooks, or folders."""
    roots, held, unread = list(checkouts(project).values()), dict[Path, bytes](), dict[Path, DagentdError]()

    def ours(paths: Iterable[Path]) -> list[Path]:
        return sorted(path for path in paths if _owner(project, roots, path) is not None)

    paths = {hook.target for hook in hooks}
    folders = {project.common_dir / "hooks", *(hook.path.parent for hook in hooks)}
    for folder in ours(map(beneath.real, folders)):
        try:
            paths |= _regular(folder)
        except OSError as error:
            unread[folder] = from_oserror(error, folder)
    for path in (each for each in ours(paths) if each.parent not in unread):
        try:
            held |= {path: found} if (found := _read(path)) is not None else {}
        except NotAllowed as error:
            unread |= {path: error} if path.name in EVENTS else {}
    return held, unread


def _hook(project: Project, roots: Sequence[Path], root: Path, path: Path) -> Hook:
    target = Path(os.path.realpath(path))
    held, barred = None, None
    try:
        held = None if disk.is_missing(target) else fileio.read(target, fileio.CHAT_LIMIT)
        _check_place(project, roots, path, target)
        if held is not None and not os.access(target, os.X_OK):
            hint = f"If it shall run: chmod +x {path}; dagentd hooks install"
            raise NotAllowed("git ignores it: it is not executable", hint=hint)
    except DagentdError as error:
        barred = error
    return Hook(root, path.name, path, target, held, target.parent.is_dir(), barred)


def _check_place(project: Project, roots: Sequence[Path], path: Path, target: Path) -> None:
    """A folder that other repositories use too, and what git would show as changed, is not ours to write."""
    if path.parent.exists() and not path.parent.is_dir():
        raise NotAllowed(f"git runs no hooks here: core.hooksPath is {path.parent}", hint="Unset it to have hooks run.")
    owner = _owner(project, roots, target)
    if owner is None:
        raise NotAllowed("lies outside of this repository: others may use it too", hint=_by_hand(path))
    if owner != project.common_dir and not path.parent.is_dir():
        hint = "When it is there (husky makes it in `npm install`), run: dagentd hooks install"
        raise NotAllowed("git runs no hooks here: their folder in the working tree is not there", hint=hint)
    if owner != project.common_dir and git_hooks.would_show(owner, target):
        raise NotAllowed("lies in the working tree, where git would see the change", hint=_by_hand(path))


def _by_hand(path: Path) -> str:
    return f"Add this line to it yourself: {hook_text.to_add(path.name)}"


def _owner(project: Project, roots: Sequence[Path], target: Path) -> Path | None:
    """The git folder or the worktree that a file is in."""
    if beneath.place_of(project.common_dir) in target.parents:
        return project.common_dir
    around = [root for root in roots if beneath.place_of(root) in target.parents]
    return max(around, key=lambda root: len(root.parts), default=None)


def _read(path: Path) -> bytes | None:
    """None where no part of ours can be. One that cannot be read just now may have it: an error."""
    try:
        return fileio.read(path, _LARGEST_SCRIPT)
    except (FileNotFoundError, CorruptFile):
        return None
    except NotAllowed as error:
        if isinstance(error.__cause__, OSError):  # the system's word, and not ours on what is no regular file
            raise
        return None


def _regular(folder: Path) -> set[Path]:
    """The files in a folder; OSError if it may not be looked into."""
    try:
        with os.scandir(folder) as entries:
            return {Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)}
    except (FileNotFoundError, NotADirectoryError):
        return set()
