"""What could not be used is kept beside its document as `NAME.kind.N`: each content once, and not without end."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

from dagentd.adapters import backups, disk, files, publishing
from dagentd.adapters.publishing import Replaced
from dagentd.adapters.temps import Temps
from dagentd.errors import DagentdError

_NEWEST = 9  # of one document and kind, beside the first: a program that goes on writing rubbish fills no disk

_log = logging.getLogger(__name__)


def set_aside(path: Path, kind: str) -> Path:
    """Move a file away. Where the same is kept already, that one goes: another program may have this one open."""
    while True:
        target = backups.next_numbered(path, kind)
        try:
            disk.rename_new(path, target)
        except FileExistsError:
            continue
        return _the_first_stays(path, kind, target)


def set_aside_open(path: Path, kind: str, seen: bytes, temps: Temps) -> tuple[Path, Replaced]:
    """The same, to see what is yet written to it, also after we died: it has a temp name until it is closed. Where the
    file system knows no second names, what is written then is only in the file that was moved."""
    temp = None
    with contextlib.suppress(OSError):
        temp = temps.second_name(path)
    try:
        moved = set_aside(path, kind)
    except FileNotFoundError:
        if temp is not None:
            disk.discard(temp)
        raise
    return moved, publishing.still_open(moved, seen, temp)  # where that fails, the next start has the temp name


def save_beside(path: Path, kind: str, data: bytes) -> Path:
    """Keep `data` durably, or say where the same bytes are kept already."""
    while True:
        for held in backups.numbered(path, kind):
            if _holds(held, data):
                return held
        target = backups.next_numbered(path, kind)
        try:
            publishing.publish(target, [data], expect=None, sync=True)
        except publishing.Changed:
            continue
        _leave_some(path, kind)
        return target


def _the_first_stays(path: Path, kind: str, target: Path) -> Path:
    first, *others = backups.numbered(path, kind)
    for held in [each for each in others if each != target and _are_equal(each, target)]:
        disk.remove(held)
    if first != target and _are_equal(first, target):
        disk.exchange(target, first)
        disk.remove(target)
        return first
    _leave_some(path, kind)
    return target


def _are_equal(one: Path, other: Path) -> bool:
    try:
        return _holds(one, files.read(other, files.CHAT_LIMIT))
    except (FileNotFoundError, DagentdError):
        return False


def _holds(path: Path, data: bytes) -> bool:
    """What cannot be read, as a link that somebody put there, holds nothing of ours."""
    try:
        return files.holds(path, data)
    except DagentdError:
        return False


def _leave_some(path: Path, kind: str) -> None:
    for old in backups.numbered(path, kind)[1:-_NEWEST]:
        disk.remove(old)
        _log.warning("%s: removed, as the first and %d newer ones are kept", old, _NEWEST)
