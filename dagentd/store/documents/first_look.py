"""The documents of a session as they are found when it is opened: read once, understood only when needed."""

from __future__ import annotations

from typing import Any

from dagentd.adapters.files import fileio, marks
from dagentd.errors import DagentdError
from dagentd.formats import memory_document
from dagentd.model.jsontext import Undecodable
from dagentd.model.project import SessionFolder
from dagentd.store.documents import rendering
from dagentd.store.documents.projection import Projection
from dagentd.store.journal import journal_problems
from dagentd.waiting import pause


class FirstLook:
    """A chat that is as we wrote it need not be parsed: that is most of the work of opening a long session."""

    def __init__(self, folder: SessionFolder, projections: dict[str, Projection], settle: float) -> None:
        self._folder, self._projections, self._settle = folder, projections, settle
        self._bytes = {each.name: data for each in projections.values() if (data := each.look()) is not None}
        self._raw: dict[str, dict[str, Any] | None] = {}
        self._senseless: DagentdError | None = None  # that one of them makes no sense

    def digest(self, name: str) -> bytes | None:
        return fileio.digest(self._bytes[name]) if name in self._bytes else None

    def again(self, name: str, mark: str) -> bytes | None:
        """The bytes of a document, if it is the one that was marked so."""
        found = self._bytes.get(name)
        if found is None or not mark:
            return None
        return found if marks.of_content(self._projections[name].path, fileio.digest(found)) == mark else None

    def chat_lines(self) -> list[bytes]:
        """The messages of a chat that we wrote, each in its bytes."""
        return rendering.lines_of(self._bytes["chat"])

    def chat_extra(self) -> dict[str, Any]:
        return rendering.extra_of(self._bytes["chat"])

    def documents(self) -> dict[str, dict[str, Any]]:
        """All of them; one that makes no sense is an error where there is no journal that can replace it."""
        found = self.sound()
        if self._senseless is not None and not self._folder.journal.exists():
            raise self._senseless
        return found

    def sound(self) -> dict[str, dict[str, Any]]:
        """All that make sense. The newer app's memory stands for a checkpoint where there is none."""
        found = {name: raw for name in self._projections if (raw := self._understood(name)) is not None}
        remembered = found.pop("memory", None)
        if remembered is not None and "checkpoint" not in found:
            found["checkpoint"] = memory_document.as_checkpoint(remembered, {"version": 1})
        return found

    def _understood(self, name: str) -> dict[str, Any] | None:
        if name not in self._raw:
            self._raw[name] = self._read_stable(self._projections[name])
        return self._raw[name]

    def _read_stable(self, each: Projection) -> dict[str, Any] | None:
        """Nothing if the bytes make no sense and stay so: they are set aside if a journal can replace them. So are
        those of a file that is written all the time."""
        data = self._bytes.get(each.name)
        while data is not None:
            try:
                return each.parse(data)
            except Undecodable as error:
                if each.stable_for(data) < self._settle and marks.is_worth_waiting(each.path):
                    pause(self._settle / 4)
                else:
                    self._senseless = journal_problems.unreadable(each.path, str(error))
                    return None
            data = each.look()
        if each.refused:
            raise each.refused
        return None
