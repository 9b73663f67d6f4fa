"""Git's objects as they are stored, for both readers the same: the commit's subject, the tree's entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dagentd.model import oneline

SUBJECT = 200  # characters; a subject is a line, and some programs put all they have to say into it
FILE, FOLDER, SUBMODULE = b"100644", b"40000", b"160000"  # modes in a tree; there are more for files
_BLANK = b" \t\r"
Entry = tuple[bytes, bytes, bytes]  # of a tree: mode, name, id. No class: it takes 2 µs to make one, and there are many


@dataclass(frozen=True)
class Commit:
    id: str
    subject: str


class Objects(Protocol):
    """What a reader of a repository must be able to do. It never writes, and takes no lock."""

    def history(self, start: str, count: int) -> list[str]:
        """The ids of a commit and of those before it, by first parents: what was done on this branch. A merge is one
        line, and not the commits of others mixed in by their dates, which also costs 100 times more to sort."""

    def read(self, ids: Sequence[str]) -> list[bytes | None]:
        """The objects; None for one that is not here."""

    def ignored(self, names: Sequence[bytes]) -> set[bytes]:
        """Which of these names at the top of the worktree git ignores."""


def subject(commit: bytes) -> str:
    """The first paragraph on one line, as git shows it, in the encoding that the commit names."""
    header, _, message = commit.partition(b"\n\n")
    lines = [line.rstrip(_BLANK) for line in message.split(b"\n")]
    first = next((number for number, line in enumerate(lines) if line), len(lines))
    last = next((number for number in range(first, len(lines)) if not lines[number]), len(lines))
    text = _decoded(b" ".join(lines[first:last]), header).replace("\t", " ")
    return oneline.cut(oneline.visible(text), SUBJECT)


def tree_of(commit: bytes) -> str:
    return commit.split(b"\n", 1)[0].removeprefix(b"tree ").decode()


def entries(tree: bytes, id_length: int) -> list[Entry]:
    """In git's order; an id has 20 bytes, or 32 in a SHA-256 repository."""
    return re.findall(rb"([0-7]+) ([^\0]+)\0(.{%d})" % id_length, tree, re.DOTALL)


def _decoded(text: bytes, header: bytes) -> str:
    named = re.search(rb"^encoding (\S+)$", header, re.MULTILINE)
    try:
        return text.decode(named[1].decode("ascii", "replace") if named else "utf-8", "replace")
    except (LookupError, ValueError):
        return text.decode("utf-8", "replace")
