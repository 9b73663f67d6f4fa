"""What to change in hook files, from what is in them: no disk is touched here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dagentd.errors import DagentdError
from dagentd.jobs.hooks import contents
from dagentd.jobs.hooks.surveying import Hook
from dagentd.jobs.hooks.writing import Change

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


def install(hooks: Sequence[Hook]) -> Changes:
    wanted = [(hook, _wanted(hook, word)) for hook, word in _words(hooks)]
    return {
        hook.target: Change(hook.held, data)
        for hook, data in wanted
        if isinstance(data, bytes) and data != hook.held
    }  # fmt: skip


def uninstall(held: Mapping[Path, bytes]) -> tuple[Changes, dict[Path, DagentdError]]:
    """A part of ours whose end is missing cannot be told from what is around it: it stays."""
    changes, refused = Changes(), {}
    for path, data in held.items():
        try:
            before = contents.without_ours(data)
        except DagentdError as error:
            refused[path] = error
            continue
        if before is not None:
            changes[path] = Change(data, before[0], folder=before[1])
    return changes, refused


def lines(hooks: Sequence[Hook], failed: Refused) -> list[Line]:
    return [_line(hook, _wanted(hook, word), failed) for hook, word in _words(hooks)]


def _line(hook: Hook, wanted: bytes | DagentdError, failed: Refused) -> Line:
    error = wanted if isinstance(wanted, DagentdError) else failed.get(hook.target)
    if error is not None:
        by_hand = hook.held is not None and contents.is_by_hand(hook.held)
        state: State = "by hand" if by_hand else "left alone"
        return Line(hook.worktree, hook.event, hook.path, state, error.message, "" if by_hand else error.hint)
    state = "installed" if wanted == hook.held else "missing"
    if state == "missing" and hook.held is not None and contents.without_ours(hook.held) is not None:
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
        return contents.with_ours(hook.held, word, made_folder=not hook.has_folder)
    except DagentdError as error:
        return error
