"""What was done to sessions, a line each, in `~/.agx/logs`: a file for each day, kept for some days."""

from __future__ import annotations

import contextlib
import os
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from dagentd import paths
from dagentd.adapters import disk
from dagentd.errors import DagentdError
from dagentd.model.agx import stamp
from dagentd.store.agx.folder import make_private

_NAME = re.compile(r"agx-(\d{4}-\d\d-\d\d)\.log", re.ASCII)


def note(root: Path, session_id: str, what: str, now: datetime) -> None:
    """What cannot be logged is done all the same."""
    folder = paths.agx_dir() / "logs"
    path = folder / f"agx-{now.astimezone(UTC).date().isoformat()}.log"
    with contextlib.suppress(DagentdError), disk.explained(path):
        make_private(folder.parent, folder)
        fd = disk.open_append(path) if path.exists() else disk.create(path)
        try:
            disk.write(fd, f"{stamp(now)} {root} {session_id}: {what}\n".encode("utf-8", "backslashreplace"), path)
        finally:
            os.close(fd)


def expire(days: int, now: datetime) -> None:
    """Remove those of days that are longer ago; they may be another program's, of the same user and kind."""
    folder, oldest = paths.agx_dir() / "logs", now.astimezone(UTC).date() - timedelta(days=days)
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if (match := _NAME.fullmatch(name)) and _is_before(match[1], oldest):
                with disk.explained(folder / name):
                    disk.remove(folder / name)


def _is_before(text: str, oldest: date) -> bool:
    try:
        return date.fromisoformat(text) < oldest
    except ValueError:
        return False
