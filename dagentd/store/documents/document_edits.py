"""Documents that are no projection: context, agent description, and the links in feature.json and task.json."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, backups, disk, fileio
from dagentd.adapters.files.atomic import BESIDE, Temps
from dagentd.errors import Conflict, CorruptFile, DagentdError, from_oserror
from dagentd.model import jsontext
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import Project
from dagentd.store.layout.layout import decoded, read_object

_TRIES = 20
_AGAIN = 5.0  # seconds after which what could not be taken in is tried again

_log = logging.getLogger(__name__)

Change = Callable[[dict[str, Any]], dict[str, Any]]


def write_document(path: Path, raw: dict[str, Any], temps: Temps = BESIDE, beside: Collection[Path] = ()) -> bool:
    """Replace a document as a whole, or make it where all `beside` it are there; False if it already says the same."""
    return _let_go(_edit(path, lambda _: raw, temps, beside))


def edit_document(
    path: Path, change: Change, settle: float, temps: Temps = BESIDE, beside: Collection[Path] = ()
) -> LateEdit | None:
    """Apply a change to a document that others write too, which is made where all `beside` it are there; what is still
    to be looked at when it has settled, if there is anything."""
    done = _edit(path, change, temps, beside)
    return LateEdit(path, change, done.replaced, settle, temps) if done and done.replaced else None


class LateEdit:
    """The file that an edit replaced. What another program writes into it is edited likewise and put in place."""

    def __init__(self, path: Path, change: Change, replaced: atomic.Replaced, settle: float, temps: Temps) -> None:
        self._path, self._change, self._replaced, self._temps = path, change, replaced, temps
        self._due = clock.monotonic() + settle
        self.failing = self.idle = False

    def tend(self, now: float) -> float | None:
        if now < self._due:
            return self._due
        try:
            self.finish()
        except (DagentdError, OSError) as error:
            self._failed(error)
            self._due = now + _AGAIN
            return self._due
        return None

    def finish(self) -> None:
        """Now, for somebody who waits and is told what goes wrong."""
        late = self._replaced.read()
        if late and fileio.digest(late) != self._replaced.seen:
            self._take(late)
        self._replaced.close()

    def _failed(self, error: DagentdError | OSError) -> None:
        """Told once, however often it fails."""
        if not self.failing:
            said = from_oserror(error, self._path) if isinstance(error, OSError) else error
            _log.warning("what another program wrote is not taken in yet: %s", said)
        self.failing = True

    def _take(self, late: bytes) -> None:
        try:
            theirs = jsontext.decode_object(late)
        except Undecodable:
            backups.save_beside(self._path, "corrupt", late)
        else:
            _let_go(_edit(self._path, lambda _: self._change(theirs), self._temps))


def _let_go(done: atomic.Published | None) -> bool:
    """Whether anything was written; what was replaced is not looked at again."""
    if done and done.replaced:
        done.replaced.close()
    return done is not None


def _edit(path: Path, change: Change, temps: Temps, beside: Collection[Path] = ()) -> atomic.Published | None:
    """None if nothing changes. Another program's way of writing the same is left as it is."""
    for _ in range(_TRIES):
        try:
            data = fileio.read(path)
            before, expect = decoded(path, data), fileio.digest(data)
        except FileNotFoundError:
            before, expect = {}, None
        after = change(before)
        if expect is not None and after == before:
            return None
        try:
            with disk.explained(path):
                made = [jsontext.pretty(after)]
                return atomic.publish(path, made, expect=expect, sync=True, temps=temps, beside=beside)
        except atomic.Changed:
            continue
    raise Conflict("another program keeps writing this file", path=path, hint="Try again when it has ended.")


# The description an agent starts with: the user's own for its role, else the one that ships with dagentd.

_NAMES = {"dev": ("developer",), "pm": ("feature",)}


def initial_description(project: Project, role: str, at: str) -> dict[str, Any]:
    """`.dagent/agents/{role}.json` in the project replaces the default; the app has another name for some roles."""
    from dagentd.model import (
        agent_types,  # with pydantic: who only reads the registry, as completion does, goes without
    )

    for name in (role, *_NAMES.get(role, ())):
        path = project.root / ".dagent" / "agents" / f"{name}.json"
        try:
            return agent_types.replaced_by(read_object(path), role, at).raw()
        except FileNotFoundError:
            continue
        except Undecodable as error:
            raise CorruptFile(str(error), path=path, hint="Mend the file or move it away.") from None
    return agent_types.default(role, at).raw()
