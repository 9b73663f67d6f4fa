"""Writing a session's context without opening the session: what is ours in it can be made again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagentd.adapters import aside, clock, disk, files, publishing, surroundings
from dagentd.adapters.temps import Temps
from dagentd.errors import Conflict, NotFound
from dagentd.model import context, jsontext
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.store import layout
from dagentd.store.projection import GONE_FOR, PATIENCE

_TRIES = 20
_log = logging.getLogger(__name__)

Renew = Callable[[dict[str, Any]], dict[str, Any] | None]


class Contexts:
    """Of one project; safe to call from any thread. `known` are those that were there."""

    def __init__(self, settle: float, temps: Temps) -> None:
        self._settle, self._temps = settle, temps
        self._known: set[Path] = set()

    def renew(self, folder: SessionFolder, renew: Renew) -> bool:
        """Replace the document by what `renew` makes of it; False if that is None, or if the document, its folder or
        another document vanishes meanwhile: whoever removes a session must not find it made again."""
        path = folder.document("context")
        for _ in range(_TRIES):
            beside = layout.files_of(folder)
            before, expect = _found(path, self._settle)
            if expect is not None:
                self._known.add(path)
            elif not self._may_be_made(path, beside):
                return False
            after = renew(before)
            if after is None or not beside:  # with nothing else of it there, it is as good as removed
                return False
            try:
                _publish(path, after, expect, self._temps, beside)
                self._known.add(path)
                return True
            except NotFound:
                return False
            except publishing.Changed:
                if expect is not None and not os.path.lexists(path):
                    return False
        raise Conflict("another program keeps writing this file", path=path, hint="Try again when it has ended.")

    def _may_be_made(self, path: Path, beside: list[Path]) -> bool:
        """One that vanished only if nothing follows it: git removes the files of a session one after the other, and on
        a busy machine it may come to the next one long after the first."""
        if path not in self._known:
            return True
        self._known.discard(path)
        time.sleep(GONE_FOR)
        try:
            surroundings.check_there(beside)
        except FileNotFoundError:
            return False
        return True

    def forget(self, feature: FeatureFolder) -> None:
        """It is gone; what comes in its place is new."""
        self._known -= {path for path in list(self._known) if path.is_relative_to(feature.path)}


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
