"""What is kept of a bug: its traceback in the log, for the person who will mend it."""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime

from dagentd import __version__, paths

# The daemon rotates this file; where none runs, nobody does.
_LOG_FULL = 50_000_000


def summary(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {os.path.basename(where.filename)}, line {where.lineno}"


def record(error: Exception) -> str:
    """Where the traceback went, in words: the log, or else these words themselves."""
    text = "".join(traceback.format_exception(error))
    try:
        log = paths.log_file()
        _append(os.fspath(log), f"{datetime.now(UTC).isoformat()} dagentd {__version__} bug\n{text}")
    except Exception:  # the state folder may be what is broken; the first error is the one to tell
        return f"The log could not be written, so here is what happened:\n{text}"
    return f"The details are at the end of {log}; nothing else was stopped by this."


def _append(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(descriptor).st_size > _LOG_FULL:
            raise OSError("the log is full")
        os.write(descriptor, text.encode("utf-8", "backslashreplace"))
    finally:
        os.close(descriptor)
