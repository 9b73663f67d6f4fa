"""Which sessions are too full: weighed when they change, told at each level, and compacted beside all other work."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.adapters import clock
from dagentd.errors import CompactionFailed, Conflict, DagentdError, NotFound
from dagentd.model.budget import Full
from dagentd.model.calibration import HIGHEST
from dagentd.model.problem import Problem
from dagentd.model.project import Project, SessionFolder
from dagentd.settings import Settings
from dagentd.store.ledger import Ledger
from dagentd.store.session import Session
from dagentd.store.store import Store
from dagentd.upkeep import Upkeep
from dagentd.worker import Worker

if TYPE_CHECKING:
    from dagentd.jobs.compaction import Compactor, Proposal

_AT_ONCE = 2  # compactions: each may wait for a model for minutes
_HELD = 32  # proposals that can still be applied
_LONGEST = 600.0  # seconds that somebody waits for a compaction: its own time limit is shorter
_SOON = 10.0  # seconds for a model when a request waits
_AGAIN = 0.05  # share of the limit that must come before what failed is tried again

_log = logging.getLogger(__name__)


class Compacting:
    """The jobs load with the first of them, as in `Upkeep`."""

    def __init__(
        self, upkeep: Upkeep, settings_of: Callable[[Project], Settings], ledger: Ledger,
        on_bug: Callable[[BaseException], object],
    ) -> None:  # fmt: skip
        self._upkeep, self._settings_of, self.ledger = upkeep, settings_of, ledger
        self._calls = Worker(_AT_ONCE, clock.stamp, on_bug)
        self._lock = threading.Lock()
        self._enough: dict[Path, int] = {}  # bytes in chat below which a session need not be weighed again
        self._levels: dict[Path, float] = {}
        self._failed: dict[Path, tuple[int, int]] = {}  # until so many bytes in chat, or another checkpoint
        self._problems: dict[Path, Problem] = {}
        self._proposals: OrderedDict[str, tuple[Path, Proposal]] = OrderedDict()

    @cached_property
    def _compactor(self) -> Compactor:
        from dagentd.jobs.compaction import Compactor

        return Compactor(self.ledger)

    def problems(self) -> list[Problem]:
        """Those of sessions that are still there."""
        for path in [path for path in list(self._problems) if not path.exists()]:
            self._problems.pop(path, None)
        return list(self._problems.values())

    def status(self) -> dict[str, list[dict[str, Any]]]:
        """What waits and what runs, as `Worker.status` has it."""
        return self._calls.status()

    def close(self, timeout: float) -> bool:
        """What a model is asked just now is given up; the next start asks again."""
        from dagentd.adapters.claude import running

        running.end_all()
        return self._calls.drain(timeout)

    # --- weighing -----------------------------------------------------------------------------------------

    def changed(self, store: Store, session: Session) -> None:
        """After each commit, in the thread of whoever committed: nothing here may take long, and nothing may fail."""
        if session.most_tokens >= self._enough.get(session.folder.journal, 0):
            self.weigh(store, session.folder)

    def weigh(self, store: Store, folder: SessionFolder) -> None:
        with contextlib.suppress(DagentdError):  # the project is not served any more, or too much waits
            self._upkeep.submit(store, folder.feature, f"weigh {folder.id}", partial(self._weigh, store, folder))

    def weigh_some(self, store: Store, folders: Iterable[SessionFolder]) -> None:
        """Of these something was looked at or written anew."""
        from dagentd.jobs.compaction.weighing import may_matter

        settings = self._settings_of(store.project)
        for folder in folders:
            if may_matter(folder, settings):
                self.weigh(store, folder)

    def _weigh(self, store: Store, folder: SessionFolder) -> None:
        with contextlib.suppress(NotFound), store.use(folder) as session:
            full = self._fullness(store, session)
            self._tell(session, full)
            spare = int(full.to_next_level / HIGHEST)
            self._remember(folder.journal, session.most_tokens + max(1, spare))
            if full.due and self._gave_up(session):
                return
            self._note(folder, _beyond(session, full) if full.beyond else None)
            if full.due and not store.read_only:
                self._calls.submit(str(folder.journal), "compact", partial(self._compact, store, folder))

    def _fullness(self, store: Store, session: Session) -> Full:
        return self._compactor.scales.fullness(session, self._settings_of(store.project))

    def _tell(self, session: Session, full: Full) -> None:
        """Once on the way up, for each level."""
        from dagentd.jobs.compaction import biggest

        path = session.folder.journal
        before = self._levels.get(path, 0.0)
        self._levels[path] = full.level
        if full.level > before:
            share = {"level": full.level, "share": round(full.share, 3), "limit": full.limit}
            session.announce("session:budget", **share, tokens=full.load, parts=biggest(full.parts))

    def _remember(self, path: Path, enough: int) -> None:
        with self._lock:
            if len(self._enough) > 10_000:  # of sessions that are long gone; who is still there is weighed again
                self._enough, self._levels, self._failed = {}, {}, {}
            self._enough[path] = enough

    def _note(self, folder: SessionFolder, error: DagentdError | None) -> None:
        known = self._problems.get(folder.journal)
        if error is None:
            self._problems.pop(folder.journal, None)
        elif known is None or known.message != error.message:
            _log.warning("%s", error)
            kind = "compaction" if isinstance(error, CompactionFailed) else "budget"
            self._problems[folder.journal] = Problem.of(kind, error, clock.stamp())

    # --- compacting ---------------------------------------------------------------------------------------

    def _compact(self, store: Store, folder: SessionFolder) -> None:
        """What changed meanwhile is tried once more and then without a model: who rewrites a session all the time must
        not cost a call each time."""
        from dagentd.jobs.compaction import How

        with contextlib.suppress(NotFound), store.use(folder) as session:
            for how in (How(), How(), How(seconds=0)):
                try:
                    self._by_itself(store, session, how)
                    break
                except Conflict:
                    continue

    def _by_itself(self, store: Store, session: Session, how: Any) -> None:
        """If it is due. What fails is tried again when enough has been added, or the checkpoint is another one."""
        if self._gave_up(session) or not self._fullness(store, session).due:
            return
        try:
            if not self._done(store, session, how)["messagesCompacted"]:
                raise _nothing_can_leave(session)
        except (Conflict, NotFound):
            raise
        except DagentdError as error:
            enough = session.most_tokens + int(_AGAIN * self._settings_of(store.project).budget.limit)
            self._remember(session.folder.journal, enough)
            self._failed[session.folder.journal] = enough, session.checkpoint_pos
            self._note(session.folder, CompactionFailed(error.message, path=session.folder.journal, hint=error.hint))

    def _gave_up(self, session: Session) -> bool:
        enough, checkpoint_pos = self._failed.get(session.folder.journal, (0, 0))
        return session.most_tokens < enough and session.checkpoint_pos == checkpoint_pos

    def _done(self, store: Store, session: Session, how: Any) -> dict[str, Any]:
        done = self._compactor.compact(session, self._settings_of(store.project), how)
        _log.info("%s: %s: %d messages compacted by %s, %d tokens freed", store.project.root, session.id,
                  done["messagesCompacted"], done["method"], done["tokensReclaimed"])  # fmt: skip
        self._succeeded(session, done)
        return done

    def _succeeded(self, session: Session, done: dict[str, Any]) -> None:
        told, hint = done.get("note"), f"dagentd compact {session.id} --again"
        self._failed.pop(session.folder.journal, None)
        self._note(session.folder, CompactionFailed(told, path=session.folder.journal, hint=hint) if told else None)

    # --- for somebody who waits ---------------------------------------------------------------------------

    def compact(
        self, store: Store, folder: SessionFolder, proposal_id: str | None = None, again: bool = False
    ) -> dict[str, Any]:
        """Now, because a user asked for it: what was proposed under this id, or what comes of it now."""
        from dagentd.jobs.compaction import How

        def job() -> dict[str, Any]:
            with store.use(folder) as session:
                if proposal_id is not None:
                    return self._apply(session, proposal_id)
                try:
                    return self._done(store, session, How(forced=True, again=again))
                except Conflict:  # something was added just then
                    return self._done(store, session, How(forced=True, again=again))

        return dict(self._asked(folder, f"compact {proposal_id} {again}", job))

    def _apply(self, session: Session, proposal_id: str) -> dict[str, Any]:
        done = self._compactor.apply(session, self._proposed(session.folder, proposal_id))
        self._succeeded(session, done)
        return done

    def preview(self, store: Store, folder: SessionFolder) -> Proposal | None:
        """What would be done; it can be applied as it is until the session changes."""
        from dagentd.jobs.compaction import How

        def job() -> Proposal | None:
            with store.use(folder) as session:
                return self._compactor.propose(session, self._settings_of(store.project), How(forced=True))

        found: Proposal | None = self._asked(folder, f"preview {uuid.uuid4()}", job)
        if found is not None:
            with self._lock:
                self._proposals[found.id] = folder.journal, found
                while len(self._proposals) > _HELD:
                    self._proposals.popitem(last=False)
        return found

    def undo(self, session: Session) -> dict[str, Any]:
        return self._compactor.undo(session)

    def metrics(self, store: Store, session: Session) -> dict[str, Any]:
        return self._compactor.metrics(session, self._settings_of(store.project))

    def make_room(self, store: Store, session: Session) -> None:
        """For a request that is to be built: by a model if that is quick, else without one."""
        from dagentd.jobs.compaction import How

        if store.read_only or self._gave_up(session) or not self._fullness(store, session).due:
            return

        def job() -> None:  # when its turn comes, it may be done already, and whoever asked may be gone
            with store.use(session.folder) as found:
                self._by_itself(store, found, How(seconds=_SOON))

        try:
            self._calls.ask(str(session.folder.journal), "make room", job).result(_SOON)
        except (TimeoutError, DagentdError):
            with contextlib.suppress(Conflict):
                self._by_itself(store, session, How(seconds=0))

    def _asked(self, folder: SessionFolder, name: str, job: Callable[[], Any]) -> Any:
        try:
            return self._calls.ask(str(folder.journal), name, job).result(_LONGEST)
        except TimeoutError:
            hint = "`dagentd status` shows what runs."
            raise CompactionFailed("another compaction takes very long", path=folder.journal, hint=hint) from None

    def _proposed(self, folder: SessionFolder, proposal_id: str) -> Proposal:
        with self._lock:
            path, found = self._proposals.get(proposal_id, (None, None))
        if found is None or path != folder.journal:
            raise NotFound(f"no proposal {proposal_id!a} for {folder.id}", hint="session.previewCompaction makes one.")
        return found


def _beyond(session: Session, full: Full) -> DagentdError:
    name, size = full.parts.fixed.by_size()[0]
    told = f"is over budget because of its {name.replace('_', ' ')}, {size} of {full.limit} tokens, which stays"
    hint = "Shorten CLAUDE.md, the spec or the role, or raise budget.limit."
    return DagentdError(told, path=session.folder.journal, hint=hint)


def _nothing_can_leave(session: Session) -> DagentdError:
    told = "is over budget, and no message can leave chat: each is pinned, recent, or a tool call without its result"
    hint = f"dagentd pin {session.id} ID --message --off, or lower compaction.keep_recent_tokens."
    return CompactionFailed(told, path=session.folder.journal, hint=hint)
