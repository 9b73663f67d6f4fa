"""Removing sessions: forgetting one with every trace of it, and taking back what a migration made."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import atomic, backups, beneath, disk, fileio
from dagentd.adapters.files.atomic import Temps
from dagentd.errors import CorruptFile, DagentdError, NotFound
from dagentd.model import ids, records
from dagentd.model.project import DOCUMENTS, FeatureFolder, GoneFolder, SessionFolder
from dagentd.model.records import Record
from dagentd.store import session_search
from dagentd.store.documents import copies, document_edits
from dagentd.store.documents.document_edits import LateEdit, edit_document
from dagentd.store.journal import kept_journals
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.store.journal.entries import Entry
from dagentd.store.journal.kept_journals import KeptJournals
from dagentd.store.layout import layout, legacy_files, rolled_back
from dagentd.store.layout.catalogue import Catalogue
from dagentd.store.layout.links import Link
from dagentd.store.sessions.open_sessions import OpenSessions
from dagentd.store.sessions.resources import Resources

# Forgetting a session for good, for a secret that leaked: every file that holds something of it.

# What stands beside a file and holds what it held: set aside, cut off, backed up, not yet renamed.
_BESIDE = r"(\.(corrupt|torn|lost|backup)(\.[0-9]+)?|\.[0-9]+(-[0-9]+)?\.dagentd-tmp)?"


def traces_of(
    session_id: str, features: list[FeatureFolder], sources: Iterable[Path], kept: KeptJournals, temps: Temps
) -> list[Path]:
    """All files that are the session's, in every feature and whether it is still served there or not. `sources` are
    those it was migrated from: left alone, they would be migrated again."""
    places = [place for feature in features for place in _places(session_id, feature)]
    found = [path for place in places for path in _in_folder(place.path, _names(place))]
    found += [path for source in sources for path in _in_folder(source.parent, {source.name})]
    found += [temp for temp, _ in temps.left(place.path / name for place in places for name in _names(place))]
    found += [*kept.of(session_id), *kept_journals.sealed_of_session(kept.folder, session_id)]
    found += _in_folder(kept.folder, {session_id})
    return sorted(set(found))


def _places(session_id: str, feature: FeatureFolder) -> Iterator[SessionFolder]:
    """Wherever it can be, in both styles."""
    nodes = [feature.task_dir(task) / "sessions" for task in layout.folder_names(feature.path / "nodes")]
    for folder in (feature.sessions_dir, *nodes):
        if not beneath.leads_out(folder):
            yield layout.with_names(SessionFolder(session_id, folder, "prefixed", feature))
            if not (folder / session_id).is_symlink():
                yield layout.with_names(SessionFolder(session_id, folder / session_id, "folder", feature))


def _names(place: SessionFolder) -> set[str]:
    """Also that of the single file which a session once was."""
    paths = [path for name in DOCUMENTS for path in (place.conventional(name), place.document(name))]
    single = {f"{place.id}.json"} if place.style == "prefixed" else set()
    return {path.name for path in (*paths, place.conventional("memory"), place.journal)} | single


def _in_folder(folder: Path, names: set[str]) -> list[Path]:
    pattern = re.compile(r"\.?(" + "|".join(map(re.escape, sorted(names))) + ")" + _BESIDE)
    try:
        held = beneath.names(folder)
    except OSError:  # not there
        return []
    return [folder / name for name in held if pattern.fullmatch(name) and not (folder / name).is_dir()]


def sources_of(feature: FeatureFolder, session: dict[str, Any]) -> list[Path]:
    """The files that a session says it was migrated from, if they are in its feature."""
    listed = session.get("migratedFrom")
    named = [each.get("path") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    found = [feature.path / name for name in named if isinstance(name, str) and "\0" not in name]
    return [path for path in found if _is_inside(path, feature.path) and path.is_file()]


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def remove_traces(found: Iterable[Path], session_id: str) -> None:
    folders = set()
    for path in found:
        with disk.explained(path):
            disk.remove(path)
        folders.add(path.parent)
    for folder in folders:
        if folder.name == session_id and not beneath.names(folder):
            disk.remove_folder(folder)
        else:
            disk.sync_folder(folder)


def drop_links(session_id: str, feature: FeatureFolder, settle: float, temps: Temps) -> list[LateEdit]:
    """Take the session out of feature.json and of every task.json."""
    tasks = [feature.task_dir(task) / "task.json" for task in layout.folder_names(feature.path / "nodes")]
    late = [_edited(path, session_id, settle, temps) for path in (feature.path / "feature.json", *tasks)]
    return [each for each in late if each is not None]


def _edited(path: Path, session_id: str, settle: float, temps: Temps) -> LateEdit | None:
    if not os.path.lexists(path):
        return None
    try:
        return edit_document(path, lambda raw: _without(raw, session_id), settle, temps)
    except CorruptFile:  # not to be read: it holds no link that we made
        return None


def _without(raw: dict[str, Any], session_id: str) -> dict[str, Any]:
    kept = {key: value for key, value in raw.items() if (key, value) != ("sessionId", session_id)}
    if isinstance(states := raw.get("states"), dict):
        kept["states"] = {name: _without_listed(state, session_id) for name, state in states.items()}
    return kept


def _without_listed(state: Any, session_id: str) -> Any:
    listed = state.get("sessionIds") if isinstance(state, dict) else None
    return {**state, "sessionIds": [one for one in listed if one != session_id]} if isinstance(listed, list) else state


# Removing: what was kept of a session for long enough, or a session with all its traces.


class Remover:
    def __init__(self, resources: Resources, catalogue: Catalogue, sessions: OpenSessions) -> None:
        self._resources, self._catalogue, self._sessions = resources, catalogue, sessions

    def discard(self, kept: GoneFolder) -> bool:
        """Remove what was kept of a session, if it is still gone."""
        self._resources.check_writable()
        with self._sessions.alone(kept.id), disk.explained(kept.journal):
            if kept not in self._catalogue.gone(kept.id):
                return False
            for path in (*kept_journals.sealed_paths(kept.journal), kept.journal):
                disk.remove(path)
            disk.sync_folder(kept.journal.parent)
        return True

    def traces(self, session_id: str) -> list[Path]:
        """The files that `forget` removes."""
        return self._traces(session_id, self._sources(ids.checked(session_id)))

    def _traces(self, session_id: str, sources: list[Path]) -> list[Path]:
        features, held = self._catalogue.features(), self._resources
        return traces_of(session_id, features, sources, held.kept, held.temps)

    def _sources(self, session_id: str) -> list[Path]:
        found: list[Path] = []
        for folder in (each for each in self._catalogue.folders() if each.id == session_id):
            # one that is damaged is forgotten too
            with contextlib.suppress(DagentdError), self._sessions.use(folder) as session:
                found += sources_of(folder.feature, session.fields)
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
            remove_traces(found, session_id)
        self._erase_from_indexes(session_id)  # once more: somebody may have searched while the files were there
        return found

    def _drop_links(self, session_id: str) -> None:
        for feature in self._catalogue.features():
            for late in drop_links(session_id, feature, self._resources.settle, self._resources.temps):
                self._resources.soon(late)

    def _erase_from_indexes(self, session_id: str) -> None:
        self._erase((f"/history_{session_id}.jsonl", f"/{session_id}/history.jsonl"))

    def begin_indexes_anew(self) -> None:
        """All of the project is read again: its journals have another text now."""
        self._resources.check_writable()
        self._erase((".jsonl",))

    def _erase(self, names: tuple[str, ...]) -> None:
        root = self._resources.project.root
        self._resources.index.erase(lambda path: str(path).endswith(names) and path.is_relative_to(root))
        if self._resources.search_file is not None:
            session_search.forget(self._resources.search_file)


# Taking back the link to a session that a migration made, to the very bytes if nobody wrote there since.


def take_link_back(link: Link, was_there: bool, settle: float, temps: Temps) -> list[LateEdit]:
    """Take a link back; the files that are to be looked at again when they have settled, if there are any. A link that
    `was_there` before the migration stays."""
    try:
        data = fileio.read(link.path)
        if _put_back(link.path, data, _before(link, layout.decoded(link.path, data), was_there), temps):
            return []
    except (FileNotFoundError, DagentdError, atomic.Changed):  # another program's: only the link goes
        pass
    return [] if was_there else drop_links(link.session_id, link.feature, settle, temps)


def _before(link: Link, current: dict[str, Any], was_there: bool) -> bytes | None:
    """The backup that the link was made in; empty if the file was made for the link."""
    for held in backups.of(link.path):
        data = fileio.read(held)
        before = layout.decoded(held, data)
        if before != current == link.change(before):
            return data
    return b"" if not was_there and link.change({}) == current else None


def _put_back(path: Path, data: bytes, before: bytes | None, temps: Temps) -> bool:
    if before is None:
        return False
    if not before:
        disk.remove(path)
        disk.sync_folder(path.parent)
        return True
    done = atomic.publish(path, [before], expect=fileio.digest(data), sync=True, temps=temps)
    if done.replaced is not None:
        done.replaced.close()
    return True


# What dagentd itself sets later.
_OWN_FIELDS = {"migratedFrom", "barred", "status", "archivedFor", "aliases", "linkedBefore"}


class Rollback:
    def __init__(self, resources: Resources, sessions: OpenSessions) -> None:
        self._resources, self._sessions = resources, sessions

    def withdraw(self, folder: SessionFolder, paths: Collection[str]) -> bool:
        """Take back what came from these sources. Whether nothing of the session is left but its journal: so it is if
        nothing else was ever in it."""
        self._resources.check_writable()
        with self._sessions.alone(folder.id):
            with self._sessions.use(folder) as session:
                described = self._is_usual(folder, session.fields.get("agentType"))
                ended = session.plan(lambda journal: _parting(journal, set(paths), described))
            if ended:
                self._sessions.close_one(folder)
                if rolled_back.is_rolled_back(folder):  # nobody has said anything in it meanwhile
                    self.finish(folder)
        return bool(ended)

    def _is_usual(self, folder: SessionFolder, role: object) -> bool:
        """Whether the agent description is the one that its role starts with, or came with the migration."""
        try:
            found = layout.read_object(folder.document("agent-description"))
            usual = document_edits.initial_description(self._resources.project, str(role), "")
        except FileNotFoundError:
            return True
        except DagentdError:
            return False
        return {**found, "createdAt": ""} == {**usual, "createdAt": ""} or _was_lone(folder, "agent-description")

    def finish(self, folder: SessionFolder) -> None:
        """Remove the documents of a session that was taken back; those that were there before get back what they
        held. After a crash this is done again."""
        words = rolled_back.last_words(folder.journal) or {}
        held = {each["path"]: each["sha256"] for each in words.get("barred", [])}
        with disk.explained(folder.path):
            link, was_there = Link.of(folder.feature, folder.id, words), words.get("linkedBefore") is True
            for late in take_link_back(link, was_there, self._resources.settle, self._resources.temps):
                self._resources.soon(late)
            for name in ("memory", *reversed(DOCUMENTS)):  # the session's last: it says that this is not finished
                path = folder.document(name)
                original = legacy_files.backup_with(path, held.get(folder.within_feature(path), ""))
                if original is not None:
                    atomic.put(path, original, temps=self._resources.temps)
                elif name != "memory" and os.path.lexists(path):  # which only the newer app makes
                    disk.remove(path)
            disk.sync_folder(folder.path)

    def resume(self, feature: FeatureFolder) -> None:
        """Go on with what a crash interrupted."""
        for folder, _ in rolled_back.in_feature(feature):
            with self._sessions.alone(folder.id):
                if os.path.lexists(folder.conventional("session")):
                    self._sessions.close_one(folder)
                    self.finish(folder)


def _was_lone(folder: SessionFolder, name: str) -> bool:
    path = folder.document(name)
    return os.path.lexists(path.with_name(f"{path.name}.backup"))


def _parting(journal: AppendableJournal, paths: set[str], described: bool) -> tuple[list[Record], bool]:
    state, at = journal.state, clock.stamp()
    every = state.entries.everything()
    mine = {entry.id for entry in every if _source(journal, entry) in paths}
    kept = [each for each in rolled_back.migrations(state.session) if each["path"] not in paths]
    ended = (
        described
        and not kept
        and all(entry.id in mine and entry.here and len(entry.versions) == 1 for entry in every)
        and len(state.checkpoints) <= 1
        and all(changes.keys() <= _OWN_FIELDS for _, changes in state.sets[1:])
        and "migratedFrom" in state.sets[0][1]
    )
    bars = [each for each in rolled_back.barred(state.session) if each["path"] not in paths]
    taken = [each for each in rolled_back.migrations(state.session) if each["path"] in paths]
    bars += [{"path": each["path"], "sha256": each["sha256"], "at": at} for each in taken]
    made = "migratedFrom" in state.sets[0][1]  # by the migration
    changes: dict[str, Any] = {"migratedFrom": kept if kept or made else None, "barred": bars}
    left = [entry.id for entry in state.entries.ordered() if entry.id in mine]
    first = [records.left(left, "rollback", at)] if left else []
    if ended:  # what is needed to take the links back too, in the one record that is looked at then
        changes |= {key: state.session[key] for key in ("taskId", "taskState", "linkedBefore") if key in state.session}
        changes["status"] = rolled_back.STATUS
    return [*first, records.session(changes, at)], ended


def _source(journal: AppendableJournal, entry: Entry) -> object:
    raw = journal.state.raw(entry)
    metadata = raw.get("metadata") if not copies.is_copy(raw) else None  # that was the app's migration
    return metadata.get("migratedFrom") if isinstance(metadata, dict) else None
