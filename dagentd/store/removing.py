"""Removing: what was kept of a session for long enough, or a session with all its traces."""

from __future__ import annotations

import contextlib
from pathlib import Path

from dagentd.adapters import disk
from dagentd.errors import DagentdError, NotFound
from dagentd.model import ids
from dagentd.model.project import GoneFolder
from dagentd.store import forgetting, sealed, search
from dagentd.store.catalogue import Catalogue
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.resources import Resources


class Remover:
    def __init__(self, resources: Resources, catalogue: Catalogue, sessions: OpenSessions) -> None:
        self._resources, self._catalogue, self._sessions = resources, catalogue, sessions

    def discard(self, kept: GoneFolder) -> bool:
        """Remove what was kept of a session, if it is still gone."""
        self._resources.check_writable()
        with self._sessions.alone(kept.id), disk.explained(kept.journal):
            if kept not in self._catalogue.gone(kept.id):
                return False
            for path in (*sealed.paths(kept.journal), kept.journal):
                disk.remove(path)
            disk.sync_folder(kept.journal.parent)
        return True

    def traces(self, session_id: str) -> list[Path]:
        """The files that `forget` removes."""
        return self._traces(session_id, self._sources(ids.checked(session_id)))

    def _traces(self, session_id: str, sources: list[Path]) -> list[Path]:
        features, held = self._catalogue.features(), self._resources
        return forgetting.traces(session_id, features, sources, held.kept, held.temps)

    def _sources(self, session_id: str) -> list[Path]:
        found: list[Path] = []
        for folder in (each for each in self._catalogue.folders() if each.id == session_id):
            # one that is damaged is forgotten too
            with contextlib.suppress(DagentdError), self._sessions.use(folder) as session:
                found += forgetting.sources_of(folder.feature, session.fields)
        return found

    def forget(self, session_id: str) -> list[Path]:
        """Remove a session and all its traces for good; the files that held them. Those last: if we die before the end,
        there is something left to forget, and whoever asks again removes the rest."""
        self._resources.check_writable()
        with self._sessions.alone(ids.checked(session_id)):
            sources = self._sources(session_id)
            self._sessions.close_all_of(session_id)
            found = self._traces(session_id, sources)
            if not found:
                raise NotFound(f"there is nothing of a session {session_id}", hint="dagentd sessions")
            self._drop_links(session_id)
            self._erase_from_indexes(session_id)
            forgetting.remove(found, session_id)
        self._erase_from_indexes(session_id)  # once more: somebody may have searched while the files were there
        return found

    def _drop_links(self, session_id: str) -> None:
        for feature in self._catalogue.features():
            for late in forgetting.drop_links(session_id, feature, self._resources.settle, self._resources.temps):
                self._resources.soon(late)

    def _erase_from_indexes(self, session_id: str) -> None:
        root, names = self._resources.project.root, (f"/history_{session_id}.jsonl", f"/{session_id}/history.jsonl")
        self._resources.index.erase(lambda path: str(path).endswith(names) and path.is_relative_to(root))
        if self._resources.search_file is not None:
            search.forget(self._resources.search_file)
