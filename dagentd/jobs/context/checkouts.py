"""Shared by the sessions of a worktree: git's view of it, the project's own rules, the parts of each feature. Read once
for all of them, and again only where a file has changed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dagentd.adapters import git
from dagentd.adapters.files import beneath
from dagentd.adapters.git import Head, repository
from dagentd.errors import DagentdError, NotFound
from dagentd.jobs.context import feature_parts, instructions
from dagentd.jobs.context.feature_parts import FeatureParts
from dagentd.model import oneline
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.store.layout import watch_plan

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


# What was read, and whether it would be the same today.

_HELD = 512  # worktrees
_TICK = 20_000_000  # ns: a file that was written later than this before we read it may change and look the same
_SHORT = 7  # digits of a commit's id
_SUBJECT = 200  # characters
_ATTACHED, _BYTES_PER_TOKEN = 4, 3  # of context.max_claude_md_tokens, attachments may have one part in so many

Mark = tuple[int, ...] | None  # of a file: by the time of change too, which no program can put back
Marks = tuple[tuple[str, str, Mark], ...]


class Sourced(Protocol):
    """Something that was read from files."""

    @property
    def notes(self) -> Sequence[str]:
        """Of what could not be read."""

    @property
    def looked_at(self) -> Iterable[Path]:
        """All that it would be read otherwise from, if it changed."""


S = TypeVar("S", bound=Sourced)


@dataclass(frozen=True)
class View:
    """Git's view of a checkout."""

    head: Head | None  # None: git cannot be read
    structure: str
    commits: list[str]
    notes: tuple[str, ...]
    looked_at: tuple[Path, ...]  # what can change without HEAD: the names at the top, and which of them git ignores


@dataclass(frozen=True)
class Rules:
    """The project's own, in a checkout."""

    claude_md: str
    agents_md: str
    project_md: str
    notes: tuple[str, ...]
    looked_at: frozenset[Path]
    elsewhere: frozenset[Path]  # of these, those that nobody would look for by their names


@dataclass(frozen=True)
class Checkout:
    view: View
    rules: Rules


@dataclass(frozen=True)
class _Read:
    """Found for this question, with the marks that its files had then; None if they may read otherwise and look the
    same."""

    found: Any
    asked: object
    marks: Marks | None

    def is_current(self, asked: object) -> bool:
        return self.asked == asked and self.marks is not None and self.marks == _marks(path for path, *_ in self.marks)


@dataclass
class _Held:
    """Of a worktree: what was read, by what it is; and by a feature's folder what its contexts were made from."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    was_checkout: bool = False
    reads: dict[object, _Read] = field(default_factory=dict)
    made: dict[Path, _Read] = field(default_factory=dict)

    def kept(self, name: object, asked: object, fresh: bool, read: Callable[[], S]) -> S:
        """As it was read before, if it would be the same today. What had to be left out is looked for each time."""
        known = self.reads.get(name)
        if known is not None and not fresh and not known.found.notes and known.is_current(asked):
            before: S = known.found
            return before
        begin = time.time_ns()
        found = read()
        self.reads[name] = _Read(found, asked, _settled(_marks(sorted(found.looked_at)), begin))
        return found


class Checkouts:
    """Of each only what may have changed is read. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Path, _Held] = {}

    def look(self, worktree: Path, common: Path, settings: Settings, *, fresh: bool = False) -> Checkout | None:
        """`common` is the git folder it must belong to; `fresh` trusts nothing that was read before. None for one that
        was a checkout and is none any more: it is being removed."""
        held = self._of(worktree)
        with held.lock:
            where = _where(worktree, common)
            if held.was_checkout and where.own is None and isinstance(where.head, NotFound):
                return None
            held.was_checkout = isinstance(where.head, Head)
            view = held.kept("view", where.asked(settings), fresh, lambda: _view(worktree, common, where, settings))
            return Checkout(view, held.kept("rules", None, fresh, lambda: _rules(worktree)))

    def parts(self, feature: FeatureFolder, settings: Settings, *, fresh: bool = False) -> FeatureParts:
        """Of a feature, for all of its sessions."""
        room, held = _attachment_room(settings), self._of(feature.tree.worktree)
        return held.kept(feature.path, room, fresh, lambda: feature_parts.read(feature, room))

    def read_once(self, feature: FeatureFolder, read: Callable[[FeatureFolder], S]) -> S:
        """Something else of a feature."""
        held = self._of(feature.tree.worktree)
        return held.kept((read.__name__, feature.path), None, False, lambda: read(feature))

    def forget(self, worktree: Path) -> None:
        """It is gone; one that comes back under the same name is another."""
        with self._lock:
            self._held.pop(worktree, None)

    def note(self, feature: FeatureFolder, others: Iterable[Path] | None, begin: int) -> None:
        """The contexts of a feature were made from what was read last, and from other files, which were read after
        `begin`; None: not all of them could be made."""
        held = self._of(feature.tree.worktree)
        if others is None:
            held.made.pop(feature.path, None)
            return
        used = [held.reads.get(name) for name in ("view", "rules", feature.path)]
        held.made[feature.path] = _Read(used, None, _settled(_marks(sorted(others)), begin))

    def is_current(self, feature: FeatureFolder, common: Path, settings: Settings) -> bool:
        """Whether the contexts of a feature would be the same today: some stats, and where HEAD is."""
        worktree = feature.tree.worktree
        held = self._of(worktree)
        with held.lock:
            made = held.made.get(feature.path)
            if made is None or not made.is_current(None):
                return False
            asked = {
                "view": _where(worktree, common).asked(settings),
                "rules": None,
                feature.path: _attachment_room(settings),
            }
            read = [
                (used, held.reads.get(name), each) for used, (name, each) in zip(made.found, asked.items(), strict=True)
            ]
            return all(used is known and used is not None and used.is_current(each) for used, known, each in read)

    def _of(self, worktree: Path) -> _Held:
        with self._lock:
            held = self._held.pop(worktree, None) or _Held()
            self._held[worktree] = held  # last: the order tells which was not used for longest
            if len(self._held) > _HELD:
                del self._held[next(iter(self._held))]
            return held


