"""Importing: what an older file held goes into a session in one append, or becomes a session at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagentd.adapters import clock, disk, files
from dagentd.formats.shape import Converted
from dagentd.model import jsontext, records
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.model.records import Record
from dagentd.store import beginning, copies, layout, links, opening, rendering, withdrawn
from dagentd.store import journal as journals
from dagentd.store.catalogue import of_feature
from dagentd.store.chronicle import Chronicle
from dagentd.store.journal import Journal
from dagentd.store.legacy import LegacyFile
from dagentd.store.links import Link
from dagentd.store.making import Maker
from dagentd.store.merge import Found, copy_of, edits, identify
from dagentd.store.open_sessions import OpenSessions
from dagentd.store.outside import Doc
from dagentd.store.placing import arrivals
from dagentd.store.resources import Resources
from dagentd.store.session import Session
from dagentd.store.state import State


@dataclass(frozen=True)
class Imported:
    """`added` are the messages that were not known, or are back, in the order of the file: each id with its line."""

    session: Session
    added: dict[str, bytes]
    made: bool  # the session is new, or is not yet complete because a crash came between


class Importer:
    def __init__(self, resources: Resources, sessions: OpenSessions, maker: Maker) -> None:
        self._resources, self._sessions, self._maker = resources, sessions, maker

    def check_writable(self) -> None:
        self._resources.check_writable()

    def bring_in(self, feature: FeatureFolder, new: Converted, file: LegacyFile, by_app: bool) -> Imported:
        """The caller leaves the session. `migratedFrom` is empty in one that is made here, until it is complete.
        `by_app`: the app may have migrated the file before."""
        self.check_writable()
        with self._sessions.door(new.session_id):
            folder = of_feature(feature, new.session_id) or withdrawn.left_behind(feature, new.session_id)
            if folder is None:
                return self._create(new, _new_folder(feature, new, file), [file.path, *feature.signs])
            session = self._sessions.open(folder)
        link = Link.of(feature, new.session_id, new.fields)
        added = session.plan(lambda chronicle: _additions(chronicle, new, file.source.path, link, by_app))
        return Imported(session, added, session.fields.get("migratedFrom") == [])

    def _create(self, new: Converted, folder: SessionFolder, beside: list[Path]) -> Imported:
        """The journal is seen with all messages in it, or not at all, and not where a feature is just moved."""
        self._sessions.close_lost(new.session_id)
        written = _first_records(folder, new, clock.stamp())
        with disk.explained(folder.path):
            with self._sessions.lock:
                self._resources.kept.make()
            with links.session_folders(folder, beside):
                journals.create(
                    folder.journal, folder.id, opening.chunks(written), self._resources.kept, beside
                ).close()
        session = self._sessions.open(folder, written)
        session.announce(action="created")
        lines = (record.message for record in written if record.t == "message")
        return Imported(session, {raw["id"]: line for raw, line in zip(new.messages, lines, strict=True)}, True)

    def complete(self, session: Session, new: Converted) -> None:
        """What a new session has beside its journal."""
        for name, raw in (("context", new.context), ("agent-description", new.agent_description)):
            if raw is not None and session.read(name) is None:
                session.replace(name, raw)
        self._maker.complete(session, {key: str(new.fields[key]) for key in _LINKED if key in new.fields})

    def shows(self, session: Session, added: Mapping[str, bytes]) -> bool:
        """Whether the chat on disk has these, byte for byte and in this order. False also if another program has
        written it meanwhile in its own way."""
        data = files.read(session.folder.document("chat"), files.CHAT_LIMIT)
        return rendering.shows(data, list(added.values()))

    def lacking(self, session: Session, wanted: Iterable[str]) -> list[str]:
        """Those of the ids that the session never had."""
        return list(session.plan(lambda known: ([], [one for one in wanted if known.state.find(one) is None])))

    def announce(self, type: str, feature: FeatureFolder, session_id: str | None, **fields: Any) -> None:
        project = str(self._resources.project.root)
        self._resources.announce(type, project=project, feature_id=feature.id, session_id=session_id, **fields)


_LINKED = ("type", "agentType", "featureId", "taskId", "taskState")


def _new_folder(feature: FeatureFolder, new: Converted, file: LegacyFile) -> SessionFolder:
    """Documents that lack only their session document stay where they are."""
    if file.document is None:
        return layout.new_session(feature, new.session_id)
    return SessionFolder(new.session_id, file.path.parent, "prefixed", feature, file.task_id)


def _first_records(folder: SessionFolder, new: Converted, at: str) -> list[Record]:
    first, checkpoint = beginning.new_session(folder, new.fields, at)
    linked = {"linkedBefore": True} if Link.of(folder.feature, folder.id, new.fields).is_made() else {}
    given = {**first.body["set"], **new.fields, **_alias({}, new), **linked, "migratedFrom": []}
    if new.checkpoint is not None:
        checkpoint = records.checkpoint(new.checkpoint, at)
    messages = [records.message(raw, jsontext.encode(raw), at) for raw in new.messages]
    counted = {"session": {"stats": new.stats}, "checkpoint": new.checkpoint or {}}
    return [records.session(given, at, beginning.base(counted, new.messages)), checkpoint, *messages]


def _additions(
    chronicle: Chronicle, new: Converted, source: str, link: Link, by_app: bool
) -> tuple[list[Record], dict[str, bytes]]:
    state, at = chronicle.state, clock.stamp()
    doc = Doc({"messages": new.messages}, source, ours=True)
    copied = copies.copied_before(state, new.messages)
    found = [copy_of(copied[one.id], one.raw) if one.id in copied else one for one in identify(state, doc)]
    arrived = arrivals(found, state.entries.everything(), at)
    gone = _compacted_unseen(state, found) if by_app else []
    again = _returning(chronicle, [one.id for one in found if one.entry and not one.entry.here], source, at)
    changed = edits(found, doc, at)
    changes = _alias(state.session, new)
    if state.session.get("status") == withdrawn.STATUS:
        changes |= {"status": "active", "linkedBefore": link.is_made()}
    told = [records.session(changes, at)] if changes else []
    back = {one for record in again for one in record.body["ids"]}
    added = {one.id: one.line for one in found if one.entry is None or one.id in back}
    left = [records.left(gone, "compacted", at)] if gone else []
    return [*arrived, *again, *left, *changed, *told], added


def _compacted_unseen(state: State, found: Sequence[Found]) -> list[str]:
    """The app compacts all that is in chat, and began with this file: as many of the first entries as its checkpoint
    counts and we never saw had left chat before we came."""
    last = max((number for number, one in enumerate(found) if one.copied), default=len(found))
    stats = (state.checkpoint or {}).get("stats")
    counted = stats.get("totalMessages") if isinstance(stats, dict) else None
    seen = sum(not entry.here for entry in state.entries.everything())
    unseen = max(0, counted - seen) if isinstance(counted, int) else 0
    return [one.id for one in found[:last] if one.entry is None][:unseen]


def _alias(session: dict[str, Any], new: Converted) -> dict[str, Any]:
    held = session.get("aliases")
    known = held if isinstance(held, list) else []
    return {"aliases": [*known, new.alias]} if new.alias is not None and new.alias not in known else {}


def _returning(chronicle: Chronicle, left: Sequence[str], source: str, at: str) -> list[Record]:
    """Messages that left because their migration was taken back, which is now done again. Those that left for another
    reason stay away."""
    barred = chronicle.state.session.get("barred")
    if not left or not any(isinstance(each, dict) and each.get("path") == source for each in barred or []):
        return []
    taken = _rolled_back(chronicle.journal.path)
    back = [one for one in left if one in taken]
    return [records.back(back, at)] if back else []


def _rolled_back(path: Path) -> set[str]:
    journal = Journal.open_read(path)
    try:
        read = [line.record for group in journal.groups() for line in group]
    finally:
        journal.close()
    left = [record for record in read if record.t == "left" and record.body.get("why") == "rollback"]
    return {one for record in left for one in record.body["ids"]}
