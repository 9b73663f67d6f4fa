"""The problems of one project: with its folders, and with its sessions: now, or when they were closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.errors import DagentdError, LimitReached
from dagentd.model.problem import Problem, still_wrong
from dagentd.model.project import SessionFolder


class ProjectProblems:
    def __init__(self) -> None:
        self._closed: list[Problem] = []
        self._unserved: dict[Path, Problem] = {}  # by the journal of a session that cannot be opened
        self._short: dict[Path, LimitReached] = {}  # by the file that was to be written or read
        self._noted: dict[Path, Mapping[str, Problem]] = {}  # of sessions, by kind; while one is open, as it is now

    def closed(self, errors: Iterable[DagentdError]) -> None:
        """The folders that may not be looked into, all of them."""
        self._closed = still_wrong(self._closed, [Problem.of("folder", error, clock.stamp()) for error in errors])

    def note(self, folder: SessionFolder, problems: Mapping[str, Problem]) -> None:
        """Of a session that is served. It goes on to change them: a document that could not be written is written
        when the disk allows, and nobody may ask for the session then."""
        self._noted[folder.journal] = problems

    def served(self, folder: SessionFolder) -> None:
        self._unserved.pop(folder.journal, None)
        self.came_of(folder.journal, None)

    def unserved(self, folder: SessionFolder, error: DagentdError) -> None:
        self.came_of(folder.journal, error)
        known = self._unserved.get(folder.journal)
        if known is None or known.message != error.message:
            self._unserved[folder.journal] = Problem.of(f"session-{folder.id}", error, clock.stamp())

    def came_of(self, path: Path, error: DagentdError | None) -> None:
        """Note that there was no room or descriptor for a file; whatever else came of it ends that."""
        if isinstance(error, LimitReached):
            self._short[path] = error
        else:
            self._short.pop(path, None)

    def shortage(self, folder: Path) -> LimitReached | None:
        """Why something was not done in a folder that may be done once there is room, or a descriptor, again."""
        for path, error in list(self._short.items()):
            if disk.is_missing(path.parent):
                self._short.pop(path, None)
            elif path.is_relative_to(folder):
                return error
        return None

    def forget_others(self, there: set[Path]) -> None:
        """Of sessions that are no longer there, by their journals."""
        for known in (self._noted, self._unserved):
            for gone in known.keys() - there:
                known.pop(gone, None)

    def is_newer(self, folder: SessionFolder) -> bool:
        """Whether a session has records that only a newer version understands, as far as we know."""
        return "newer" in self._noted.get(folder.journal, {})

    def of_project(self) -> list[Problem]:
        """Of folders that are closed to us and sessions that cannot be opened."""
        unserved = list(self._unserved.items())  # a copy: other threads add to it
        return [*self._closed, *(each for journal, each in unserved if not disk.is_missing(journal.parent))]

    def all(self) -> list[Problem]:
        """Of the project, and of every session as it was last seen. What is wrong with one that is gone is no matter,
        however late whoever used it to the end noted that."""
        noted = [each for journal, each in list(self._noted.items()) if each and not disk.is_missing(journal)]
        return [*self.of_project(), *(problem for each in noted for problem in list(each.values()))]  # copies, as above
