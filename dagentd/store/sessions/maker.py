"""Making features and sessions: new ones, those that a migration imports, and those whose worktree is gone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.adapters.files import beneath, disk, fileio
from dagentd.errors import Conflict, DagentdError, InvalidInput, NotFound
from dagentd.formats.shape import Converted
from dagentd.model import ids, jsontext, records, times
from dagentd.model.project import FeatureFolder, GoneFolder, SessionFolder, Tree
from dagentd.model.records import Record
from dagentd.store.documents import copies, rendering
from dagentd.store.documents.checkpoint_merge import OutsideDocument
from dagentd.store.documents.document_edits import write_document
from dagentd.store.documents.merge import Found, copy_of, edits, identify
from dagentd.store.journal import journal as journals
from dagentd.store.journal import opening
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.store.journal.entries import Entry
from dagentd.store.journal.journal import Journal
from dagentd.store.journal.state import State
from dagentd.store.layout import layout, links, orphans, rolled_back
from dagentd.store.layout.catalogue import Catalogue, of_feature
from dagentd.store.layout.legacy_files import LegacyFile
from dagentd.store.layout.links import Link
from dagentd.store.sessions.open_sessions import OpenSessions
from dagentd.store.sessions.resources import Resources
from dagentd.store.sessions.session import Session

_TOLD_BY = ("type", "agentType", "taskState")  # what makes a session the one that is asked for
_LEADERS = ("pm", "feature")  # whose session a feature names; those of other roles are beside it


class SessionMaker:
    def __init__(self, resources: Resources, catalogue: Catalogue, sessions: OpenSessions) -> None:
        self._resources, self._catalogue, self._sessions = resources, catalogue, sessions

    def get_or_create(
        self, type: str, agent_type: str, feature_id: str, task_id: str | None = None,
        task_state: str | None = None, worktree: str | None = None,
    ) -> Session:  # fmt: skip
        """The session of a feature or of a task's state; an archived one becomes active again."""
        self._resources.check_writable()
        ids.one_of(type, ids.SessionType, "type")
        if type == "task" and task_id is None:
            raise InvalidInput("a task session needs taskId", hint="Give it; taskState may be left out.")
        feature = self._catalogue.feature(feature_id, worktree)
        fields = {"type": type, "agentType": agent_type, "featureId": feature_id}
        if type == "task":
            state = ids.usual_state(agent_type) if task_state is None else task_state
            session_id = ids.task_session(agent_type, feature_id, str(task_id), state)
            fields |= {"taskId": str(task_id), "taskState": state}
        else:
            session_id = ids.feature_session(agent_type, feature_id)
        session_id = self.linked(feature, fields, session_id) or session_id
        with self._sessions.door(session_id):
            session = self._existing(feature, session_id)
            with self._sessions.lock:
                session = session or self._create(feature, session_id, fields)
                self.complete(session, fields, leads=type == "task" or agent_type in _LEADERS)
        return session

    def linked(self, feature: FeatureFolder, fields: dict[str, str], usual: str) -> str | None:
        """The active session of this role that the feature, or the task for this state, names: whatever its id, and of
        several the one with the usual id, else the latest."""
        named = links.named(feature, fields.get("taskId"), fields.get("taskState"))
        found = [folder.id for folder in named if self._is_active(folder, fields)]
        return usual if usual in found else found[-1] if found else None

    def _is_active(self, folder: SessionFolder, fields: dict[str, str]) -> bool:
        try:
            known = self._sessions.document(folder) or layout.read_object(folder.document("session"))
        except (FileNotFoundError, DagentdError):
            return False
        same = all(known.get(key, wanted) == wanted for key, wanted in fields.items() if key in _TOLD_BY)
        return same and known.get("status", "active") == "active"

    def _existing(self, feature: FeatureFolder, session_id: str) -> Session | None:
        folder = of_feature(feature, session_id) or rolled_back.left_behind(feature, session_id)
        if folder is None:
            return None
        session = self._sessions.open(folder)
        if session.fields.get("status") in ("archived", rolled_back.STATUS):
            session.set(status="active")
        return session

    def _create(self, feature: FeatureFolder, session_id: str, fields: dict[str, str]) -> Session:
        self._sessions.close_lost(session_id)
        folder = layout.new_session(feature, session_id)
        first = journals.chunks(opening.new_session(folder, fields, clock.stamp()))
        with disk.explained(folder.path), links.session_folders(folder, feature.signs):
            journals.create(folder.journal, session_id, first, self._resources.kept, feature.signs).close()
        session = self._sessions.open(folder)
        session.announce(action="created")
        return session

    def complete(self, session: Session, fields: dict[str, str], leads: bool = False) -> None:
        """Make what a new session has beside its journal; a crash may have come between."""
        session.describe()
        link = Link.of(session.folder.feature, session.id, fields, leads)
        if (late := link.make(self._resources.settle, self._resources.temps)) is not None:
            self._resources.soon(late)

    def make_feature(self, feature_id: str, name: str | None = None, description: str | None = None) -> FeatureFolder:
        """A feature of its own in the worktree of its name, with the `.dagent` of that if it has none."""
        self._resources.check_writable()
        ids.checked(feature_id, "feature id")
        with self._sessions.lock:
            tree = self._tree_for(feature_id)
            now = clock.stamp()
            made = {"id": feature_id, "name": name or feature_id, "status": "in_progress"}
            made |= {"createdAt": now, "updatedAt": now} | ({"description": description} if description else {})
            beside = [marker for marker in [tree.worktree / ".git"] if marker.exists()]
            with disk.explained(tree.path), links.folders(tree.path, beside=beside):
                write_document(tree.path / "feature.json", made, self._resources.temps, beside)
        return self._catalogue.feature(feature_id, tree.name)

    def _tree_for(self, feature_id: str) -> Tree:
        """Where a new feature goes: the worktree of its name, if that has none yet."""
        known = self._catalogue.features()
        if there := [each for each in known if each.id == feature_id]:
            raise Conflict("this feature is there already", path=there[0].path, hint=f"dagentd new {feature_id}")
        project = self._resources.project
        place = project.root / layout.WORKTREES / feature_id
        linked = beneath.real(place)  # it may be a link to a worktree of another name
        others = [tree for tree in layout.checkouts(project) if tree.worktree != project.root]
        found = [tree for tree in others if tree.name == feature_id or tree.worktree == linked]
        if not found:
            told = f"feature {feature_id} has no worktree"
            raise NotFound(told, path=place, hint=f"dagentd new {feature_id}")
        if held := [each for each in known if each.tree == found[0] and each.shape == "flat"]:
            told = f"the worktree of this name holds feature {held[0].id}"
            raise Conflict(told, path=place, hint=f"dagentd new {held[0].id}")
        return found[0]

    def restore(self, session_id: str, feature_id: str | None = None, worktree: str | None = None) -> Session:
        """Bring a session whose worktree is gone back, into its feature or another one; a feature whose worktree is
        there without it is made again."""
        self._resources.check_writable()
        ids.checked(session_id)
        with self._sessions.alone(self._gone(session_id).id):
            kept = self._gone(session_id)
            with self._sessions.use(kept) as lost:
                fields = orphans.known_fields(lost.fields)
            feature = self._feature_for(session_id, feature_id or fields.pop("featureId", None), worktree)
            self._sessions.close_lost(kept.id)
            session = self._sessions.open(orphans.put_back(kept, feature))
            session.set(featureId=feature.id, restored={"at": clock.stamp(), "worktree": feature.tree.name})
            self.complete(session, fields)
        session.announce(action="restored")
        return session

    def _gone(self, session_id: str) -> GoneFolder:
        if not (kept := self._catalogue.gone(session_id)):
            raise NotFound(f"no session {session_id} is gone", hint="dagentd sessions --gone")
        return kept[-1]

    def _feature_for(self, session_id: str, feature_id: str | None, worktree: str | None) -> FeatureFolder:
        if feature_id is None:
            told, hint = "its feature is not known", f"dagentd restore {session_id} --into FEATURE"
            raise NotFound(f"session {session_id} has no place to go: {told}", hint=hint)
        if any(each.id == feature_id for each in self._catalogue.features()):
            return self._catalogue.feature(feature_id, worktree)
        try:
            return self.make_feature(feature_id)
        except NotFound as error:
            told = f"session {session_id} has no place to go: {error.message}"
            hint = f"dagentd restore {session_id} --into {feature_id}"
            raise NotFound(told, path=error.path, hint=hint) from None


