"""What we expected to go wrong: one tree, each with a code, a sentence, the file and what to do next."""

from __future__ import annotations

import os


class DagentdError(Exception):
    """Told to the user as it is; anything else that is raised is a bug of ours."""

    code = -32603

    def __init__(self, message: str, *, path: str | os.PathLike[str] | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = None if path is None else os.fspath(path)
        self.hint = hint

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}{self.message}"


class InvalidInput(DagentdError):
    """A parameter, an id or a setting that does not have the form it must have."""

    code = -32602


class NotFound(DagentdError):
    code = -32001


class Conflict(DagentdError):
    code = -32002


class CompactionFailed(DagentdError):
    code = -32003


class LimitReached(DagentdError):
    code = -32004


class CorruptFile(DagentdError):
    code = -32005


class NotAllowed(DagentdError):
    """The system or our own rules forbid it: permissions, a read-only disk, a link out of the worktree."""

    code = -32006


class Unreachable(DagentdError):
    """The daemon cannot be talked to, or stopped talking."""


class NotRunning(Unreachable):
    """There is no daemon: what was asked of it can be done without it."""
