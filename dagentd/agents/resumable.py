"""Conversations of Claude Code in a project with all its worktrees, as its own files tell of them: nothing is kept for
it, and nothing needs to be followed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dagentd.adapters import git
from dagentd.agents import finding
from dagentd.agents.claude_code import AGENT
from dagentd.agents.conversation import COMMAND, Conversation, Transcript, gather
from dagentd.agents.finding import Found
from dagentd.agents.known import Mark, mark_of
from dagentd.agents.lines import string
from dagentd.agents.ownership import Ownership
from dagentd.agents.source import Source, first_folder
from dagentd.agx.session_document import Claude
from dagentd.errors import DagentdError
from dagentd.model.project import Registered

_LOOKED_AT = 20  # the newest of a project
_TAIL = 512 << 10  # bytes of a file: some hundred messages
_FILES = 10
_LONGEST = 400  # characters of a command


@dataclass
class _Known:
    """A file as it was when it was read: where its conversation was begun, and what its end tells."""

    mark: Mark
    begun: str | None
    told: Claude | None = None


class Resumable:
    """Remembers what it has read: a file that is as it was is not read again. `ignored` are folders that are left
    alone."""

    def __init__(self, ignored: Callable[[], Sequence[str]]) -> None:
        self._ignored = ignored
        self._known: dict[Path, _Known] = {}
        self._newest: dict[Path, tuple[object, list[Claude]]] = {}

    def newest(self, root: Path) -> list[Claude]:
        """Those that were written to last. Where nothing happened anywhere, nothing is asked of git or of files."""
        files, ignored = self._files(), tuple(self._ignored())
        looked = ignored, hash(tuple((each.path, mark_of(each.status)) for each in files))
        if root not in self._newest or self._newest[root][0] != looked:
            self._newest[root] = looked, list(islice(self._of_project(root, files, ignored), _LOOKED_AT))
        return self._newest[root][1]

    def find(self, root: Path, uuid: str) -> Claude | None:
        files = [each for each in self._files() if each.what == Transcript(uuid)]
        return next(self._of_project(root, files, self._ignored()), None)

    def _files(self) -> list[Found]:
        whole = [each for each in finding.look([AGENT]).files if isinstance(each.what, Transcript)]
        files = [each for each in whole if each.what == Transcript(each.what.uuid)]
        self._known = {each.path: known for each in files if (known := self._known.get(each.path))}
        return sorted(files, key=lambda each: each.status.st_mtime, reverse=True)

    def _of_project(self, root: Path, files: list[Found], ignored: Sequence[str]) -> Iterator[Claude]:
        owners = Ownership([Registered(str(root), git.project_at(root), "")], ignored=ignored)
        for found in files:
            with contextlib.suppress(DagentdError):  # it is not ours to complain about
                known = self._read(found)
                if owners.of(known.begun) is not None:
                    known.told = known.told or _told(found, owners, root)
                    yield known.told

    def _read(self, found: Found) -> _Known:
        mark, known = mark_of(found.status), self._known.get(found.path)
        if known is None or known.mark != mark:
            with contextlib.closing(Source(found)) as source:
                known = self._known[found.path] = _Known(mark, first_folder(source))
        return known


def _told(found: Found, owners: Ownership, root: Path) -> Claude:
    """By its end. How many messages came before it is judged by how many are in it."""
    with contextlib.closing(Source(found)) as source:
        size = source.status.st_size
        *lines, _ = b"".join(source.pieces(max(0, size - _TAIL), _TAIL)).split(b"\n")
    reader = AGENT.reader(Transcript(found.what.uuid), None)
    told = gather(event for line in lines[size > _TAIL :] for event in reader.feed(line))
    owner = owners.of(told.last.cwd)
    return Claude(
        found.what.uuid,
        branch=told.last.branch,
        model=told.last.model,
        last=max((message.at for message in told.messages), default="") or None,
        messages=round(len(told.messages) * max(1.0, size / _TAIL)),
        tokens=next((each.tokens for each in reversed(told.usages) if each.tokens), None),
        last_command=_last_command(told),
        files=tuple(islice(_files_used(told, [owner.worktree if owner else str(root), str(root)]), _FILES)),
    )


def _last_command(told: Conversation) -> str | None:
    typed = (each.text for each in reversed(told.messages) if each.role == "user" and COMMAND.match(each.text))
    return next((" ".join(text.split())[:_LONGEST] for text in typed), None)


def _files_used(told: Conversation, tops: list[str]) -> Iterator[str]:
    """The files in the project that a tool was used on, the latest first, each as it is called in its checkout."""
    found: set[str] = set()
    for use in (use for message in reversed(told.messages) for use in reversed(message.tool_uses)):
        path = string(use.input, "file_path") if isinstance(use.input, dict) else ""
        name = next((path[len(top) + 1 :] for top in tops if path.startswith(f"{top}{os.sep}")), "")
        if name and name not in found and ".." not in path:
            found.add(name)
            yield name
