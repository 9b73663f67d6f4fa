"""The instructions of a worktree, CLAUDE.md with its imports or AGENTS.md, and how texts in it are read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dagentd.adapters.files import beneath, fileio
from dagentd.errors import CorruptFile, DagentdError, LimitReached, NotAllowed
from dagentd.model import claude_md, oneline

# Text files of a worktree that become part of a context: whose they are decides whether they are read.

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
    return decoded(path, fileio.read(found, limit, root))


def opened(path: Path, worktree: Path) -> BinaryIO:
    """The same for one of any size or kind. As with `read`, what was found is opened and nothing else: folders on the
    way may be exchanged for links meanwhile."""
    return fileio.opened(*_located(path, worktree))


def within(path: Path, worktree: Path) -> Path:
    """Where a path leads, if that is in the worktree: CLAUDE.md may be a link to AGENTS.md, and not to ~/.ssh. Git's
    own folder has passwords in its config."""
    return _located(path, worktree)[0]


def _located(path: Path, worktree: Path) -> tuple[Path, Path]:
    found, root = beneath.real(path), beneath.place_of(worktree)
    if not found.is_relative_to(root):
        raise NotAllowed("leads out of its worktree", path=path, hint="Put the file itself there.")
    if ".git" in map(str.lower, found.relative_to(root).parts):  # where a disk makes no difference, .GIT is it too
        raise NotAllowed("is in git's own folder", path=path, hint="Put a copy elsewhere.")
    return found, root


def way(path: Path, worktree: Path) -> Iterator[Path]:
    """The paths that decide where a path leads, each in the folder where it really is: its own name, also if it is
    refused, because it may be replaced; the links on the way; the file itself."""
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


# The project's own rules: CLAUDE.md with the files it imports, as one text, or AGENTS.md.

_HOPS = 4
_FILES = 100
_WORDS = 1000  # behind an @ that are looked for on disk
_MISSED = 50  # of those that are not there, which are waited for


def rules(worktree: Path) -> tuple[Text, Text]:
    """The texts of CLAUDE.md and of AGENTS.md, which counts only where there is no CLAUDE.md that can be read. The
    user's own CLAUDE.local.md stands for neither."""
    claude, agents = _Reading(worktree), _Reading(worktree)
    found = claude.take(worktree / "CLAUDE.md") or claude.take(worktree / ".claude" / "CLAUDE.md")
    claude.take(worktree / "CLAUDE.local.md")
    if not found:
        agents.take(worktree / "AGENTS.md")
    return claude.result(), agents.result()


class _Reading:
    """Each file once, however many import it: so a circle ends."""

    def __init__(self, worktree: Path) -> None:
        self._worktree = worktree
        self._texts: list[str] = []
        self._notes: list[str] = []
        self._seen: set[Path] = set()
        self._sources: set[Path] = set()
        self._room = LIMIT
        self._words = 0
        self._missed = 0

    def result(self) -> Text:
        if self._words > _WORDS:
            self._notes.append(f"Of {self._words} words with @ only the first {_WORDS} were looked for.")
        return Text("\n\n".join(self._texts), tuple(self._notes), frozenset(self._sources))

    def take(self, path: Path, importer: Path | None = None, hops: int = 0) -> bool:
        """Whether there is such a file. What it imports comes right behind it."""
        self._sources.update(way(path, self._worktree))
        try:
            real = within(path, self._worktree)
            if real in self._seen:
                return True
            text = claude_md.without_comments(read(path, self._worktree))
        except FileNotFoundError:
            return False
        except LimitReached:  # out of descriptors: an agent without its rules is worse than one with those of before
            raise
        except DagentdError as error:
            self._note(path, error.message, importer)
            return False
        self._seen.add(real)
        if len(self._seen) > _FILES or len(text) > self._room:
            self._note(path, "is left out: all imports together are too much", importer)
            return True
        self._room -= len(text)
        if text.strip():
            head = f"Contents of {self._name(path)}:\n\n" if self._texts else ""
            self._texts.append(head + text.strip("\n"))
        self._follow(text, path, hops)
        return True

    def _follow(self, text: str, path: Path, hops: int) -> None:
        for word in claude_md.imports(text):
            self._words += 1
            if self._words > _WORDS or (found := self._meant(word, path)) is None:
                continue
            if hops < _HOPS:
                self.take(found, path, hops + 1)
            elif beneath.real(found) not in self._seen:
                self._note(found, f"is left out, being more than {_HOPS} imports away", path)

    def _meant(self, word: str, importer: Path) -> Path | None:
        """The file that is there. Names, decorators and addresses are none; a missing `.md` is a mistake to tell."""
        candidates = [importer.parent / os.path.expanduser(path) for path in claude_md.paths(word)]
        for path in candidates:
            if os.path.isfile(path):  # which raises for nothing, be it too long or in a folder that is closed to us
                return path
        self._miss(candidates)
        if missing := [path for path in candidates if path.suffix.lower() == ".md"]:
            self._note(missing[0], "is not there", importer)
        return None

    def _miss(self, candidates: list[Path]) -> None:
        """Note where an import may be found later: an agent writes CLAUDE.md before what it imports."""
        self._missed += 1
        if self._missed <= _MISSED:
            self._sources.update(*(way(path, self._worktree) for path in candidates))

    def _note(self, path: Path, why: str, importer: Path | None) -> None:
        by = f" (imported by {self._name(importer)})" if importer else ""
        self._notes.append(f"{self._name(path)}{by}: {why}.")

    def _name(self, path: Path) -> str:
        return name(path, self._worktree)
