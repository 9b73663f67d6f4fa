"""Copies with the time in their names: backups of documents, of which the newest stay, and the trash."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dagentd.adapters.files import atomic, beneath, disk, fileio
from dagentd.agx.cleanup_plan import Trashed
from dagentd.agx.folder import make_private
from dagentd.errors import from_oserror

_TIME = "%Y%m%dT%H%M%S%fZ"
_NAME = re.compile(r"(.+)\.(\d{8}T\d{12}Z)\.json", re.ASCII)


def back_up(path: Path, folder: Path, keep: int, now: datetime) -> Path | None:
    """A copy as it is now, and of copies of this document the newest `keep`. None if there is nothing to copy; the
    newest one if it is the same."""
    try:
        data = fileio.read(path)
    except FileNotFoundError:
        return None
    make_private(folder)
    held = of(folder, path.stem)
    if held and fileio.read(held[-1]) == data:
        return held[-1]
    target = _free(folder, path.stem, now)
    with disk.explained(target):
        atomic.publish(target, [data], expect=None, sync=True)
        for old in [*held, target][:-keep]:
            with contextlib.suppress(FileNotFoundError):
                disk.remove(old)
    return target


def of(folder: Path, name: str) -> list[Path]:
    """The oldest first."""
    return [folder / each for each, (held, _) in sorted(_named(folder).items(), key=lambda one: one[1][1])
            if held == name]  # fmt: skip


def move(path: Path, folder: Path, now: datetime) -> Path:
    make_private(folder)
    target = _free(folder, path.stem, now)
    with disk.explained(path):
        disk.rename_new(path, target)
        disk.sync_folder(folder)
        disk.sync_folder(path.parent)
    return target


def trashed(folder: Path) -> list[Trashed]:
    """The newest first."""
    found = []
    for name, (session_id, at) in _named(folder).items():
        with contextlib.suppress(FileNotFoundError):
            found.append(Trashed(name, session_id, at, beneath.status(folder / name).st_size))
    return sorted(found, key=lambda each: each.at, reverse=True)


def _named(folder: Path) -> dict[str, tuple[str, datetime]]:
    try:
        names = beneath.names(folder)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise from_oserror(error, folder) from error
    matches = (match for name in names if (match := _NAME.fullmatch(name)))
    return {match[0]: (match[1], at) for match in matches if (at := _parsed(match[2]))}


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _free(folder: Path, stem: str, now: datetime) -> Path:
    """Later than all that are there, also where the clock was put back: the newest is found by its name."""
    latest = max((at for held, at in _named(folder).values() if held == stem), default=None)
    if latest is not None and latest >= now:
        now = latest + timedelta(microseconds=1)
    return folder / f"{stem}.{now.astimezone(UTC).strftime(_TIME)}.json"
