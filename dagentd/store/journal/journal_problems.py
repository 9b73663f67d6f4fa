"""Problems of a journal, in words."""

from __future__ import annotations

import shlex
from pathlib import Path

from dagentd.errors import Conflict, CorruptFile, DagentdError, NotFound
from dagentd.model.project import SessionFolder


def unreadable(path: Path, why: str) -> CorruptFile:
    return CorruptFile(
        why, path=path, hint="Mend the file or move it away, then run `dagentd run --once`; it was left as it is."
    )


def gone(folder: SessionFolder) -> NotFound:
    return NotFound(
        f"session {folder.id} is no longer on disk", path=folder.path,
        hint="If its worktree was removed, `dagentd sessions --gone` lists what was kept.",
    )  # fmt: skip


def newer(journal: Path, unknown: str) -> Conflict:
    return Conflict(
        f"has records of type {unknown!a}, which only a newer dagentd understands",
        path=journal,
        hint="Update dagentd; until then the session is read-only.",
    )


def kept_by_copy(journal: Path) -> DagentdError:
    told = "its kept journal is a copy, because the git folder is on another file system"
    return DagentdError(told, path=journal, hint="Nothing to do.")


def torn(tail: Path) -> DagentdError:
    told = "the end of the journal was cut off by a crash; it had not been acknowledged and is kept here"
    return DagentdError(told, path=tail, hint="Look at it, then delete it.")


def skipped(journal: Path, offset: int) -> DagentdError:
    told = f"the line at byte {offset} is no record; it was skipped and is left in place"
    hint = f"Leave it, all other lines count; `tail -c +{offset + 1} {shlex.quote(str(journal))} | head -1` shows it."
    return DagentdError(told, path=journal, hint=hint)


def altered(journal: Path, put_back: int) -> DagentdError:
    told = f"was altered by another program; messages that it lacked and that were put back: {put_back}"
    return DagentdError(told, path=journal, hint="Nothing to do.")


def lost(journal: Path, listed: Path, count: int) -> DagentdError:
    told = (
        f"lists what was in the journal before another program overwrote that; messages that no other file has: {count}"
    )
    hint = f"Copy a newer backup over {journal}, if there is one: what that has is taken in. Else delete this list."
    return DagentdError(told, path=listed, hint=hint)


def keeps_altering(journal: Path) -> Conflict:
    return Conflict("another program keeps altering this file", path=journal, hint="Stop it.")