# Imported messages among those that a session has: time decides the place of each, once.

_EARLIEST = datetime.min.replace(tzinfo=UTC)


def arrivals(found: Sequence[Found], held: Sequence[Entry], at: str) -> list[Record]:
    """The new ones of a file, each behind what was said before it; `held` are all messages of the session in order.
    Both keep their own order: where times are out of order, the latest so far counts. A new message also stands
    behind the one that it follows in its file, and before the next that is known."""
    if not held:
        return [records.message(one.raw, one.line, at) for one in found]
    return _Placing(held).records(found, at)


class _Placing:
    def __init__(self, held: Sequence[Entry]) -> None:
        self._held = held
        self._index = {entry.id: number for number, entry in enumerate(held)}
        self._latest = _running(jsontext.decode_own(entry.stamp.encode()) for entry in held)

    def records(self, found: Sequence[Found], at: str) -> list[Record]:
        said = _running(one.raw.get("timestamp") for one in found)
        ends = self._ends(found)
        result: list[Record] = []
        before, last = 0, ""  # how many of the held stand before it; the new one that was placed there last
        for one, moment, end in zip(found, said, ends, strict=True):
            if one.entry is not None:
                before, last = self._index[one.id] + 1, ""
                continue
            place = max(before, min(bisect_right(self._latest, moment), end))
            after: dict[str, Any] = {}
            if place < len(self._held):
                behind = self._held[place - 1].id if place else None
                after = {"after": last if last and place == before else behind}
            result.append(records.message(one.raw, one.line, at, **after))
            before, last = place, one.id
        return result

    def _ends(self, found: Sequence[Found]) -> list[int]:
        """For each the number of those held that may stand before it: up to the next of its file that is known."""
        ends, end = [], len(self._held)
        for one in reversed(found):
            end = self._index[one.id] if one.entry is not None else end
            ends.append(end)
        return ends[::-1]


