"""Copies of a file that stay beside it: backups before a change, and what could not be used, as `NAME.kind.N`."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.adapters.files.atomic import BESIDE, Temps
from dagentd.errors import DagentdError

# Copies of a file that stay: the first for ever, of the later ones the newest.


def back_up(path: Path, keep: int, data: bytes | None = None, temps: Temps = BESIDE) -> Path:
    """`NAME.backup` holds the original for ever; later contents go to `.backup.1`, `.2`, …, the newest
    `keep` of which stay, and the one made now in any case. `data` is what it holds, if the caller has read it.
    FileNotFoundError if it is gone: its folder may be about to go too."""
    data = fileio.read(path, fileio.CHAT_LIMIT) if data is None else data
    for held in reversed(of(path)):
        if fileio.holds(held, data):
            return held
    target = _original(path)
    if os.path.lexists(target):
        target = next_numbered(path, "backup")
    atomic.publish(target, [data], expect=None, sync=True, temps=temps, beside=[path])
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


# What could not be used is kept beside its document as `NAME.kind.N`: each content once, and not without end.

_NEWEST = 9  # of one document and kind, beside the first: a program that goes on writing rubbish fills no disk

_log = logging.getLogger(__name__)


def set_aside(path: Path, kind: str) -> Path:
    """Move a file away. Where the same is kept already, that one goes: another program may have this one open."""
    while True:
        target = next_numbered(path, kind)
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
        target = next_numbered(path, kind)
        try:
            disk.link(path, target)
        except FileExistsError:
            continue
        except FileNotFoundError:
            raise atomic.Changed(path) from None
        except OSError:
            atomic.publish(target, [fileio.read(path, fileio.CHAT_LIMIT)], expect=None, sync=True)
        return target


def save_beside(path: Path, kind: str, data: bytes) -> Path:
    """Keep `data` durably, or say where the same bytes are kept already."""
    while True:
        for held in numbered(path, kind):
            if _holds(held, data):
                return held
        target = next_numbered(path, kind)
        try:
            atomic.publish(target, [data], expect=None, sync=True)
        except atomic.Changed:
            continue
        _leave_some(path, kind)
        return target


def _the_first_stays(path: Path, kind: str, target: Path) -> Path:
    first, *others = numbered(path, kind)
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
        return _holds(one, fileio.read(other, fileio.CHAT_LIMIT))
    except (FileNotFoundError, DagentdError):
        return False


def _holds(path: Path, data: bytes) -> bool:
    """Whether it holds just this. One that cannot be read, as a link that somebody put there, holds nothing of ours."""
    try:
        return fileio.holds(path, data)
    except DagentdError:
        return False


def _leave_some(path: Path, kind: str) -> None:
    for old in numbered(path, kind)[1:-_NEWEST]:
        disk.remove(old)
        _log.warning("%s: removed, as the first and %d newer ones are kept", old, _NEWEST)
