"""Writing a session's context without opening the session: what is ours in it can be made again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagentd.adapters import aside, clock, disk, files, publishing
from dagentd.adapters.temps import Temps
from dagentd.errors import Conflict, NotFound
from dagentd.model import context, jsontext
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import SessionFolder
from dagentd.store import layout
from dagentd.store.projection import PATIENCE

_TRIES = 20
_log = logging.getLogger(__name__)

Renew = Callable[[dict[str, Any]], dict[str, Any] | None]


def renew_context(folder: SessionFolder, renew: Renew, settle: float, temps: Temps) -> bool:
    """Replace the document by what `renew` makes of it; False if that is None, or if the document, its folder or
    another document vanishes meanwhile: whoever removes a session must not find it made again."""
    path = folder.document("context")
    for _ in range(_TRIES):
        beside = layout.files_of(folder)
        before, expect = _found(path, settle)
        after = renew(before)
        if after is None or not beside:  # with nothing else of it there, it is as good as removed
            return False
        try:
            _publish(path, after, expect, temps, beside)
            return True
        except NotFound:
            return False
        except publishing.Changed:
            if expect is not None and not os.path.lexists(path):
                return False
    raise Conflict("another program keeps writing this file", path=path, hint="Try again when it has ended.")


def _publish(path: Path, after: dict[str, Any], expect: bytes | None, temps: Temps, beside: list[Path]) -> None:
    """Synced the first time, as a first rename without that was an empty file after power loss, and where others keep
    fields in it, which are nowhere else."""
    sync = expect is None or context.holds_more(after)
    with disk.explained(path):
        done = publishing.publish(path, [jsontext.pretty(after)], expect=expect, sync=sync, temps=temps, beside=beside)
    if done.replaced is not None:
        done.replaced.close()


def _found(path: Path, settle: float) -> tuple[dict[str, Any], bytes | None]:
    """The document and the digest of its bytes. Bytes that make no sense and stay so are kept beside it."""
    end, seen, since = clock.monotonic() + PATIENCE, b"", clock.monotonic()
    while True:
        try:
            data = files.read(path)
            return jsontext.decode_object(data), files.digest(data)
        except FileNotFoundError:
            return {}, None
        except Undecodable as error:
            if data != seen:
                seen, since = data, clock.monotonic()
            if clock.monotonic() >= min(since + settle, end):
                return _kept_aside(path, data, str(error)), files.digest(data)
            time.sleep(settle / 4)


def _kept_aside(path: Path, data: bytes, why: str) -> dict[str, Any]:
    if data.strip(b"\0 \t\r\n"):
        with disk.explained(path):
            kept = aside.save_beside(path, "corrupt", data)
        _log.warning("%s: %s; it is kept as %s and made anew", path, why, kept.name)
    return {}
