"""A session as the rest of dagentd uses it: messages in, messages out, documents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from dagentd.adapters import clock
from dagentd.errors import NotAllowed, NotFound
from dagentd.model.conversation import Said
from dagentd.model.ids import AgentType
from dagentd.model.jsontext import Undecodable
from dagentd.model.problem import Problem
from dagentd.model.project import SessionFolder
from dagentd.model.records import Record
from dagentd.store.documents import document_edits
from dagentd.store.documents.document_edits import write_document
from dagentd.store.documents.projections import Projections
from dagentd.store.journal.appendable_journal import AppendableJournal
from dagentd.store.journal.group_commit import Plan
from dagentd.store.journal.opening import Found
from dagentd.store.layout import layout
from dagentd.store.sessions import changes, compaction_records, session_reads
from dagentd.store.sessions.changes import new_message
from dagentd.store.sessions.compaction_records import Snapshot
from dagentd.store.sessions.resources import Resources, actions_of


class Session:
    """Open for writing: whoever makes one holds the project's lock. Safe to call from any thread."""

    def __init__(
        self, resources: Resources, folder: SessionFolder, open_journal: Callable[[Found], AppendableJournal]
    ) -> None:
        self.project = resources.project
        self.folder = folder
        self.id = folder.id
        self._resources = resources
        self._life = threading.RLock()
        self._users = 0
        self._leaving = self._closed = False
        self.described = False  # one that vanishes later is not made again: git may be removing the session
        self._projections = Projections(folder, resources.settle, resources.temps, _has_memories(resources, folder))
        first = self._projections.first_look()
        self._journal = open_journal(first)
        try:
            self._projections.attach(self._journal, first)
            self._join_others()
        except BaseException:
            self._close()
            raise
        self._journal.tell = self._tell
        self._resources.soon(self)

    def _tell(self, committed: list[Record]) -> None:
        for fields in actions_of(committed):
            self.announce(**fields)
        self._resources.changed(self)

    def announce(self, event: str = "session:updated", **fields: Any) -> None:
        self._resources.announce(event, **self.folder.about(self.project, self.fields.get("taskId")), **fields)

    def _join_others(self) -> None:
        """Take in what is of the same session and lies elsewhere: a twin under `nodes/` or of the other style, with
        all that its journal has, and a chat under a second name."""
        twins = layout.twins(self.folder)
        second = layout.second_chat(self.folder)
        for twin in twins:
            self._projections.take_in_journal(twin.journal)
        for path in [*(twin.document("chat") for twin in twins), *([second] if second is not None else [])]:
            self._projections.take_in_copy(path)

    @property
    def problems(self) -> list[Problem]:
        return list(self._journal.problems.values())

    @property
    def problems_by_kind(self) -> Mapping[str, Problem]:
        """As they are at any time, as long as it is open, and at last."""
        return self._journal.problems

    def take_news(self) -> int:
        """How many records came of what others wrote, since this was last asked."""
        return self._projections.take_news()

    @property
    def gone(self) -> bool:
        return self._journal.gone is not None

    # --- asking -------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The session document, with where it is."""
        document = {**self._projections.session_document(), "project": str(self.project.root)}
        if self.folder.gone:
            return {**document, "worktree": None, "gone": True}
        return {**document, "worktree": str(self.folder.feature.tree.worktree)}

    @property
    def fields(self) -> dict[str, Any]:
        """Without the lock: they are replaced and never changed, and who tells of a message waits for no save."""
        return self._journal.state.session

    def chat(self) -> list[dict[str, Any]]:
        return session_reads.chat(self._journal)

    def said(self, count: Callable[[str], int]) -> list[Said]:
        """The messages in chat as requests have them, with the size of each."""
        return session_reads.said(self._journal, count)

    def messages(self, limit: int = 10, include_internal: bool = False) -> tuple[list[dict[str, Any]], int]:
        """The last messages in chat, and how many there are of those that are shown."""
        return session_reads.messages(self._journal, limit, include_internal)

    @property
    def in_chat(self) -> int:
        """How many messages are in chat, internal ones too."""
        return len(self._journal.state.entries.chat)

    def history(self, before: str | None = None, limit: int = 100) -> tuple[list[dict[str, Any]], bool]:
        """Every message ever seen, in order, up to the one before `before`; and whether there are earlier ones."""
        try:
            return session_reads.history(self._journal, before, limit)
        except Undecodable:  # somebody has overwritten it just now, or while we were appending
            self._journal.check(doubtful=True)
            return session_reads.history(self._journal, before, limit)

    def moves(self) -> list[dict[str, Any]]:
        """The moves out of chat and back, in order: each with the ids, and why."""
        return session_reads.moves(self._journal)

    def compactions(self) -> list[session_reads.Move]:
        """Each compaction in order, with the checkpoint before and after it; none after one that was taken back."""
        return session_reads.compactions(self._journal)

    def checkpoint(self) -> dict[str, Any] | None:
        with self._journal.lock:
            return self._journal.state.checkpoint

    def tokens(self, count: Callable[[str], int]) -> int:
        """The size of all that is in chat."""
        return session_reads.tokens(self._journal, count)

    @property
    def most_tokens(self) -> int:
        """More than all that is in chat can have; it costs nothing to ask, however long that is."""
        return self._journal.state.entries.bytes

    @property
    def undone(self) -> bool:
        """The last compaction was taken back by the user, and none was made since."""
        return self._journal.state.compactions.undone

    @property
    def undoable(self) -> int:
        """How many compactions can be undone, one after the other."""
        return len(self._journal.state.compactions.stack)

    @property
    def checkpoint_pos(self) -> int:
        """Another number means another checkpoint."""
        return self._journal.state.checkpoint_pos

    def snapshot(self) -> Snapshot:
        """The state that a compaction starts from."""
        return compaction_records.snapshot(self._journal)

    def before(self, backend: str) -> Snapshot:
        """The state that the last compactions by `backend` started from, for doing them once more."""
        return compaction_records.earlier(self._journal, backend)

    def read(self, name: str) -> dict[str, Any] | None:
        """The context or the agent description, None if there is none."""
        try:
            return layout.read_object(self.folder.document(name))
        except FileNotFoundError:
            return None

    # --- changing -----------------------------------------------------------------------------------------

    def add(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Append messages, all or none, and answer when they are on disk. One that is known by its id and has
        the same content is not stored again."""
        made = [new_message(raw) for raw in messages]
        return list(self._submit(changes.adding(self._journal, made)))

    def clear(self) -> int:
        """All messages leave chat; they stay in history, and the checkpoint stays."""
        return int(self._submit(changes.clearing(self._journal), alone=True))

    def set(self, **fields: Any) -> None:
        """Change fields of the session document."""
        self._submit(changes.setting(self._journal, fields), alone=True)

    def archive(self) -> None:
        self.set(status="archived")

    def update_checkpoint(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Set fields of the checkpoint; its version rises."""
        return dict(self._submit(changes.updating_checkpoint(self._journal, fields), alone=True))

    def compact(self, start: Snapshot, ids: Sequence[str], checkpoint: dict[str, Any], *, late: bool = False) -> int:
        """These leave chat for this checkpoint, all in one, if nothing of it changed since; the new version. What comes
        `late` takes the place of what was done without a model meanwhile."""
        return int(
            self._submit(compaction_records.committing(self._journal, start, ids, checkpoint, late=late), alone=True)
        )

    def undo_compaction(self) -> dict[str, Any]:
        """The last compaction not yet undone is taken back."""
        return dict(self._submit(compaction_records.undoing(self._journal), alone=True))

    def pin(self, *, item: str | None = None, message: str | None = None, pinned: bool = True) -> None:
        """An item stays in the checkpoint, or a message in chat, until it is unpinned."""
        if item is not None:
            self._submit(compaction_records.pinning_item(self._journal, item, pinned), alone=True)
        if message is not None:
            self._submit(compaction_records.pinning_message(self._journal, message, pinned), alone=True)

    def replace(self, name: str, raw: dict[str, Any]) -> None:
        """Write the context or the agent description, and tell of it if it was another one."""
        if self._write(name, raw):
            self.announce(action=name.replace("-", "_"))

    def _write(self, name: str, raw: dict[str, Any]) -> bool:
        self._check_writable()
        return write_document(self.folder.document(name), raw, self._resources.temps, self._projections.there())

    def describe(self) -> None:
        """Its agent description is that which its role starts with, if there is none."""
        role = self.fields.get("agentType")
        if role in get_args(AgentType) and self.read("agent-description") is None:
            self._write("agent-description", document_edits.initial_description(self.project, str(role), clock.stamp()))
        self.described = True

    def _check_writable(self) -> None:
        if self.folder.gone:
            told = f"session {self.id} is gone with its worktree; it can only be read"
            raise NotFound(told, path=self.folder.journal, hint=f"dagentd restore {self.id}")
        if self._journal.read_only:
            self._journal.check_version()
            raise NotAllowed("is served read-only", path=self.project.root, hint="dagentd status says why.")

    def plan(self, make: Callable[[AppendableJournal], tuple[list[Record], Any]]) -> Any:
        """Append what is planned with all that is known at that moment, all or none."""
        return self._submit(lambda _: make(self._journal), alone=True)

    def _submit(self, plan: Plan, alone: bool = False) -> Any:
        self._check_writable()
        try:
            return self._journal.submit(plan, alone)
        finally:
            # Also after a failure: whether the journal can be appended again is tried now and then.
            self._resources.soon(self)

    # --- life ---------------------------------------------------------------------------------------------

    def reconcile(self) -> None:
        """Look at the files: take in what others wrote, make what is missing."""
        self._journal.check()
        self._projections.reconcile()
        self._join_others()
        self._resources.soon(self)

    def look(self) -> bool:
        """Take in what others wrote. True if there is no context yet, or what it is made from changed."""
        before = self._outlook()
        self._projections.look_settled()
        self._resources.soon(self)
        return before != self._outlook() or not self.folder.document("context").exists()

    def glance(self, held: Sequence[bytes] = ()) -> None:
        """Take in what others have just added to the chat, without waiting for them to pause; also what it `held` a
        moment ago."""
        if self._projections.glance(held):
            self._resources.soon(self)

    def _outlook(self) -> list[object]:
        return [self.fields.get(name) for name in ("type", "taskId", "taskState", "status")]

    def tend(self, now: float) -> float | None:
        due = self._projections.tend(now)
        if due is None or self.idle:
            with self._life:
                if self._leaving:
                    self._close()
                    return None
        return due

    @property
    def idle(self) -> bool:
        return self._projections.idle

    def enter(self) -> bool:
        """Somebody uses it: it stays open until `leave`. False if it is closed or gone."""
        with self._life:
            self._journal.give_up_if_void()
            if self._closed or self.gone:
                return False
            self._users += 1
            self._leaving = False
            return True

    def leave(self) -> None:
        with self._life:
            self._users -= 1
            last = not self._users and self.gone
        if last:  # nobody finds it any more who could close it
            self.retire()

    def retire(self) -> None:
        """Close it as soon as its documents are written, if nobody uses it then."""
        with self._life:
            self._leaving = not self._users
        self._resources.soon(self)

    @property
    def leaving(self) -> bool:
        return self._leaving

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def is_served(self) -> bool:
        """Neither closed nor gone."""
        return not self._closed and self._journal.gone is None

    @property
    def failing(self) -> bool:
        return self._projections.failing

    def close(self) -> None:
        with self._life:
            self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            with self._projections.still():  # or a document would be written once more after this
                self._projections.close()
                self._journal.close()


def _has_memories(resources: Resources, folder: SessionFolder) -> bool:
    return not folder.gone and layout.has_memories(folder.feature, resources.project)
