"""Keeping session files out of commits: lines in the repository's own `info/exclude`."""

from __future__ import annotations

from pathlib import Path

from dagentd.adapters import disk, files
from dagentd.model.project import Project

PATTERNS = (".dagent-worktrees/", ".dagent/", ".agx/")
_MARK = "# added by dagentd"


def file_of(project: Project) -> Path:
    return project.common_dir / "info" / "exclude"


def added_to(text: str) -> tuple[str, list[str]]:
    """The file with our lines at its end, and which were missing. Lines that are there already are the user's."""
    held = {line.strip() for line in text.splitlines()}
    missing = [pattern for pattern in PATTERNS if pattern not in held]
    if not missing:
        return text, []
    start = text if not text or text.endswith("\n") else text + "\n" + _MARK + " (and the line break before)\n"
    mark = "" if start.endswith("(and the line break before)\n") else _MARK + "\n"
    return start + mark + "".join(f"{pattern}\n" for pattern in missing), missing


def removed_from(text: str) -> str:
    """The file as it was before, byte for byte."""
    at = text.find(_MARK)
    if at < 0:
        return text
    lines = text[at:].splitlines(keepends=True)
    count = 1
    while count < len(lines) and lines[count].strip() in PATTERNS:
        count += 1
    before = text[:at].removesuffix("\n") if "(and the line break before)" in lines[0] else text[:at]
    return before + "".join(lines[count:])


def add(project: Project) -> list[str]:
    text, missing = added_to(_read(project))
    if missing:
        disk.make_folders(file_of(project).parent)
        _write(project, text)
    return missing


def remove(project: Project) -> None:
    before = _read(project)
    after = removed_from(before)
    if after != before:
        _write(project, after)


def _read(project: Project) -> str:
    try:
        return files.read(file_of(project)).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def _write(project: Project, text: str) -> None:
    files.put(file_of(project), text.encode("utf-8", "surrogateescape"))