def _attachment_room(settings: Settings) -> int:
    """For the texts of all attachments together, in bytes."""
    return settings.context.max_claude_md_tokens // _ATTACHED * _BYTES_PER_TOKEN


@dataclass(frozen=True)
class _Where:
    """The git folder of a checkout and its HEAD, from one look at each; or why they cannot be known."""

    own: Path | None
    head: Head | DagentdError

    def asked(self, settings: Settings) -> object:
        return self.head if isinstance(self.head, Head) else self.head.message, settings.context


def _where(worktree: Path, common: Path) -> _Where:
    own = None
    try:
        own = git.checked_dir(worktree, common)
        return _Where(own, git.head(worktree, own))
    except DagentdError as error:
        return _Where(own, error)


def _view(worktree: Path, common: Path, where: _Where, settings: Settings) -> View:
    head, wanted = where.head, settings.context
    if isinstance(head, Head):
        found = repository.snapshot(
            worktree, where.own, head, commits=wanted.max_commits, depth=wanted.structure_depth,
            entries=wanted.structure_entries,
        )  # fmt: skip
    else:
        found = repository.unread(head, worktree)
    return View(
        head=head if isinstance(head, Head) else None,
        structure=draw_tree(found.listing.folders_and_files, found.listing.left_out),
        commits=[f"{each.id[:_SHORT]} - {oneline.cut(each.subject, _SUBJECT)}" for each in found.commits],
        notes=found.notes,
        looked_at=(worktree, worktree / ".gitignore", common / "info" / "exclude"),
    )


def _rules(worktree: Path) -> Rules:
    claude, agents = instructions.rules(worktree)
    project = instructions.plain(worktree / "PROJECT.md", worktree)
    looked_at = claude.sources | agents.sources | project.sources
    return Rules(
        claude_md=claude.text,
        agents_md=agents.text,
        project_md=project.text,
        notes=(*claude.notes, *agents.notes, *project.notes),
        looked_at=looked_at,
        elsewhere=frozenset(each for each in looked_at if not watch_plan.is_known(each, worktree)),
    )


def _marks(paths: Iterable[Path | str]) -> Marks:
    return tuple((str(path), str(real := beneath.real(path)), _mark(real)) for path in paths)


def _mark(path: Path) -> Mark:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _settled(seen: Marks, begin: int) -> Marks | None:
    """None if one of the files was written so short a time before it was read, or later, that it may be read otherwise
    and look the same."""
    return seen if all(mark is None or max(mark[3:]) < begin - _TICK for *_, mark in seen) else None
