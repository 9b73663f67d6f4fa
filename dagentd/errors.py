"""Errors that we expected: one tree, each with a code, a sentence, the file and what to do next."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator


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


class HungUp(Unreachable):
    """It ended, or sent everyone away, before it answered."""


class NotRunning(Unreachable):
    """There is no daemon: what was asked of it can be done without it."""


# --- what the system refuses ------------------------------------------------------------------------------------------

_WORDS: dict[int, tuple[type[DagentdError], str, str]] = {
    errno.ENOSPC: (LimitReached, "the disk is full", "Free some space and try again; nothing stored is lost."),
    errno.EDQUOT: (LimitReached, "the disk quota is used up", "Free some space and try again."),
    errno.EFBIG: (LimitReached, "the file would be larger than allowed", "Raise the file-size limit (ulimit -f)."),
    errno.EMFILE: (LimitReached, "too many files are open", "Raise the limit (ulimit -n) and restart."),
    errno.EROFS: (NotAllowed, "the file system is read-only", "Mount it read-write and try again."),
    errno.EACCES: (NotAllowed, "permission denied", "Give your user read and write permission on it (chmod u+rwX)."),
    errno.EPERM: (NotAllowed, "the system does not allow it", "Check its owner and attributes (ls -l, lsattr)."),
    errno.ELOOP: (NotAllowed, "is a symbolic link", "Put a regular file in its place; links are not followed."),
    errno.ENAMETOOLONG: (NotAllowed, "the path is too long", "Use shorter names."),
    errno.ENOENT: (NotFound, "is not there", "Its folder may have been removed: dagentd sessions"),
    errno.ENOTDIR: (NotAllowed, "a part of the path is not a folder", "Move what is in the way."),
    errno.EISDIR: (NotAllowed, "is a folder where a file should be", "Move the folder away."),
}


def from_oserror(error: OSError, path: str | os.PathLike[str] | None = None) -> DagentdError:
    """Say what the system refused, in one sentence with the file and what to do."""
    other = (DagentdError, f"the system says: {error.strerror or error}", "Look at the disk and at dmesg.")
    kind, message, hint = _WORDS.get(error.errno or 0, other)
    named = error.filename if isinstance(error.filename, str | os.PathLike) else None
    return kind(message, path=named if path is None else path, hint=hint)


@contextlib.contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say what the system refused in one sentence with the file and what to do."""
    try:
        yield
    except OSError as error:
        raise from_oserror(error, path) from error


def expected(error: BaseException | None) -> DagentdError | None:
    """The error to be told to the user as it is; None for a bug. A full disk or a file that may not be read is no bug,
    wherever we meet it. A descriptor that we closed ourselves is one, and so is what no call of the system said, as a
    wait that took long. Libraries and parts of dagentd load with their first use: see `_unloaded`."""
    if isinstance(error, ImportError):
        return _unloaded(error)
    if isinstance(error, OSError) and error.errno not in (None, errno.EBADF):
        return from_oserror(error)
    return error if isinstance(error, DagentdError) else None


def _unloaded(error: ImportError) -> DagentdError | None:
    """That there was no descriptor for a library is said in words alone. A thread that waits for another one to load a
    part of ours, which fails, has this error; and so has every thread of a daemon that was upgraded in place."""
    if os.strerror(errno.EMFILE) in str(error):
        return from_oserror(OSError(errno.EMFILE, os.strerror(errno.EMFILE), error.path))
    if (error.name or "").split(".")[0] == "dagentd":
        return LimitReached(f"a part of dagentd cannot be loaded: {error.name}", hint="Try again, or: dagentd restart")
    return None
