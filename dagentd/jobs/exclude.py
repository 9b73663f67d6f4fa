"""Keeping session files out of commits: lines in the repository's own `info/exclude`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dagentd.adapters.files import atomic, disk, fileio
from dagentd.model.project import Project

PATTERNS = (".dagent-worktrees/", ".dagent/", ".agx/")
_MARK = "# added by dagentd"
# What else goes with our lines.
_BREAK, _FILE = " (and the line break before)", " (and this file)"
_OURS = re.compile(
    rf"(?P<before>\n?)(?<![^\n]){_MARK}(?P<more>[^\n]*)\n(?:(?:{'|'.join(map(re.escape, PATTERNS))})\n)*"
)


def file_of(project: Project) -> Path:
    """Behind its links: some keep it with their other settings."""
    return Path(os.path.realpath(project.common_dir / "info" / "exclude"))


def added_to(text: str | None) -> tuple[str, list[str]]:
    """The file, None if there is none, with our lines at its end, and which were missing. Lines that are there
    already are the user's."""
    held = {line.strip() for line in (text or "").splitlines()}
    missing = [pattern for pattern in PATTERNS if pattern not in held]
    if not missing:
        return text or "", []
    start, more = text or "", _FILE if text is None else ""
    if start and not start.endswith("\n"):
        start, more = start + "\n", _BREAK
    return f"{start}{_MARK}{more}\n" + "".join(f"{pattern}\n" for pattern in missing), missing


def removed_from(text: str) -> str | None:
    """The file as it was before, byte for byte; None if there was none."""
    whole_file = False
    while found := _OURS.search(text):
        rest = text[found.end() :]
        # What somebody wrote behind our lines stays on a line of its own.
        before = "" if found["more"] == _BREAK and not rest else found["before"]
        text = text[: found.start()] + before + rest
        whole_file |= found["more"] == _FILE
    return None if whole_file and not text else text


def missing(project: Project) -> list[str]:
    return added_to(_read(project))[1]


def add(project: Project) -> list[str]:
    text, missing = added_to(_read(project))
    if missing:
        disk.make_folders(file_of(project).parent)
        _write(project, text)
    return missing


def remove(project: Project) -> None:
    before = _read(project)
    after = removed_from(before) if before is not None else None
    if before is not None and after is None:
        disk.remove(file_of(project))
    elif after is not None and after != before:
        _write(project, after)


def _read(project: Project) -> str | None:
    try:
        return fileio.read(file_of(project)).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def _write(project: Project, text: str) -> None:
    atomic.put(file_of(project), text.encode("utf-8", "surrogateescape"))
