"""Sessions read off their documents: where those are as we left them they say all that is asked, and nothing is opened,
replayed or merged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.adapters.files import fileio, marks
from dagentd.errors import DagentdError
from dagentd.model import conversation, jsontext, records
from dagentd.model.compaction.items import with_lists
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import Project, SessionFolder
from dagentd.store.documents import rendering
from dagentd.store.journal.index import header_of
from dagentd.store.journal.state import Totals
from dagentd.store.layout import layout
from dagentd.store.pauses import Pauses

if TYPE_CHECKING:
    from dagentd.model.problem import Problem


class Unsettled(Exception):
    """Something is to be taken in or mended first, or is asked that no document says: open the project."""


class SettledStore:
    """The part of a store that answers about one session need."""

    def __init__(self, project: Project, index: Path) -> None:
        self.project, self.pauses, self.sessions = project, Pauses(project), self
        self._index = index
        self._read: dict[str, SettledSession] = {}

    def take(self, session_id: str, worktree: str | None = None, feature_id: str | None = None) -> SettledSession:
        if worktree or feature_id:
            raise Unsettled
        if session_id not in self._read:
            self._read[session_id] = SettledSession(self.project, self._find(session_id), self._index)
        return self._read[session_id]

    def give_back(self, session: SettledSession) -> None:
        """It holds nothing open."""

    def _find(self, session_id: str) -> SessionFolder:
        """The only one of this id."""
        features = (feature for tree in layout.trees(self.project) for feature in layout.features(tree))
        found = [folder for each in features if (folder := layout.session(each, session_id)) is not None]
        if len(found) != 1 or self._has_more(found[0]):
            raise Unsettled
        return found[0]

    def _has_more(self, folder: SessionFolder) -> bool:
        """Whether something of it lies elsewhere, or the newest app is in use, which has a document more."""
        elsewhere = layout.twins(folder) or layout.second_chat(folder)
        return bool(elsewhere) or layout.has_memories(folder.feature, self.project)


class SettledSession:
    """Unsettled, unless nobody has written to its journal since the index was saved, the chat is the one that we wrote
    then, and session and checkpoint say what the journal does."""

    def __init__(self, project: Project, folder: SessionFolder, index: Path) -> None:
        self.project, self.folder, self.id = project, folder, folder.id
        known = header_of(index, folder.journal)
        if known is None or known["unknown"]:
            raise Unsettled
        try:
            self._checkpoint = _checkpoint(folder, known)
            self._lines = _chat(folder, known)
            self._document = _session(folder, known, len(self._lines))
        except (OSError, DagentdError, Undecodable):  # one is missing, or may not be read
            raise Unsettled from None
        self.undoable = len(known["compactions"]["stack"])
        self.checkpoint_pos = known["pos"]
        self.problems: list[Problem] = []  # whoever has one is not settled

    def document(self) -> dict[str, Any]:
        where = {"project": str(self.project.root), "worktree": str(self.folder.feature.tree.worktree)}
        return {**self._document, **where}

    def checkpoint(self) -> dict[str, Any] | None:
        return self._checkpoint

    def messages(self, limit: int, include_internal: bool) -> tuple[list[dict[str, Any]], int]:
        """The last messages in chat, and how many there are of those that are shown."""
        every = map(jsontext.decode_own, self._lines)
        shown = [raw for raw in every if include_internal or not conversation.is_internal(raw)]
        return shown[-limit:] if limit else [], len(shown)

    def tokens(self, count: Callable[[str], int]) -> int:
        return sum(count(conversation.message(jsontext.decode_own(line)).piece) for line in self._lines)

    def read(self, name: str) -> dict[str, Any] | None:
        """The context or the agent description, None if there is none."""
        try:
            return layout.read_object(self.folder.document(name))
        except FileNotFoundError:
            return None


def _checkpoint(folder: SessionFolder, known: dict[str, Any]) -> dict[str, Any]:
    """As it is in the journal, to which nobody may have written since the index was saved."""
    fd = fileio.descriptor(folder.journal)
    try:
        end = known["pos"]
        if known["mark"] != list(marks.of_status(os.fstat(fd))) or end != os.fstat(fd).st_size:
            raise Unsettled
        last = os.pread(fd, end, fileio.line_start(fd, end))
        start, end, _ = known["checkpoints"][-1] if known["checkpoints"] else (0, 0, 0)
        record = records.parse(os.pread(fd, end - start, start))[0]
    finally:
        os.close(fd)
    found = layout.read_object(folder.document("checkpoint"))
    if records.checksum(last) != known["sum"] or found != {
        **with_lists(record.body["checkpoint"]),
        "dagentd": found.get("dagentd"),
    }:
        raise Unsettled
    del found["dagentd"]
    return found


def _chat(folder: SessionFolder, known: dict[str, Any]) -> list[bytes]:
    """The messages in chat."""
    data = fileio.read(folder.document("chat"), fileio.CHAT_LIMIT)
    if known["shown"] != [fileio.digest(data).hex(), known["chatPos"]]:
        raise Unsettled
    return rendering.lines_of(data)


def _session(folder: SessionFolder, known: dict[str, Any], in_chat: int) -> dict[str, Any]:
    found, said = layout.read_object(folder.document("session")), dict[str, Any]()
    for _, changes in known["sets"]:
        said |= changes
    said["updatedAt"] = known["lastAt"]
    place = {"pos": known["pos"], "sum": known["sum"]}
    if found != rendering.session_of(said, Totals(**known["totals"]), place, in_chat, folder, found, False):
        raise Unsettled
    return found
