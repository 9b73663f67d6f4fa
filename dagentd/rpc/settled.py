"""Sessions read off their documents, where no daemon runs: those that are as we left them say all that is asked, and
nothing is opened, replayed or merged."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dagentd import paths
from dagentd.adapters.files import fileio, marks
from dagentd.errors import DagentdError
from dagentd.jobs.scales import Scales
from dagentd.model import conversation, jsontext, records
from dagentd.model.compaction.items import with_lists
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import Project, SessionFolder
from dagentd.rpc.service import Caller
from dagentd.settings import Settings
from dagentd.store.documents import rendering
from dagentd.store.journal.index import header_of
from dagentd.store.journal.state import Totals
from dagentd.store.layout import layout, rolled_back
from dagentd.store.ledger import ledger

if TYPE_CHECKING:
    from dagentd.model.problem import Problem
    from dagentd.rpc.params import OfSession


class Unsettled(Exception):
    """Something is to be taken in or mended first, or is asked that no document says: open the project."""


class SettledProject(Caller):
    """The caller and, in one, the service, the store and its parts, as far as one session's documents answer for them;
    Unsettled for whatever takes more."""

    def __init__(self, project: Project, settings: Settings, index: Path) -> None:
        super().__init__(cast(Any, self), cast(Any, None))
        self.project, self._settings, self._index = project, settings, index
        self.compacting = self.compactor = self.pauses = self
        self.scales, self.ledger = Scales(), ledger(paths.ledger_file())
        self._read: dict[str, SettledSession] = {}

    def __getattr__(self, name: str) -> Any:
        raise Unsettled

    @contextlib.contextmanager
    def session(self, given: OfSession) -> Iterator[Any]:
        """The only one of this id, if nothing of it lies elsewhere and nobody has paused anything: neither a document
        of the newest app, which has one more, nor what was taken back."""
        if given.session_id not in self._read:
            features = (feature for tree in layout.trees(self.project) for feature in layout.features(tree))
            found = [each for feature in features for each in layout.everywhere(feature) if each.id == given.session_id]
            if len(found) != 1 or given.worktree or given.feature_id or os.path.lexists(self.project.paused_file):
                raise Unsettled
            if layout.has_memories(found[0].feature, self.project):
                raise Unsettled
            self._read[given.session_id] = SettledSession(self.project, found[0], self._index)
        yield self, self._read[given.session_id]

    def settings_of(self, project: Project) -> Settings:
        return self._settings

    def under_way(self) -> list[dict[str, str]]:
        return []

    def shown(self, session_id: str) -> None:
        """No pause."""


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
            chat = fileio.read(folder.document("chat"), fileio.CHAT_LIMIT)
            found = layout.read_object(folder.document("session"))
        except (OSError, DagentdError, Undecodable):  # one is missing, or may not be read
            raise Unsettled from None
        self._document, self._lines, said = found, rendering.lines_of(chat), dict[str, Any]()
        for _, changes in known["sets"]:
            said |= changes
        said["updatedAt"] = known["lastAt"]
        place, totals = {"pos": known["pos"], "sum": known["sum"]}, Totals(**known["totals"])
        if (
            said.get("status") == rolled_back.STATUS
            or known["shown"] != [fileio.digest(chat).hex(), known["chatPos"]]
            or found != rendering.session_of(said, totals, place, len(self._lines), folder, found, False)
        ):
            raise Unsettled
        self.undoable = len(known["compactions"]["stack"])
        self.checkpoint_pos = known["pos"]
        self.problems: list[Problem] = []  # whoever has one is not settled

    def document(self) -> dict[str, Any]:
        where = {"project": str(self.project.root), "worktree": str(self.folder.feature.tree.worktree)}
        return {**self._document, **where}

    def checkpoint(self) -> dict[str, Any]:
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
