"""How full the sessions are: weighed when they change, and told at each level on the way up."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.errors import DagentdError, NotFound
from dagentd.jobs.scales import Scales, room
from dagentd.model.budget import Full
from dagentd.model.calibration import HIGHEST
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder, SessionFolder
from dagentd.settings import Settings
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store

_SOON = 0.1  # seconds: whoever adds one message after the other wakes the workers only so often
_MEANWHILE = 16_384  # tokens that may come until then
_KNOWN = 10_000  # sessions of which something is remembered


class Turns(Protocol):
    def submit(
        self, store: Store, feature: FeatureFolder, name: str, job: Callable[[], object], after: float = 0.0
    ) -> None:
        """Have it done in the turn of the feature."""


class Compacting(Protocol):
    failed: dict[Path, tuple[int, object]]  # what was tried in vain, by journal

    def begin(self, store: Store, folder: SessionFolder) -> None:
        """A session is so full that it is due."""

    def needed_no_more(self, folder: SessionFolder) -> None:
        """It is not, whatever was tried before."""


class BudgetWatch:
    """Most sessions are far from their budget, which the sizes of their files tell; those are never opened for this."""

    def __init__(self, turns: Turns, settings_of: Callable[[Path], Settings], compaction: Compacting) -> None:
        self._turns, self._settings_of, self._compaction = turns, settings_of, compaction
        self._lock, self.scales = threading.Lock(), Scales()
        self._known: dict[Path, range] = {}  # bytes in chat with which a session need not be weighed again
        self._levels: dict[Path, float] = {}
        self._problems: dict[Path, Problem] = {}

    def problems(self) -> list[Problem]:
        """Those of sessions that are still there."""
        for path in [path for path in list(self._problems) if disk.is_missing(path)]:
            self._problems.pop(path, None)
        return list(self._problems.values())

    def changed(self, store: Store, session: Session) -> None:
        """After each commit, in the thread of whoever committed: nothing here may take long, and nothing may fail."""
        size = session.most_tokens
        if size not in self._known.get(session.folder.journal, ()):
            with contextlib.suppress(DagentdError):  # of the project's settings
                self._roughly(store, session, room(session.folder, self._settings_of(store.project.root), size))

    def _roughly(self, store: Store, session: Session, spare: int) -> None:
        if spare > 0:
            self._light(session.folder)
            self.not_before(session.folder, session.most_tokens, spare)
        else:
            self.not_before(session.folder, session.most_tokens, _MEANWHILE)
            self.weigh(store, session.folder, _SOON)

    def weigh(self, store: Store, folder: SessionFolder, after: float = 0.0) -> None:
        job = partial(self._weigh, store, folder)
        with contextlib.suppress(DagentdError):  # the project is not served any more, or too much waits
            self._turns.submit(store, folder.feature, f"weigh {folder.id}", job, after)

    def weigh_some(self, store: Store, folders: Iterable[SessionFolder]) -> None:
        """Of these something was looked at or written anew."""
        settings = self._settings_of(store.project.root)
        for folder in folders:
            if room(folder, settings) <= 0:
                self.weigh(store, folder)
            else:
                self._light(folder)

    def weigh_anew(self, store: Store) -> None:
        """By other settings than before."""
        with self._lock:
            self._known = {}
        self.weigh_some(store, store.catalogue.folders())

    def _light(self, folder: SessionFolder) -> None:
        """It is so far below its budget that there is nothing left to tell of it."""
        self._levels.pop(folder.journal, None)
        self._problems.pop(folder.journal, None)
        if folder.journal in self._compaction.failed:
            self._compaction.needed_no_more(folder)

    def fullness(self, store: Store, session: Session) -> Full:
        return self.scales.fullness(session, self._settings_of(store.project.root))

    def not_before(self, folder: SessionFolder, size: int, tokens: int) -> None:
        """It need not be weighed before it has so many tokens more than when it had so many bytes."""
        with self._lock:
            if len(self._known) > _KNOWN:  # of sessions that are long gone; who is still there is weighed again
                self._known, self._levels = {}, {}
            self._known[folder.journal] = range(size, size + max(1, int(tokens / HIGHEST)))

    def _weigh(self, store: Store, folder: SessionFolder) -> None:
        with contextlib.suppress(NotFound), store.sessions.use(folder) as session:
            size = session.most_tokens
            full = self.fullness(store, session)
            self._tell(session, full)
            self.not_before(folder, size, full.to_next_level)
            self._note(folder, _beyond(session, full) if full.beyond else None)
            if not full.due:
                self._compaction.needed_no_more(folder)
            elif not store.read_only:
                self._compaction.begin(store, folder)
            self.changed(store, session)  # by what came meanwhile

    def _tell(self, session: Session, full: Full) -> None:
        """Once on the way up, for each level."""
        before = self._levels.get(session.folder.journal, 0.0)
        self._levels[session.folder.journal] = full.level
        if full.level > before:
            share = {"level": full.level, "share": round(full.share, 3), "limit": full.limit}
            session.announce("session:budget", **share, tokens=full.load, parts=full.parts.listed())

    def _note(self, folder: SessionFolder, error: DagentdError | None) -> None:
        known = self._problems.get(folder.journal)
        if error is None:
            self._problems.pop(folder.journal, None)
        elif known is None or known.message != error.message:
            self._problems[folder.journal] = Problem.of("budget", error, clock.stamp())


def _beyond(session: Session, full: Full) -> DagentdError:
    name, size = full.parts.fixed.by_size()[0]
    told = f"is over budget because of its {name.replace('_', ' ')}, {size} of {full.limit} tokens, which stays"
    hint = "Shorten CLAUDE.md, the spec or the role, or raise budget.limit."
    return DagentdError(told, path=session.folder.journal, hint=hint)
