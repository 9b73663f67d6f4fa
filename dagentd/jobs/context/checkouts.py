"""Shared by the sessions of a worktree: git's view of it and the project's own rules, read once for all of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dagentd.adapters import git
from dagentd.adapters.files import beneath, marks
from dagentd.adapters.git import repository
from dagentd.adapters.git.repository import Head, Snapshot
from dagentd.errors import DagentdError
from dagentd.jobs.context import instructions
from dagentd.model import oneline
from dagentd.settings import Settings
from dagentd.settings.tables import Context

# The folders and files of a checkout as an indented tree, one a line.


def draw_tree(paths: Iterable[str], left_out: int) -> str:
    """`paths` go depth first, have no line ends in them, and those of folders end in `/`."""
    lines = [_line(path) for path in paths]
    if left_out:
        lines.append(f"[{left_out} more left out]")
    return "\n".join(lines)


def _line(path: str) -> str:
    bare = path.removesuffix("/")
    return "  " * bare.count("/") + bare.rpartition("/")[2] + "/" * path.endswith("/")


# What the sessions of a worktree share: git's view of it and the project's own rules, read once for all of them.

_HELD = 512  # worktrees
_TICK = 20_000_000  # ns: a file that was written later than this before we read it may change and look the same
_SHORT = 7  # digits of a commit's id
_SUBJECT = 200  # characters

Marks = tuple[tuple[str, str, marks.Mark | None], ...]


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
    marks: Marks | None = None  # of the files it was read from; None: they may read otherwise and look the same


class Checkouts:
    """Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Path, _Held] = {}
        self._made: dict[Path, tuple[Checkout, Marks]] = {}  # by a feature's folder: what its contexts were made from

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
            self._made = {path: made for path, made in self._made.items() if not path.is_relative_to(worktree)}

    def note(self, feature: Path, checkout: Checkout, marks: Marks | None) -> None:
        """The contexts of a feature were made from this, and from files with these marks of its own."""
        with self._lock:
            if marks is None:
                self._made.pop(feature, None)
            else:
                self._made[feature] = checkout, marks

    def is_current(self, feature: Path, worktree: Path, common: Path, settings: Settings) -> bool:
        """Whether the contexts of a feature would be the same today: some stats, and where HEAD is."""
        held, (checkout, known) = self._of(worktree), self._made.get(feature, (None, ()))
        with held.lock:
            if checkout is None or checkout is not held.checkout or held.marks is None:
                return False
            same = held.asked == (_head(worktree, common), settings.context)
            return same and held.marks == _marks(worktree, checkout.sources) and known == again(known)

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
        if known is not None and not known.notes and held.marks == _marks(worktree, known.sources):
            return
        begin = time.time_ns()
        held.asked, held.checkout = asked, _checkout(worktree, common, settings, now)
        held.marks = settled(_marks(worktree, held.checkout.sources), begin)


def _head(worktree: Path, common: Path) -> Head | str:
    """Or why it cannot be known."""
    try:
        return repository.head(worktree, git.checked_dir(worktree, common))
    except DagentdError as error:
        return error.message


def _snapshot(worktree: Path, common: Path, wanted: Context) -> Snapshot:
    try:
        own = git.checked_dir(worktree, common)
    except DagentdError as error:
        return repository.unread(error, worktree)
    return repository.snapshot(
        worktree, own, commits=wanted.max_commits, depth=wanted.structure_depth, entries=wanted.structure_entries
    )


def _checkout(worktree: Path, common: Path, settings: Settings, head: Head | str) -> Checkout:
    snapshot = _snapshot(worktree, common, settings.context)
    claude, agents = instructions.rules(worktree)
    project = instructions.plain(worktree / "PROJECT.md", worktree)
    return Checkout(
        head=snapshot.head if isinstance(head, Head) else None,
        structure=draw_tree(snapshot.listing.folders_and_files, snapshot.listing.left_out),
        commits=[f"{each.id[:_SHORT]} - {oneline.cut(each.subject, _SUBJECT)}" for each in snapshot.commits],
        claude_md=claude.text,
        agents_md=agents.text,
        project_md=project.text,
        notes=(*snapshot.notes, *claude.notes, *agents.notes, *project.notes),
        sources=claude.sources | agents.sources | project.sources,
    )


def _marks(worktree: Path, sources: frozenset[Path]) -> Marks:
    """The marks of what can change without HEAD: those files, the names at the top, and which of them git ignores."""
    return marks_of([*sorted(sources), worktree, worktree / ".gitignore", *_excludes(worktree)])


def marks_of(paths: Iterable[Path | str]) -> Marks:
    return tuple((str(path), str(real := beneath.real(path)), marks.of(real)) for path in paths)


def again(known: Marks) -> Marks:
    """The marks that the same paths have now."""
    return marks_of(path for path, _, _ in known)


def settled(seen: Marks, begin: int) -> Marks | None:
    """None if one of the files was written so short a time before it was read, or later, that it may be read otherwise
    and look the same."""
    return seen if all(mark is None or mark[3] < begin - _TICK for _, _, mark in seen) else None


def _excludes(worktree: Path) -> list[Path]:
    own = _git_dir(worktree)
    with contextlib.suppress(OSError, DagentdError):  # it was removed at this moment, or is no repository's
        return [] if own is None else [git.common_dir(own) / "info" / "exclude"]
    return []


def _git_dir(worktree: Path) -> Path | None:
    """The git folder; what git itself would say to one that is closed to us is a note, and no reason to stop."""
    try:
        return git.git_dir(worktree)
    except DagentdError:
        return worktree / ".git"
