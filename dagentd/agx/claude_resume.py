"""Claude: the conversation that a session goes on with, as the user, a hook or the end of Claude Code's own files
say."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from dagentd import paths
from dagentd.adapters.files import fileio, marks
from dagentd.adapters.files.marks import Mark
from dagentd.agx import naming, session_document
from dagentd.agx.configuration import Config
from dagentd.agx.session_document import Claude
from dagentd.agx.session_files import AgxSessions
from dagentd.agx.values import Raw, section_of, stamp
from dagentd.errors import DagentdError
from dagentd.model import ids, times

# What the end of one of Claude Code's own session files tells; nothing in it is relied on.

_FILES = 10
_COMMAND = re.compile(r"<command-name>\s*(/[^\s<]{1,80})")
_ARGUMENTS = re.compile(r"<command-args>([^<]{1,400})")
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True)
class Transcript:
    branch: str | None = None
    model: str | None = None
    last: str | None = None
    messages: int = 0
    tokens: int | None = None
    last_command: str | None = None
    files: tuple[str, ...] = ()


def read_transcript(tail: bytes, size: int, root: Path) -> Transcript:
    """`tail` is the end of a file of `size` bytes. How many messages came before it is judged by how many are in it."""
    lines = list(_lines(tail, whole=size <= len(tail)))
    said = [line for line in lines if line.get("type") in ("user", "assistant") and not line.get("isMeta")]
    count = len(said) if size <= len(tail) else round(len(said) * size / max(len(tail), 1))
    answers = [section_of(line, "message") for line in said if line.get("type") == "assistant"]
    return Transcript(
        branch=_last_text(lines, "gitBranch"),
        model=next((m for each in reversed(answers) if (m := _text(each.get("model"))) and m[0] != "<"), None),
        last=next((at for each in reversed(lines) if times.parse(at := each.get("timestamp"))), None),
        messages=count,
        tokens=next((n for each in reversed(answers) if (n := _tokens(section_of(each, "usage")))), None),
        last_command=next((c for each in reversed(said) if (c := _command(each))), None),
        files=tuple(_files(said, root)),
    )


def _lines(tail: bytes, whole: bool) -> Iterator[Raw]:
    """Without the first, which may be only the end of one, and without a last one that is still being written."""
    parts = tail.split(b"\n")
    for part in parts if whole else parts[1:]:
        try:
            line = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            yield line


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _last_text(lines: list[Raw], key: str) -> str | None:
    return next((text for line in reversed(lines) if (text := _text(line.get(key)))), None)


def _tokens(usage: Raw) -> int:
    return sum(value for key in _TOKENS if isinstance(value := usage.get(key), int) and value > 0)


def _command(line: Raw) -> str | None:
    content = section_of(line, "message").get("content")
    if not isinstance(content, str) or not (name := _COMMAND.search(content)):
        return None
    arguments = _ARGUMENTS.search(content)
    return " ".join((name[1], *(arguments[1].split() if arguments else ())))


def _files(said: list[Raw], root: Path) -> list[str]:
    """The last files in the project that a tool was used on, the latest first."""
    found: dict[str, None] = {}
    for line in reversed(said):
        content = section_of(line, "message").get("content")
        for part in content if isinstance(content, list) else []:
            path = section_of(part, "input").get("file_path") if isinstance(part, dict) else None
            if isinstance(path, str) and path.startswith(f"{root}{os.sep}") and ".." not in path:
                found.setdefault(path.removeprefix(f"{root}{os.sep}"))
            if len(found) == _FILES:
                return list(found)
    return list(found)


_TAIL = 512 << 10  # bytes of a file: some hundred messages
_LOOKED_AT = 20  # the newest files of a project


class ClaudeConversations:
    """Remembers what it has read: a file that is as it was is not read again."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[Mark, Transcript]] = {}
        self._seen: dict[Path, tuple[tuple[Mark | None, ...], Config]] = {}

    def refresh(self, sessions: AgxSessions, now: datetime) -> None:
        """The newest conversation on a session's branch is its own, unless it was given a later one."""
        root, config = sessions.folder.root, sessions.config
        seen = tuple(marks.of(each) for path in _newest(root) for each in (path, path.parent))
        if not seen or self._seen.get(root) == (seen, config):
            return
        found = {path: self._transcript(path, root) for path in _newest(root)}
        due = {}
        for raw in sessions.all()[0]:
            claude = _own(raw, found)
            if claude is not None and session_document.with_claude(raw, claude, config) != raw:
                due[str(raw["sessionId"])] = claude
        if due:
            with sessions.writing() as writing:
                for session_id, claude in due.items():
                    writing.update(session_id, partial(session_document.with_claude, found=claude, config=config), now)
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
            told = read_transcript(*fileio.tail(path, _TAIL), root)
        except DagentdError:
            return Transcript()
        if mark is not None:
            self._read[path] = mark, told
            while len(self._read) > 1000:
                del self._read[next(iter(self._read))]
        return told


def _own(raw: Raw, found: dict[Path, Transcript]) -> Claude | None:
    held = section_of(raw, "claude")
    branch = section_of(raw, "project").get("gitBranch")
    on_branch = {path: told for path, told in found.items() if told.branch == branch and told.messages}
    is_branch = (
        branch is not None and session_document.branch_of(raw) == branch
    )  # and not one that was named by the user
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
    found = sorted(_transcript_files(root), reverse=True)[:_LOOKED_AT]
    return [path for _, path in found]


def _transcript_files(root: Path) -> Iterator[tuple[float, Path]]:
    for folder in _folders(root):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    stem, _, suffix = entry.name.rpartition(".")
                    if suffix == "jsonl" and ids.is_safe(stem) and entry.is_file(follow_symlinks=False):
                        yield entry.stat(follow_symlinks=False).st_mtime, Path(entry.path)
        except OSError:  # not there, or not ours to look at
            continue