def _running(stamps: Iterable[object]) -> list[datetime]:
    return list(accumulate((times.parse(stamp) or _EARLIEST for stamp in stamps), max))


# Importing: what an older file held goes into a session in one append, or becomes a session at once.


@dataclass(frozen=True)
class Imported:
    """`added` are the messages that were not known, or are back, in the order of the file: each id with its line."""

    session: Session
    added: dict[str, bytes]
    made: bool  # the session is new, or is not yet complete because a crash came between


class Importer:
    def __init__(self, resources: Resources, sessions: OpenSessions, maker: SessionMaker) -> None:
        self._resources, self._sessions, self._maker = resources, sessions, maker

    def check_writable(self) -> None:
        self._resources.check_writable()

    def bring_in(self, feature: FeatureFolder, new: Converted, file: LegacyFile, by_app: bool) -> Imported:
        """The caller leaves the session. `migratedFrom` is empty in one that is made here, until it is complete.
        `by_app`: the app may have migrated the file before."""
        self.check_writable()
        with self._sessions.door(new.session_id):
            folder = of_feature(feature, new.session_id) or rolled_back.left_behind(feature, new.session_id)
            if folder is None:
                return self._create(new, _new_folder(feature, new, file), [file.path, *feature.signs])
            session = self._sessions.open(folder)
        link = Link.of(feature, new.session_id, new.fields)
        added = session.plan(lambda journal: _additions(journal, new, file.source.path, link, by_app))
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
                    folder.journal, folder.id, journals.chunks(written), self._resources.kept, beside
                ).close()
        session = self._sessions.open(folder, written)
        session.announce(action="created")
        lines = (record.message for record in written if record.t == "message")
        return Imported(session, {raw["id"]: line for raw, line in zip(new.messages, lines, strict=True)}, True)

    def complete(self, session: Session, new: Converted) -> None:
        """Make what a session that was migrated has beside its journal."""
        for name, raw in (("context", new.context), ("agent-description", new.agent_description)):
            if raw is not None and session.read(name) is None:
                session.replace(name, raw)
        self._maker.complete(session, {key: str(new.fields[key]) for key in _LINKED if key in new.fields})

    def shows(self, session: Session, added: Mapping[str, bytes]) -> bool:
        """Whether the chat on disk has these, byte for byte and in this order. False also if another program has
        written it meanwhile in its own way."""
        data = fileio.read(session.folder.document("chat"), fileio.CHAT_LIMIT)
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
    first, checkpoint = opening.new_session(folder, new.fields, at)
    linked = {"linkedBefore": True} if Link.of(folder.feature, folder.id, new.fields).is_made() else {}
    given = {**first.body["set"], **new.fields, **_alias({}, new), **linked, "migratedFrom": []}
    if new.checkpoint is not None:
        checkpoint = records.checkpoint(new.checkpoint, at)
    messages = [records.message(raw, jsontext.encode(raw), at) for raw in new.messages]
    counted = {"session": {"stats": new.stats}, "checkpoint": new.checkpoint or {}}
    return [records.session(given, at, opening.base(counted, new.messages)), checkpoint, *messages]


def _additions(
    journal: AppendableJournal, new: Converted, source: str, link: Link, by_app: bool
) -> tuple[list[Record], dict[str, bytes]]:
    state, at = journal.state, clock.stamp()
    doc = OutsideDocument({"messages": new.messages}, source, ours=True)
    copied = copies.copied_before(state, new.messages)
    found = [copy_of(copied[one.id], one.raw) if one.id in copied else one for one in identify(state, doc)]
    arrived = arrivals(found, state.entries.everything(), at)
    gone = _compacted_unseen(state, found) if by_app else []
    again = _returning(journal, [one.id for one in found if one.entry and not one.entry.here], source, at)
    changed = edits(found, doc, at)
    changes = _alias(state.session, new)
    if state.session.get("status") == rolled_back.STATUS:
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


def _returning(journal: AppendableJournal, left: Sequence[str], source: str, at: str) -> list[Record]:
    """Messages that left because their migration was taken back, which is now done again. Those that left for another
    reason stay away."""
    barred = journal.state.session.get("barred")
    if not left or not any(isinstance(each, dict) and each.get("path") == source for each in barred or []):
        return []
    taken = _rolled_back(journal.file.path)
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
