"""Removing temp files of processes that died. Those of a session's documents are looked at by the session."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from dagentd.adapters import disk
from dagentd.adapters.temps import left_beside
from dagentd.errors import DagentdError
from dagentd.model.project import SessionFolder
from dagentd.store import layout
from dagentd.store.catalogue import Catalogue
from dagentd.store.closed import closed
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.projections import places
from dagentd.store.resources import Resources

_log = logging.getLogger(__name__)


class Sweep:
    def __init__(self, resources: Resources, catalogue: Catalogue, sessions: OpenSessions) -> None:
        self._resources, self._catalogue, self._sessions = resources, catalogue, sessions

    def run(self) -> None:
        with disk.explained(self._resources.project.temp_dir):
            self._resources.temps.make()
        for feature in self._catalogue.features():
            nodes = [feature.task_dir(name) for name in layout.folder_names(feature.path / "nodes")]
            for folder in (feature.path, *nodes, *(node / "sessions" for node in nodes), feature.sessions_dir):
                self._in_folder(folder)
            for each in layout.sessions(feature):
                self._in_folder(each.path)
        self._in_folder(self._resources.kept.folder)
        self._in_their_own()

    def _in_folder(self, folder: Path) -> None:
        for temp, target in left_beside(folder):
            held = next((each for each in self._catalogue.folders() if target in places(each).values()), None)
            self._one(temp, held)

    def _in_their_own(self) -> None:
        """In the folder of their own. One that is of no session's document stays while there are folders we cannot
        look into: its session may be there."""
        if not (held := self._resources.temps.all_left()):
            return
        targets = {path: folder for folder in self._catalogue.folders() for path in places(folder).values()}
        known = {temp: targets[target] for temp, target in self._resources.temps.left(targets)}
        hidden = any(closed(self._resources.project))
        for temp in held:
            if temp in known or not hidden:
                self._one(temp, known.get(temp))

    def _one(self, temp: Path, of: SessionFolder | None) -> None:
        try:
            if of is not None:
                self._sessions.open(of)
            elif os.path.lexists(temp):
                disk.remove(temp)
        except (OSError, DagentdError) as error:  # it stays, and `reconcile` says what is wrong with its session
            _log.warning("cannot look at %s: %s", temp, error)
