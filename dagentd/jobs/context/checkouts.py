"""What the sessions of a worktree share: git's view of it and the project's own rules, read once for all of them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from dagentd.adapters import git, marks
from dagentd.adapters.git import repository
from dagentd.adapters.git.repository import Head, Listing, Snapshot
from dagentd.errors import DagentdError
from dagentd.jobs.context import instructions, texts
from dagentd.model import oneline, structure
from dagentd.settings import Settings
from dagentd.settings.tables import Context

_HELD = 512  # worktrees
_TICK = 20_000_000  # ns: a file that was written later than this before we read it may change and look the same
_SHORT = 7  # digits of a commit's id
_SUBJECT = 200  # characters

_Marks = tuple[tuple[str, str, marks.Mark | None], ...]


@dataclass(frozen=True)
class Checkout:
    head: Head | None  # None: git cannot be read
    structure: str
    commits: list[str]
    claude_md: str
    agents_md: str
    project_md: str
    notes: tuple[str, ...]
    sources: frozenset[Path]


@dataclass
class _Held:
    lock: threading.Lock = field(default_factory=threading.Lock)
    was_checkout: bool = False
    checkout: Checkout | None = None
    asked: tuple[Head | str, Context] | None = None  # for which HEAD and which settings it was read
    marks: _Marks | None = None  # of the files it was read from; None: they may read otherwise and look the same


class Checkouts:
    """Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Path, _Held] = {}

    def look(self, worktree: Path, common: Path, settings: Settings, *, fresh: bool = False) -> Checkout | None:
        """`common` is the git folder it must belong to; `fresh` trusts nothing that was read before. None for one that
        was a checkout and is none any more: it is being removed."""
        held = self._of(worktree)
        with held.lock:
            if held.was_checkout and _git_dir(worktree) is None:
                return None
            now = _head(worktree, common)
            held.was_checkout = isinstance(now, Head)
            self._read(held, worktree, common, settings, now, fresh)
            return held.checkout

    def forget(self, worktree: Path) -> None:
        """It is gone; one that comes back under the same name is another."""
        with self._lock:
            self._held.pop(worktree, None)

    def _of(self, worktree: Path) -> _Held:
        with self._lock:
            held = self._held.pop(worktree, None) or _Held()
            self._held[worktree] = held  # last: the order tells which was not used for longest
            if len(self._held) > _HELD:
                del self._held[next(iter(self._held))]
            return held

    def _read(
        self, held: _Held, worktree: Path, common: Path, settings: Settings, now: Head | str, fresh: bool
    ) -> None:
        asked = (now, settings.context)
        known = held.checkout if held.asked == asked and held.marks and not fresh else None
        if known is not None and held.marks == _marks(worktree, known.sources):
            return
        begin = time.time_ns()
        held.asked, held.checkout = asked, _checkout(worktree, common, settings, now)
        seen = _marks(worktree, held.checkout.sources)
        settled = all(mark is None or mark[3] < begin - _TICK for _, _, mark in seen)
        held.marks = seen if settled and not held.checkout.notes else None  # what was missing may be read the next time


def _head(worktree: Path, common: Path) -> Head | str:
    """Or why it cannot be known."""
    try:
        git.check_belongs(worktree, common)
        return repository.head(worktree)
    except DagentdError as error:
        return error.message


def _snapshot(worktree: Path, common: Path, wanted: Context) -> Snapshot:
    try:
        git.check_belongs(worktree, common)
    except DagentdError as error:
        return Snapshot(Head(None, None), (), Listing((), 0), (f"Git was not read: it {error.message}.",))
    return repository.snapshot(
        worktree, commits=wanted.max_commits, depth=wanted.structure_depth, entries=wanted.structure_entries
    )


def _checkout(worktree: Path, common: Path, settings: Settings, head: Head | str) -> Checkout:
    snapshot = _snapshot(worktree, common, settings.context)
    claude, agents = instructions.rules(worktree)
    project = texts.plain(worktree / "PROJECT.md", worktree)
    return Checkout(
        head=snapshot.head if isinstance(head, Head) else None,
        structure=structure.tree(snapshot.listing.folders_and_files, snapshot.listing.left_out),
        commits=[f"{each.id[:_SHORT]} - {oneline.cut(each.subject, _SUBJECT)}" for each in snapshot.commits],
        claude_md=claude.text,
        agents_md=agents.text,
        project_md=project.text,
        notes=(*snapshot.notes, *claude.notes, *agents.notes, *project.notes),
        sources=claude.sources | agents.sources | project.sources,
    )


def _marks(worktree: Path, sources: frozenset[Path]) -> _Marks:
    """What can change without HEAD: those files, which names are at the top, and which of them git ignores."""
    looked_at = [*sorted(sources), worktree, worktree / ".gitignore", *_excludes(worktree)]
    return tuple((str(path), real := os.path.realpath(path), marks.of(Path(real))) for path in looked_at)


def _excludes(worktree: Path) -> list[Path]:
    own = _git_dir(worktree)
    with contextlib.suppress(OSError):  # it was removed at this moment
        return [] if own is None else [git.common_dir(own) / "info" / "exclude"]
    return []


def _git_dir(worktree: Path) -> Path | None:
    """What git itself would say to a git folder that is closed to us is a note, and no reason to stop."""
    try:
        return git.git_dir(worktree)
    except DagentdError:
        return worktree / ".git"
