"""Copies of a file that stay: the first for ever, of the later ones the newest."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dagentd.adapters import beneath, disk, files, publishing
from dagentd.adapters.temps import BESIDE, Temps


def back_up(path: Path, keep: int, data: bytes | None = None, temps: Temps = BESIDE) -> Path:
    """`NAME.backup` holds the original for ever; later contents go to `.backup.1`, `.2`, …, the newest
    `keep` of which stay, and the one made now in any case. `data` is what it holds, if the caller has read it.
    FileNotFoundError if it is gone: its folder may be about to go too."""
    data = files.read(path, files.CHAT_LIMIT) if data is None else data
    for held in reversed(of(path)):
        if files.holds(held, data):
            return held
    target = _original(path)
    if os.path.lexists(target):
        target = next_numbered(path, "backup")
    publishing.publish(target, [data], expect=None, sync=True, temps=temps, beside=[path])
    for old in numbered(path, "backup")[: -max(keep, 1)]:
        disk.remove(old)
    return target


def of(path: Path) -> list[Path]:
    """The newest first; last the original, which has no number."""
    first = _original(path)
    return [*reversed(numbered(path, "backup")), *([first] if os.path.lexists(first) else [])]


def _original(path: Path) -> Path:
    return path.with_name(f"{path.name}.backup")


def numbered(path: Path, kind: str) -> list[Path]:
    """The files `NAME.kind.N`, in the order of their numbers."""
    pattern = re.compile(re.escape(f"{path.name}.{kind}.") + "([1-9][0-9]*)")
    found = [match for name in beneath.names(path.parent) if (match := pattern.fullmatch(name))]
    return [path.with_name(match[0]) for match in sorted(found, key=lambda match: int(match[1]))]


def next_numbered(path: Path, kind: str) -> Path:
    held = numbered(path, kind)
    last = int(held[-1].suffix[1:]) if held else 0
    return path.with_name(f"{path.name}.{kind}.{last + 1}")
