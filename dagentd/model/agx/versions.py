"""Versions of the format: which documents are ours to read, which are older, and how those become current."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagentd.errors import Conflict, CorruptFile
from dagentd.model.agx import Raw

CURRENT = "1.0.0"
_FORM = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:[-+][0-9A-Za-z.+-]*)?", re.ASCII)
_KNOWN = (1, 0, 0)
_FIRST = (0, 0, 0)  # of a document that was written before there were versions

Version = tuple[int, int, int]
Step = Callable[[Raw], Raw]


def number(text: Any) -> Version | None:
    """None for what is no version."""
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def is_older(raw: Raw, path: Path) -> bool:
    """Whether a document is to be migrated; an error, and it stays as it is, if only a newer program understands it.
    A later version of the same major only adds fields, and those are kept."""
    held = _FIRST if "version" not in raw else number(raw["version"])
    if held is None:
        raise CorruptFile(f"has a wrong 'version': {raw['version']!a}", path=path, hint=f'Set it to "{CURRENT}".')
    if held[0] > _KNOWN[0]:
        told = f"was written by a newer AGX: its format is {raw['version']}, this dagentd knows {CURRENT}"
        raise Conflict(told, path=path, hint="Update dagentd (git pull && make run); the file was left as it is.")
    return held < _KNOWN


def migrated(raw: Raw, fill: Step) -> Raw:
    """In today's format: what it has stays as it is, what it must have and lacks is filled in."""
    lacking = {key: value for key, value in fill(raw).items() if key not in raw}
    head = {"version": CURRENT}
    return {**head, **{key: value for key, value in raw.items() if key != "version"}, **lacking}
