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

from dagentd import paths
from dagentd.adapters import git
from dagentd.adapters.files import beneath, marks
from dagentd.adapters.git import Head, repository
from dagentd.errors import DagentdError, NotFound
from dagentd.jobs.context import feature_parts, instructions
from dagentd.jobs.context.feature_parts import FeatureParts
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.store.layout import watch_plan
from dagentd.store.ledger import ledger
from dagentd.store.memory import Memory

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
_ATTACHED, _BYTES_PER_TOKEN = 4, 3  # of context.max_claude_md_tokens, attachments may have one part in so many

Marks = list[tuple[str, str, tuple[int, ...]]]  # of files: where each is, where its links lead, and what is there


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
    """Found for this question, with the marks that its files had then."""

    found: Any
    asked: object
    marks: Marks
    begun: int  # before that was read

    def is_current(self, asked: object) -> bool:
        """Not if one of the files was written so short a time before it was read, or later, that it may be read
        otherwise and look the same."""
        is_settled = all(max(mark[3:], default=0) < self.begun - _TICK for *_, mark in self.marks)
        return is_settled and self.asked == asked and self.marks == _marks(path for path, *_ in self.marks)


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
        self.reads[name] = _Read(found, asked, _marks(sorted(found.looked_at)), begin)
        return found


class Checkouts:
    """Of each only what may have changed is read. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Path, _Held] = {}
        self.ledger = ledger(paths.ledger_file())  # which says how large texts are

    def look(self, worktree: Path, common: Path, settings: Settings, *, fresh: bool = False) -> Checkout | None:
        """`common` is the git folder it must belong to; `fresh` trusts nothing that was read before. None for one that
        was a checkout and is none any more: it is being removed."""
        held = self._of(worktree)
        with held.lock:
            own, head = _where(worktree, common)
            if held.was_checkout and own is None and isinstance(head, NotFound):
                return None
            held.was_checkout = isinstance(head, Head)
            asked = str(head), settings.context
            view = held.kept("view", asked, fresh, lambda: _view(worktree, common, own, head, settings))
            return Checkout(view, held.kept("rules", None, fresh, lambda: _rules(worktree)))

    def parts(self, feature: FeatureFolder, memory: Memory, settings: Settings, *, fresh: bool = False) -> FeatureParts:
        """Of a feature, for all of its sessions."""
        most = settings.context.max_claude_md_tokens

        def read() -> FeatureParts:
            return feature_parts.read(feature, most // _ATTACHED * _BYTES_PER_TOKEN, memory)

        return self._of(feature.tree.worktree).kept(feature.path, most, fresh, read)

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
        held.made[feature.path] = _Read(used, None, _marks(sorted(others)), begin)

    def is_current(self, feature: FeatureFolder, common: Path, settings: Settings) -> bool:
        """Whether the contexts of a feature would be the same today: some stats, and where HEAD is."""
        worktree = feature.tree.worktree
        held = self._of(worktree)
        with held.lock:
            made = held.made.get(feature.path)
            if made is None or not made.is_current(None):
                return False
            wanted = settings.context
            asked = {
                "view": (str(_where(worktree, common)[1]), wanted), "rules": None,
                feature.path: wanted.max_claude_md_tokens,
            }  # fmt: skip
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


def _where(worktree: Path, common: Path) -> tuple[Path | None, Head | DagentdError]:
    """The git folder of a checkout and its HEAD, from one look at each; or why they cannot be known."""
    own = None
    try:
        own = git.checked_dir(worktree, common)
        return own, git.head(worktree, own)
    except DagentdError as error:
        return own, error


def _view(worktree: Path, common: Path, own: Path | None, head: Head | DagentdError, settings: Settings) -> View:
    wanted = settings.context
    if isinstance(head, Head):
        found = repository.snapshot(
            worktree, own, head, commits=wanted.max_commits, depth=wanted.structure_depth,
            entries=wanted.structure_entries,
        )  # fmt: skip
    else:
        found = repository.unread(head, worktree)
    return View(
        head=head if isinstance(head, Head) else None,
        structure=draw_tree(found.listing.folders_and_files, found.listing.left_out),
        commits=[f"{each.id[:_SHORT]} - {each.subject}" for each in found.commits],
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
    """Files lie in few folders: where these really are is looked up once for all of them."""
    folders, marks_of = dict[str, Path](), list[tuple[str, str, tuple[int, ...]]]()
    for path in map(str, paths):
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = beneath.real(folder)
        real = f"{folders[folder]}/{name}"
        if name in ("", ".", "..") or os.path.islink(real):
            real = str(beneath.real(path))
        marks_of.append((path, real, marks.seen(real)))
    return marks_of
