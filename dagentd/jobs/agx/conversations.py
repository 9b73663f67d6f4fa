"""Claude: the conversation that a session goes on with, as the user or a hook says, or as Claude Code's own files say.
Those are only read, and of a large one only the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from dagentd import paths
from dagentd.adapters import files, marks
from dagentd.adapters.marks import Mark
from dagentd.errors import DagentdError
from dagentd.model import ids, times
from dagentd.model.agx import Raw, naming, section, session, stamp, transcript
from dagentd.model.agx.config import Config
from dagentd.model.agx.session import Claude
from dagentd.model.agx.transcript import Transcript
from dagentd.store.agx.sessions import Sessions

_TAIL = 512 << 10  # bytes of a file: some hundred messages
_LOOKED_AT = 20  # the newest files of a project


class Conversations:
    """Remembers what it has read: a file that is as it was is not read again."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[Mark, Transcript]] = {}
        self._seen: dict[Path, tuple[tuple[Mark | None, ...], Config]] = {}

    def refresh(self, sessions: Sessions, now: datetime) -> None:
        """The newest conversation on a session's branch is its own, unless it was given a later one."""
        root, config = sessions.folder.root, sessions.config
        seen = tuple(marks.of(each) for path in _newest(root) for each in (path, path.parent))
        if not seen or self._seen.get(root) == (seen, config):
            return
        found = {path: self._transcript(path, root) for path in _newest(root)}
        due = {}
        for raw in sessions.all()[0]:
            claude = _own(raw, found)
            if claude is not None and session.with_claude(raw, claude, config) != raw:
                due[str(raw["sessionId"])] = claude
        if due:
            with sessions.writing() as writing:
                for session_id, claude in due.items():
                    writing.update(session_id, partial(session.with_claude, found=claude, config=config), now)
        self._seen[root] = seen, config

    def given(self, root: Path, claude_id: str, now: datetime) -> Claude:
        """A conversation that was named; whether it can be resumed is for Claude Code's files to say, if it has any."""
        ids.checked(claude_id, "Claude session id")
        path = next((each for folder in _folders(root) if (each := folder / f"{claude_id}.jsonl").is_file()), None)
        if path is not None:
            told = self._transcript(path, root)
            return _claude(claude_id, told, told.last or stamp(now))
        known = any(folder.is_dir() for folder in _folders(root))
        problem = "Claude Code has no such session for this project" if known else None
        return Claude(claude_id, can_resume=not known, problem=problem, last=stamp(now))

    def _transcript(self, path: Path, root: Path) -> Transcript:
        """An empty one for what cannot be read: it is not ours to complain about."""
        mark = marks.of(path)
        known = self._read.get(path)
        if known is not None and known[0] == mark:
            return known[1]
        try:
            told = transcript.read(*files.tail(path, _TAIL), root)
        except DagentdError:
            return Transcript()
        if mark is not None:
            self._read[path] = mark, told
            while len(self._read) > 1000:
                del self._read[next(iter(self._read))]
        return told


def _own(raw: Raw, found: dict[Path, Transcript]) -> Claude | None:
    held = section(raw, "claude")
    branch = section(raw, "project").get("gitBranch")
    on_branch = {path: told for path, told in found.items() if told.branch == branch and told.messages}
    is_branch = branch is not None and session.branch_of(raw) == branch  # and not one that was named by the user
    newest = max(on_branch, key=lambda path: times.parse(on_branch[path].last) or times.NEVER, default=None)
    mine = next((path for path in found if path.stem == held.get("sessionId")), None)
    if newest is not None and is_branch and times.later(found[newest].last, held.get("lastInteraction")):
        mine = newest
    return _claude(mine.stem, found[mine], found[mine].last) if mine is not None else None


def _claude(claude_id: str, told: Transcript, last: str | None) -> Claude:
    return Claude(claude_id, True, None, told.model, last, told.messages, told.tokens, told.last_command, told.files)


def _folders(root: Path) -> list[Path]:
    return [paths.claude_projects_dir() / name for name in naming.claude_folders(root)]


def _newest(root: Path) -> list[Path]:
    """The session files that were written to last."""
    found = sorted(_files(root), reverse=True)[:_LOOKED_AT]
    return [path for _, path in found]


def _files(root: Path) -> Iterator[tuple[float, Path]]:
    for folder in _folders(root):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    stem, _, suffix = entry.name.rpartition(".")
                    if suffix == "jsonl" and ids.is_safe(stem) and entry.is_file(follow_symlinks=False):
                        yield entry.stat(follow_symlinks=False).st_mtime, Path(entry.path)
        except OSError:  # not there, or not ours to look at
            continue
