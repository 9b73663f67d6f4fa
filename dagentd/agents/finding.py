"""Finding transcripts: what lies in the agents' folders, without following a link or taking what is another user's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dagentd.agents.conversation import Agent, Attachment, Transcript

_DEPTH = 6  # of folders below a root: Codex has three for a date, Claude Code a project, a session and `subagents`
_MOST_WATCHED = 500  # folders; what is in others is found by the timer


@dataclass(frozen=True)
class Found:
    """A file of an agent, as it was when it was seen; `root` is the folder of the agent that it lies in."""

    agent: Agent
    what: Transcript | Attachment
    path: Path
    root: Path
    status: os.stat_result


@dataclass(frozen=True)
class Refused:
    path: Path
    reason: str


@dataclass
class Look:
    """Everything that is there now. `folders`: each one that was looked into, with the newest time in it."""

    files: list[Found]
    refused: list[Refused]
    folders: dict[Path, float]

    def watched(self) -> list[Path]:
        """The folders in which something may happen next."""
        return sorted(self.folders, key=lambda path: self.folders[path], reverse=True)[:_MOST_WATCHED]


def roots(agent: Agent) -> list[Path]:
    return agent.roots(os.environ, Path(os.path.expanduser("~")))


def look(agents: list[Agent]) -> Look:
    found = Look([], [], {})
    for agent in agents:
        places = roots(agent)
        if not any(map(os.path.isdir, places)):  # where they will be made when it first says something
            found.folders.update({root.parent: float("inf") for root in places})
        for root in places:
            found.folders[root] = float("inf")
            _look_into(root, agent, root, found, _DEPTH)
    return found


def look_at(path: Path, agents: list[Agent]) -> Found | Refused | None:
    """One file of which something was heard; None if it is none of an agent's, or gone."""
    for agent in agents:
        for root in roots(agent):
            if path.is_relative_to(root):
                return _file(path, agent, root)
    return None


def _look_into(folder: Path, agent: Agent, root: Path, found: Look, depth: int) -> None:
    for entry in _entries(folder, found):
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if depth:
                found.folders[path] = entry.stat(follow_symlinks=False).st_mtime
                _look_into(path, agent, root, found, depth - 1)
            continue
        seen = _file(path, agent, root)
        if isinstance(seen, Found):
            found.files.append(seen)
            found.folders[folder] = max(found.folders.get(folder, 0.0), seen.status.st_mtime)
        elif seen is not None:
            found.refused.append(seen)
        elif entry.is_symlink():
            found.refused.append(Refused(path, "is a symbolic link, and not followed"))


def _entries(folder: Path, found: Look) -> Iterator[os.DirEntry[str]]:
    """Nothing for a folder that is not there; one that may not be looked into is told."""
    try:
        with os.scandir(folder) as entries:
            yield from list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        found.refused.append(Refused(folder, f"cannot be looked into: {error.strerror}"))


def _file(path: Path, agent: Agent, root: Path) -> Found | Refused | None:
    what = agent.place(path.relative_to(root))
    if what is None:
        return None
    try:
        status = os.lstat(path)
    except OSError:  # moved or deleted just now
        return None
    reason = refusal(status)
    return Found(agent, what, path, root, status) if reason is None else Refused(path, reason)


def refusal(status: os.stat_result) -> str | None:
    """Why a file is not read, in words; None if it is."""
    if stat.S_ISLNK(status.st_mode):
        return "is a symbolic link, and not followed"
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_uid != os.getuid():
        return "belongs to another user, and is not read"
    return None
