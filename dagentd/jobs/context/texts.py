"""Text files of a worktree that become part of a context: whose they are decides whether they are read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dagentd.adapters import beneath, files
from dagentd.errors import CorruptFile, DagentdError, LimitReached, NotAllowed
from dagentd.model import oneline

LIMIT = 4 << 20  # bytes; Claude Code skips larger ones too


@dataclass(frozen=True)
class Text:
    text: str = ""
    notes: tuple[str, ...] = ()  # what is missing and why
    sources: frozenset[Path] = frozenset()  # the files it is made of, and those that would be if they were there


def plain(path: Path, worktree: Path) -> Text:
    """A file as it is; an empty text if there is none, or with a note if it cannot be used. Out of descriptors nothing
    is known of it: LimitReached."""
    sources = frozenset((path, *way(path, worktree)))
    try:
        return Text(read(path, worktree).strip("\n"), sources=sources)
    except FileNotFoundError:
        return Text(sources=sources)
    except LimitReached:
        raise
    except DagentdError as error:
        return Text(notes=(f"{name(path, worktree)}: {error.message}.",), sources=sources)


def read(path: Path, worktree: Path, limit: int = LIMIT) -> str:
    """FileNotFoundError if there is none; a DagentdError says why one that is there is left out."""
    found, root = _located(path, worktree)
    return decoded(path, files.read(found, limit, root))


def opened(path: Path, worktree: Path) -> BinaryIO:
    """The same for one of any size or kind. As with `read`, what was found is opened and nothing else: folders on the
    way may be exchanged for links meanwhile."""
    return files.opened(*_located(path, worktree))


def within(path: Path, worktree: Path) -> Path:
    """Where a path leads, if that is in the worktree: CLAUDE.md may be a link to AGENTS.md, and not to ~/.ssh. Git's
    own folder has passwords in its config."""
    return _located(path, worktree)[0]


def _located(path: Path, worktree: Path) -> tuple[Path, Path]:
    found, root = beneath.real(path), beneath.place_of(worktree)
    if not found.is_relative_to(root):
        raise NotAllowed("leads out of its worktree", path=path, hint="Put the file itself there.")
    if ".git" in found.relative_to(root).parts:
        raise NotAllowed("is in git's own folder", path=path, hint="Put a copy elsewhere.")
    return found, root


def way(path: Path, worktree: Path) -> Iterator[Path]:
    """What decides on where a path leads, each in the folder where it really is: its own name, also if it is refused,
    because it may be replaced; the links on the way; the file itself."""
    for each in (path, *filter(os.path.islink, path.parents), beneath.real(path)):
        with contextlib.suppress(DagentdError):
            if each.name != "..":
                yield within(each.parent, worktree) / each.name


def decoded(path: Path, data: bytes) -> str:
    """Bytes that are no UTF-8 are shown as such: most of a text in an old encoding can still be read."""
    if b"\0" in data:
        raise CorruptFile("is no text: it has NUL bytes", path=path, hint="Save it as UTF-8.")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def name(path: Path, worktree: Path) -> str:
    """How a note calls it: from the root of the worktree."""
    shown = os.path.relpath(path, worktree) if path.is_relative_to(worktree) else str(path)
    return oneline.cut(oneline.visible(shown), 200)
