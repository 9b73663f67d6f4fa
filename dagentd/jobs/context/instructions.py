"""The project's own rules: CLAUDE.md with the files it imports, as one text, or AGENTS.md."""

from __future__ import annotations

import os
from pathlib import Path

from dagentd.adapters import beneath
from dagentd.errors import DagentdError, LimitReached
from dagentd.jobs.context import texts
from dagentd.jobs.context.texts import Text
from dagentd.model import claude_md

_HOPS = 4
_FILES = 100
_WORDS = 1000  # behind an @ that are looked for on disk
_MISSED = 50  # of those that are not there, which are waited for


def rules(worktree: Path) -> tuple[Text, Text]:
    """What CLAUDE.md says and what AGENTS.md says, which counts only where there is no CLAUDE.md that can be read. The
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
        self._room = texts.LIMIT
        self._words = 0
        self._missed = 0

    def result(self) -> Text:
        if self._words > _WORDS:
            self._notes.append(f"Of {self._words} words with @ only the first {_WORDS} were looked for.")
        return Text("\n\n".join(self._texts), tuple(self._notes), frozenset(self._sources))

    def take(self, path: Path, importer: Path | None = None, hops: int = 0) -> bool:
        """Whether there is such a file. What it imports comes right behind it."""
        self._sources.update(texts.way(path, self._worktree))
        try:
            real = texts.within(path, self._worktree)
            if real in self._seen:
                return True
            text = claude_md.without_comments(texts.read(path, self._worktree))
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
        """Whatever the word is, there may be such a file later: an agent writes CLAUDE.md before what it imports."""
        self._missed += 1
        if self._missed <= _MISSED:
            self._sources.update(*(texts.way(path, self._worktree) for path in candidates))

    def _note(self, path: Path, why: str, importer: Path | None) -> None:
        by = f" (imported by {self._name(importer)})" if importer else ""
        self._notes.append(f"{self._name(path)}{by}: {why}.")

    def _name(self, path: Path) -> str:
        return texts.name(path, self._worktree)
