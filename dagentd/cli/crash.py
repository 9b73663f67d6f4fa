"""The report of a bug: its traceback goes to the log, for the person who will mend it."""

from __future__ import annotations

import contextlib
import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from dagentd import __version__, paths
from dagentd.adapters.files import disk

# The daemon rotates this file; where none runs, nobody does.
_LOG_FULL = 50_000_000


def summary(error: Exception) -> str:
    """Where it was, without what it said: that may be text of a session."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {os.path.basename(where.filename)}, line {where.lineno}"


def record(error: Exception) -> str:
    """Where the traceback went, in words: the log, or else these words themselves."""
    text = "".join(traceback.format_exception(error))
    try:
        log = paths.log_file()
        _append(log, f"{datetime.now(UTC).isoformat()} bug in dagentd {__version__}\n{text}")
    except Exception:  # the state folder may be what is broken; the first error is the one to tell
        return f"The log could not be written, so here is what happened:\n{text}"
    return f"The details are at the end of {log}; please report them."


def _append(log: Path, text: str) -> None:
    for folder in reversed(log.parents):
        if not folder.exists():
            disk.make_folder(folder)
    with contextlib.suppress(FileExistsError):
        os.close(disk.create(log))
    descriptor = disk.open_append(log)
    try:
        if os.fstat(descriptor).st_size > _LOG_FULL:
            raise OSError("the log is full")
        disk.write(descriptor, text.encode("utf-8", "backslashreplace"), log)
    finally:
        os.close(descriptor)
