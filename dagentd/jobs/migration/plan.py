"""Deciding what is to be done with each legacy file, from what was read alone."""

from __future__ import annotations

from dagentd.errors import DagentdError
from dagentd.formats.legacy import shape_at
from dagentd.jobs.migration.reading import Found, Known, NewerFormat, Unit
from dagentd.jobs.migration.report import Action, File


def decide(found: Found, known: Known, *, asked: bool) -> Action:
    """One that was taken back is migrated again only when somebody asks for it, or when it has changed since."""
    if _as_before(found, {path: each["sha256"] for path, each in known.migrated.items()}):
        return "none"
    if not asked and _as_before(found, known.barred):
        return "barred"
    if found.converted.format == "L5":
        return "rewrite"
    return "add" if found.converted.session_id in known.sessions else "create"


def _as_before(found: Found, hashes: dict[str, str]) -> bool:
    pairs = zip(found.unit, found.contents, strict=True)
    return all(hashes.get(file.source.path) == content.sha256 for file, content in pairs)


def lines(found: Found, action: Action, added: int | None = None) -> list[File]:
    """What is said of each file. The messages are in the chat, where there are several."""
    new = found.converted
    result = []
    for file in found.unit:
        has_messages = file.document in (None, "chat")
        count, rejected = (len(new.messages), new.rejected) if has_messages else (0, [])
        extra = added if has_messages else None
        result.append(File(str(file.path), new.format, new.session_id, count, action, rejected, extra))
    return result


def failures(unit: Unit, error: DagentdError) -> list[File]:
    """The one file that is to blame, or all if nobody knows."""
    action: Action = "refused" if isinstance(error, NewerFormat) else "failed"
    blamed = [file for file in unit if str(file.path) == error.path] or list(unit)
    return [
        File(str(file.path), None, file.session_id, 0, action, error=error.message, hint=error.hint) for file in blamed
    ]


def done(unit: Unit, known: Known) -> list[File]:
    """What is said of files that were migrated just as they are."""
    return [_done(str(file.path), known.migrated[file.source.path]) for file in unit]


def _done(path: str, entry: dict[str, object]) -> File:
    count, shape = entry.get("messages"), shape_at(str(entry["path"]))
    return File(path, shape, str(entry["sessionId"]), count if isinstance(count, int) else 0, "none")
