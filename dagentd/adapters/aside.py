"""What could not be used is kept beside its document as `NAME.kind.N`: each content once, and not without end."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from dagentd.adapters import backups, disk, files, publishing
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


@contextlib.contextmanager
def replacing(path: Path, kind: str) -> Iterator[list[Path]]:
    """For whoever puts another file in its place meanwhile: there is no moment without one. The file keeps a second
    name, under which is also what a program yet writes that has it open; where the file system knows no such, a copy
    is kept. It is told when all is done, and there is none if that fails."""
    done: list[Path] = []
    target = _second_name(path, kind)
    try:
        yield done
    except BaseException:
        disk.discard(target)
        raise
    done.append(_the_first_stays(path, kind, target))


def _second_name(path: Path, kind: str) -> Path:
    while True:
        target = backups.next_numbered(path, kind)
        try:
            disk.link(path, target)
        except FileExistsError:
            continue
        except FileNotFoundError:
            raise publishing.Changed(path) from None
        except OSError:
            publishing.publish(target, [files.read(path, files.CHAT_LIMIT)], expect=None, sync=True)
        return target


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
