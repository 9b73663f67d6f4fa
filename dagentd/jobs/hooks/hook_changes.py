"""Changes of hook files: planned from what is in them, and made whole, never over another program's change."""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import Conflict, DagentdError
from dagentd.jobs.hooks import hook_text
from dagentd.jobs.hooks.hook_survey import Hook

# Changing hook files: whole, runnable from their first moment, and never over another program's change.

_TEMPS = Temps()


@dataclass(frozen=True)
class Change:
    """None is no file. `folder`: one that is missing is made, one that is left empty goes."""

    before: bytes | None
    after: bytes | None
    folder: bool = False


def apply_changes(changes: Mapping[Path, Change], roots: Collection[Path]) -> dict[Path, DagentdError]:
    """Apply changes to hooks; those that failed, each with the reason. The rest is done. Below the roots no link is
    followed that came since it was looked where the hooks are."""
    failed: dict[Path, DagentdError] = {}
    for path, change in changes.items():
        try:
            with disk.explained(path), beneath.within([*roots, *map(beneath.real, roots)]):
                _apply(path, change)
        except atomic.Changed:
            failed[path] = Conflict("was changed by another program meanwhile", path=path, hint="Try again.")
        except DagentdError as error:
            failed[path] = error
    return failed


def _apply(path: Path, change: Change) -> None:
    if change.after is None:
        disk.remove(path)
        with contextlib.suppress(OSError):
            if change.folder:
                disk.remove_folder(path.parent)
    elif change.before is None:
        if not path.parent.is_dir():
            _make_folder(path.parent)
        _create_executable(path, change.after)
    else:
        done = atomic.publish(path, [change.after], expect=fileio.digest(change.before), sync=True)
        if done.replaced is not None:
            done.replaced.close()


def _make_folder(folder: Path) -> None:
    """As open as the one it is in: where git may not look into it, it prints that the hook is ignored."""
    disk.make_folder(folder)
    fd = beneath.opened_folder(folder)
    try:
        disk.allow(fd, folder.parent.stat().st_mode & 0o777, folder)
    finally:
        os.close(fd)


def _create_executable(path: Path, data: bytes) -> None:
    """A new file that can be run from its first moment on: git prints a hint about one that cannot."""
    temp, fd = _TEMPS.create(path)
    try:
        disk.write(fd, data, temp)
        disk.allow(fd, 0o755, temp)
        disk.sync(fd, temp)
        disk.rename_new(temp, path)
    except FileExistsError:
        raise atomic.Changed(path) from None
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):  # it is not there any more, or the disk is what failed before
            disk.remove(temp)
    disk.sync_folder(path.parent)


# What to change in hook files, from what is in them: no disk is touched here.

State = Literal["installed", "outdated", "missing", "by hand", "left alone"]
Changes = dict[Path, Change]
Refused = Mapping[Path, DagentdError]


@dataclass(frozen=True)
class Line:
    """One hook of one worktree; `arrived` says whether a probe did, None if there was none."""

    worktree: Path
    event: str
    path: Path
    state: State
    reason: str = ""
    hint: str = ""
    arrived: bool | None = None

    def raw(self) -> dict[str, Any]:
        where = {"worktree": str(self.worktree), "event": self.event, "path": str(self.path)}
        return {**where, "state": self.state, "reason": self.reason, "hint": self.hint, "arrived": self.arrived}


def plan_install(hooks: Sequence[Hook]) -> Changes:
    wanted = [(hook, _wanted(hook, word)) for hook, word in _words(hooks)]
    return {
        hook.target: Change(hook.held, data)
        for hook, data in wanted
        if isinstance(data, bytes) and data != hook.held
    }  # fmt: skip


def plan_uninstall(held: Mapping[Path, bytes]) -> tuple[Changes, dict[Path, DagentdError]]:
    """A part of ours whose end is missing cannot be told from what is around it: it stays."""
    changes, refused = Changes(), {}
    for path, data in held.items():
        try:
            before = hook_text.without_ours(data)
        except DagentdError as error:
            refused[path] = error
            continue
        if before is not None:
            changes[path] = Change(data, before[0], folder=before[1])
    return changes, refused


def plan_lines(hooks: Sequence[Hook], failed: Refused) -> list[Line]:
    return [_line(hook, _wanted(hook, word), failed) for hook, word in _words(hooks)]


def _line(hook: Hook, wanted: bytes | DagentdError, failed: Refused) -> Line:
    error = wanted if isinstance(wanted, DagentdError) else failed.get(hook.target)
    if error is not None:
        by_hand = hook.held is not None and hook_text.is_by_hand(hook.held)
        state: State = "by hand" if by_hand else "left alone"
        return Line(hook.worktree, hook.event, hook.path, state, error.message, "" if by_hand else error.hint)
    state = "installed" if wanted == hook.held else "missing"
    if state == "missing" and hook.held is not None and hook_text.without_ours(hook.held) is not None:
        state = "outdated"
    return Line(hook.worktree, hook.event, hook.path, state)


def _words(hooks: Sequence[Hook]) -> list[tuple[Hook, str]]:
    """Each with what stands for its event in its part: if one file is linked to under several names, the name it is
    run by."""
    events = defaultdict(set)
    for hook in hooks:
        events[hook.target].add(hook.event)
    return [(hook, hook.event if len(events[hook.target]) == 1 else "${0##*/}") for hook in hooks]


def _wanted(hook: Hook, word: str) -> bytes | DagentdError:
    """The bytes it should have, or why it is left alone."""
    if hook.barred is not None:
        return hook.barred
    try:
        return hook_text.with_ours(hook.held, word, made_folder=not hook.has_folder)
    except DagentdError as error:
        return error
