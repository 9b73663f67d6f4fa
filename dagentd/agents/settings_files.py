"""Files of settings in which agents note a plug-in: what was in them before ours, and that again when it goes.

A file that has nothing else than before is given its bytes back; what the user has changed since stays."""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters.files import atomic, disk, fileio
from dagentd.errors import Conflict, CorruptFile
from dagentd.model import jsontext

Object = dict[str, Any]
Edit = Callable[[Object], None]


def read(path: Path) -> bytes | None:
    try:
        return fileio.read(path)
    except FileNotFoundError:
        return None


def edit(path: Path, change: Edit) -> None:
    """In JSON, by ourselves; the other fields keep their order. `change` raises where ours cannot be put."""
    before = read(path)
    fields = _parsed(path, before)
    with _sensible(path):
        change(fields)
    _put(path, before, jsontext.pretty(fields))


def undo(path: Path, before: bytes | None, without_ours: Edit) -> bool:
    """Whether it is byte for byte as it was before. `without_ours` takes our entries out of what is there now."""
    now = read(path)
    if now is None or now == before:
        return now == before
    was, fields = _parsed(path, before), _parsed(path, now)
    there = _parsed(path, now)
    without_ours(fields)
    for name in [name for name, value in fields.items() if value == {} and name not in was]:
        del fields[name]
    if _same(fields, was) and (path.suffix != ".toml" or _notes(now) == _notes(before or b"")):
        _put(path, now, before)
        return True
    if fields != there and path.suffix == ".json":
        _put(path, now, jsontext.pretty(fields))
    return False


def _parsed(path: Path, data: bytes | None) -> Object:
    with _sensible(path):
        if path.suffix == ".toml":
            return tomllib.loads((data or b"").decode("utf-8-sig"))
        return jsontext.decode_object(data) if data is not None and data.strip() else {}


@contextlib.contextmanager
def _sensible(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise CorruptFile(f"makes no sense: {error}", path=path, hint="Mend it, and try again.") from None


def _same(one: Object, other: Object) -> bool:
    """In whatever order. To Python, 1 and true are the same."""
    first, second = (json.dumps(each, sort_keys=True, default=str) for each in (one, other))
    return first == second


def _notes(data: bytes) -> list[bytes]:
    """The comments in TOML: a user may have added some, which no value tells of."""
    return [line.strip() for line in data.splitlines() if b"#" in line]


def _put(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Not over what another program wrote meanwhile. Who had no file and no folder has none again."""
    with disk.explained(path):
        if after is None:
            disk.remove(path)
            if not path.parent.is_symlink() and not any(path.parent.iterdir()):
                disk.remove_folder(path.parent)
            return
        disk.make_folders(path.parent)
        expect = None if before is None else fileio.digest(before)
        try:
            done = atomic.publish(path, [after], expect=expect, sync=True)
        except atomic.Changed:
            raise Conflict("was changed by another program meanwhile", path=path, hint="Try again.") from None
    if done.replaced is not None:
        done.replaced.close()
