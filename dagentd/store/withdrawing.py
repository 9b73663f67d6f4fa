"""Taking a migration back: the imported messages leave, their source is barred, and what only it had made goes."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from dagentd.adapters import clock, disk, publishing
from dagentd.errors import DagentdError
from dagentd.model import records
from dagentd.model.project import DOCUMENTS, FeatureFolder, SessionFolder
from dagentd.model.records import Record
from dagentd.store import copies, layout, legacy, roles, unlinking, withdrawn
from dagentd.store.chronicle import Chronicle
from dagentd.store.entry import Entry
from dagentd.store.links import Link
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.resources import Resources

# What dagentd itself sets later.
_OWN_FIELDS = {"migratedFrom", "barred", "status", "archivedFor", "aliases", "linkedBefore"}


class Withdrawer:
    def __init__(self, resources: Resources, sessions: OpenSessions) -> None:
        self._resources, self._sessions = resources, sessions

    def withdraw(self, folder: SessionFolder, paths: Collection[str]) -> bool:
        """Take back what came from these sources. Whether nothing of the session is left but its journal: so it is if
        nothing else was ever in it."""
        self._resources.check_writable()
        with self._sessions.alone(folder.id):
            with self._sessions.use(folder) as session:
                described = self._is_usual(folder, session.fields.get("agentType"))
                ended = session.plan(lambda chronicle: _parting(chronicle, set(paths), described))
            if ended:
                self._sessions.close_one(folder)
                if withdrawn.is_withdrawn(folder):  # nobody has said anything in it meanwhile
                    self.finish(folder)
        return bool(ended)

    def _is_usual(self, folder: SessionFolder, role: object) -> bool:
        """Whether the agent description is the one that its role starts with, or came with the migration."""
        try:
            found = layout.read_object(folder.document("agent-description"))
            usual = roles.description(self._resources.project, str(role), "")
        except FileNotFoundError:
            return True
        except DagentdError:
            return False
        return {**found, "createdAt": ""} == {**usual, "createdAt": ""} or _was_lone(folder, "agent-description")

    def finish(self, folder: SessionFolder) -> None:
        """Remove the documents of a session that was taken back; those that were there before get back what they
        held. After a crash this is done again."""
        words = withdrawn.last_words(folder.journal) or {}
        held = {each["path"]: each["sha256"] for each in words.get("barred", [])}
        with disk.explained(folder.path):
            link, was_there = Link.of(folder.feature, folder.id, words), words.get("linkedBefore") is True
            for late in unlinking.take_back(link, was_there, self._resources.settle, self._resources.temps):
                self._resources.soon(late)
            for name in ("memory", *reversed(DOCUMENTS)):  # the session's last: it says that this is not finished
                path = folder.document(name)
                original = legacy.backup_with(path, held.get(folder.within_feature(path), ""))
                if original is not None:
                    publishing.put(path, original, temps=self._resources.temps)
                elif name != "memory" and os.path.lexists(path):  # which only the newer app makes
                    disk.remove(path)
            disk.sync_folder(folder.path)

    def resume(self, feature: FeatureFolder) -> None:
        """Go on with what a crash interrupted."""
        for folder, _ in withdrawn.in_feature(feature):
            with self._sessions.alone(folder.id):
                if os.path.lexists(folder.conventional("session")):
                    self._sessions.close_one(folder)
                    self.finish(folder)


def _was_lone(folder: SessionFolder, name: str) -> bool:
    path = folder.document(name)
    return os.path.lexists(path.with_name(f"{path.name}.backup"))


def _parting(chronicle: Chronicle, paths: set[str], described: bool) -> tuple[list[Record], bool]:
    state, at = chronicle.state, clock.stamp()
    every = state.entries.everything()
    mine = {entry.id for entry in every if _source(chronicle, entry) in paths}
    kept = [each for each in migrations(state.session) if each["path"] not in paths]
    ended = (
        described
        and not kept
        and all(entry.id in mine and entry.here and len(entry.versions) == 1 for entry in every)
        and len(state.checkpoints) <= 1
        and all(changes.keys() <= _OWN_FIELDS for _, changes in state.sets[1:])
        and "migratedFrom" in state.sets[0][1]
    )
    bars = [each for each in barred(state.session) if each["path"] not in paths]
    taken = [each for each in migrations(state.session) if each["path"] in paths]
    bars += [{"path": each["path"], "sha256": each["sha256"], "at": at} for each in taken]
    made = "migratedFrom" in state.sets[0][1]  # by the migration
    changes: dict[str, Any] = {"migratedFrom": kept if kept or made else None, "barred": bars}
    left = [entry.id for entry in state.ordered() if entry.id in mine]
    first = [records.left(left, "rollback", at)] if left else []
    if ended:  # what is needed to take the links back too, in the one record that is looked at then
        changes |= {key: state.session[key] for key in ("taskId", "taskState", "linkedBefore") if key in state.session}
        changes["status"] = withdrawn.STATUS
    return [*first, records.session(changes, at)], ended


def _source(chronicle: Chronicle, entry: Entry) -> object:
    raw = chronicle.state.raw(entry)
    metadata = raw.get("metadata") if not copies.is_copy(raw) else None  # that was the app's migration
    return metadata.get("migratedFrom") if isinstance(metadata, dict) else None


def barred(session: dict[str, Any]) -> list[dict[str, str]]:
    """The sources whose migration was taken back."""
    return [each for each in _listed(session, "barred") if {"path", "sha256"} <= each.keys()]


def migrations(session: dict[str, Any]) -> list[dict[str, str]]:
    """What a session says it was migrated from; another program may have written anything there."""
    return [each for each in _listed(session, "migratedFrom") if {"path", "sha256"} <= each.keys()]


def _listed(session: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = session.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
