"""Compaction beside all other work: of sessions that are too full, and for whoever asks and waits."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagentd.adapters import clock
from dagentd.adapters.files import disk
from dagentd.errors import CompactionFailed, Conflict, DagentdError, NotFound
from dagentd.jobs.scales import Sizes
from dagentd.model.compaction import How
from dagentd.model.problem import Problem
from dagentd.model.project import SessionFolder
from dagentd.serving.budget_watch import BudgetWatch, Turns
from dagentd.settings import Settings
from dagentd.store.ledger import Ledger
from dagentd.store.sessions.compaction_records import pinned_messages
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store
from dagentd.worker import Worker

if TYPE_CHECKING:
    from dagentd.jobs.compaction import Compactor, Proposal

_AT_ONCE = 2  # compactions: each may wait for a model for minutes
_HELD = 32  # proposals that can still be applied
_MORE = 60.0  # seconds that somebody waits for a compaction, beside its own time and that of another one before it
_SOON = 10.0  # seconds for a model when a request waits
_AGAIN = 0.05  # share of the limit that must come before what failed is tried again
_NOTHING_CAN_LEAVE = (
    "is over budget, and no message can leave chat: each is pinned, recent, or a tool call without its result"
)

_log = logging.getLogger(__name__)


class BackgroundCompaction:
    """Has the budgets watched, which tell it when. The jobs load with the first of them, as in `Maintenance`."""

    def __init__(
        self, turns: Turns, settings_of: Callable[[Path], Settings], ledger: Ledger,
        on_bug: Callable[[BaseException], object],
    ) -> None:  # fmt: skip
        self._settings_of, self.ledger = settings_of, ledger
        self.budget = BudgetWatch(turns, settings_of, self)
        self._calls = Worker(_AT_ONCE, clock.stamp, on_bug, for_askers=1, may_wait=True)
        self._lock = threading.Lock()
        self.failed: dict[Path, tuple[int, object]] = {}  # until so many bytes in chat, or on other grounds
        self._problems: dict[Path, Problem] = {}
        self._under_way: dict[Path, dict[str, str]] = {}
        self._proposals: OrderedDict[str, tuple[Path, Proposal]] = OrderedDict()

    @cached_property
    def compactor(self) -> Compactor:
        from dagentd.jobs.compaction import Compactor

        return Compactor(self.ledger, self.budget.scales)

    def problems(self) -> list[Problem]:
        """Those of sessions that are still there."""
        for path in [path for path in list(self._problems) if disk.is_missing(path)]:
            self._problems.pop(path, None)
            self.failed.pop(path, None)
        return list(self._problems.values())

    def under_way(self) -> list[dict[str, str]]:
        """The sessions that are being compacted, each with `since` when."""
        return list(self._under_way.values())

    def status(self) -> dict[str, list[dict[str, Any]]]:
        """The compactions that wait and those that run, as `Worker.status` has them."""
        return self._calls.status()

    def close(self, timeout: float) -> bool:
        """Give up what a model is asked just now, and end; the next start asks again."""
        from dagentd.adapters.models import model_process

        model_process.end_all()
        return self._calls.drain(timeout)

    # --- by itself ----------------------------------------------------------------------------------------

    def begin(self, store: Store, folder: SessionFolder) -> None:
        self._calls.submit(str(folder.journal), "compact", partial(self._compact, store, folder))

    def _compact(self, store: Store, folder: SessionFolder) -> None:
        """Compact a session that is due. One that changed meanwhile is tried once more and then without a model: who
        rewrites a session all the time must not cost a call each time."""
        with contextlib.suppress(NotFound), store.sessions.use(folder) as session:
            for how in (How(), How(), How(seconds=0)):
                try:
                    self._by_itself(store, session, how)
                    break
                except Conflict:
                    continue

    def _by_itself(self, store: Store, session: Session, how: How) -> None:
        """If it is due. What fails is tried again when enough has been added, or when it rests on other grounds."""
        if store.pauses.on(session.id) or self._gave_up(session) or not self.budget.fullness(store, session).due:
            return
        grounds = self._grounds(session)
        try:
            if not self._done(store, session, how)["messagesCompacted"]:
                hint = f"dagentd pin {session.id} ID --message --off, or lower compaction.keep_recent_tokens."
                raise CompactionFailed(_NOTHING_CAN_LEAVE, path=session.folder.journal, hint=hint)
        except (Conflict, NotFound):
            raise
        except DagentdError as error:
            more = int(_AGAIN * self._settings_of(store.project.root).budget.limit)
            self.budget.not_before(session.folder, session.most_tokens, more)
            self.failed[session.folder.journal] = session.most_tokens + more, grounds
            self._note(session.folder, error.message, error.hint)

    def _gave_up(self, session: Session) -> bool:
        enough, grounds = self.failed.get(session.folder.journal, (0, None))
        return session.most_tokens < enough and grounds == self._grounds(session)

    def _grounds(self, session: Session) -> object:
        """The things that a user may change where a compaction fails."""
        settings, pinned = self._settings_of(session.project.root), pinned_messages(session.fields)
        return session.checkpoint_pos, pinned, settings.compaction, settings.budget

    def needed_no_more(self, folder: SessionFolder) -> None:
        if self.failed.pop(folder.journal, None) is not None:
            self._problems.pop(folder.journal, None)

    def _done(self, store: Store, session: Session, how: How) -> dict[str, Any]:
        with self._told_of(session):
            done = self.compactor.compact(session, self._settings_of(store.project.root), how)
        if done["messagesCompacted"]:
            _log.info("%s: %s: %d messages compacted by %s, %d tokens freed", store.project.root, session.id,
                      done["messagesCompacted"], done["method"], done["tokensReclaimed"])  # fmt: skip
        return self._succeeded(session, done)

    @contextlib.contextmanager
    def _told_of(self, session: Session) -> Iterator[None]:
        """While a model is asked; what steps in for it meanwhile takes no time."""
        path, about = session.folder.journal, {"sessionId": session.id, "project": str(session.project.root)}
        mine = {**about, "worktree": str(session.folder.feature.tree.worktree), "since": clock.stamp()}
        self._under_way.setdefault(path, mine)
        try:
            yield
        finally:
            if self._under_way.get(path) is mine:
                del self._under_way[path]

    def _succeeded(self, session: Session, done: dict[str, Any]) -> dict[str, Any]:
        self.failed.pop(session.folder.journal, None)
        again = f"dagentd compact {session.id} --again" if done["method"] == "local" else ""
        self._note(session.folder, done.get("note", ""), again)
        return done

    def _note(self, folder: SessionFolder, told: str, hint: str) -> None:
        known = self._problems.get(folder.journal)
        if not told:
            self._problems.pop(folder.journal, None)
        elif known is None or known.message != told:
            self._problems[folder.journal] = Problem("compaction", told, str(folder.journal), hint, clock.stamp())

    # --- for somebody who waits ---------------------------------------------------------------------------

    def compact(
        self, store: Store, folder: SessionFolder, proposal_id: str | None = None, again: bool = False
    ) -> dict[str, Any]:
        """Now, because a user asked for it: what was proposed under this id, or what comes of it now."""

        def job() -> dict[str, Any]:
            with store.sessions.use(folder) as session:
                if proposal_id is not None:
                    found = self._proposed(session.folder, proposal_id)
                    return self._succeeded(session, self.compactor.apply(session, found))
                with contextlib.suppress(Conflict):  # something was added just then
                    return self._done(store, session, How(forced=True, again=again))
                return self._done(store, session, How(forced=True, again=again))

        return dict(self._asked(store, folder, f"compact {proposal_id} {again}", job))

    def preview(self, store: Store, folder: SessionFolder) -> Proposal | None:
        """Propose a compaction; it can be applied as it is until the session changes."""

        def job() -> Proposal | None:
            with store.sessions.use(folder) as session:
                return self.compactor.propose(session, self._settings_of(store.project.root), How(forced=True))

        found: Proposal | None = self._asked(store, folder, f"preview {uuid.uuid4()}", job)
        if found is not None:
            with self._lock:
                self._proposals[found.id] = folder.journal, found
                while len(self._proposals) > _HELD:
                    self._proposals.popitem(last=False)
        return found

    def undo(self, session: Session) -> dict[str, Any]:
        done = self.compactor.undo(session)
        self._problems.pop(session.folder.journal, None)  # of what is undone nothing is to be done again
        _log.info("%s: %s: compaction undone, %d messages are back", session.project.root, session.id,
                  done["messagesRestored"])  # fmt: skip
        return done

    def pin(self, store: Store, session: Session, *, pinned: bool, item: str | None = None,
            message: str | None = None) -> None:  # fmt: skip
        """Pin, or unpin and weigh anew: what may leave again may be what a compaction failed for."""
        session.pin(item=item, message=message, pinned=pinned)
        if not pinned:
            self.budget.weigh(store, session.folder)

    def make_room(self, store: Store, session: Session, prompt: str = "") -> None:
        """For a request with this prompt that is to be built. Below the limit it is served as it is, while a compaction
        goes on beside it. At the limit a model has 10 s; then it is done without one, and what the model answers later
        takes the place of that."""
        full = self.budget.fullness(store, session)
        if store.read_only or self._gave_up(session) or not full.due:
            return
        settings = self._settings_of(store.project.root)
        if Sizes(settings).count(prompt) < settings.budget.prompt_buffer + full.limit - full.load:
            self.begin(store, session.folder)
            return
        try:
            job = partial(self._compact, store, session.folder)
            self._calls.ask(str(session.folder.journal), "make room", job).result(_SOON)
        except (TimeoutError, DagentdError):
            with contextlib.suppress(Conflict):
                self._by_itself(store, session, How(seconds=0))

    def _asked(self, store: Store, folder: SessionFolder, name: str, job: Callable[[], Any]) -> Any:
        longest = 2 * self._settings_of(store.project.root).compaction.timeout + _MORE
        try:
            return self._calls.ask(str(folder.journal), name, job).result(longest)
        except TimeoutError:
            told, hint = f"was not compacted within {longest:.0f} s", "It goes on; `dagentd status` shows what runs."
            raise CompactionFailed(told, path=folder.journal, hint=hint) from None

    def _proposed(self, folder: SessionFolder, proposal_id: str) -> Proposal:
        with self._lock:
            path, found = self._proposals.get(proposal_id, (None, None))
        if found is None or path != folder.journal:
            raise NotFound(f"no proposal {proposal_id!a} for {folder.id}", hint="session.previewCompaction makes one.")
        return found
