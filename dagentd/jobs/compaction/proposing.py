"""From a session to a proposal: which messages leave, and the checkpoint that stands for them. Nothing is changed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any

from dagentd.adapters import clock, tokens
from dagentd.adapters.claude import CallFailed
from dagentd.errors import CompactionFailed, DagentdError
from dagentd.jobs.compaction import asking, backends
from dagentd.jobs.compaction.backends import Backend
from dagentd.jobs.compaction.calling import Calls
from dagentd.jobs.compaction.plans import plan_of
from dagentd.jobs.compaction.weighing import budget_of
from dagentd.jobs.sizes import calibration
from dagentd.model import conversation, sections
from dagentd.model.budget import Parts
from dagentd.model.compaction import checkpoints, local
from dagentd.model.compaction.checkpoints import DoesNotFit, Done
from dagentd.model.compaction.items import Item, items_of
from dagentd.model.compaction.operations import Change, perform
from dagentd.model.compaction.ralph import ralph_loop
from dagentd.model.compaction.selection import leaving
from dagentd.model.compaction.turns import Turn, turn
from dagentd.model.documents import Checkpoint
from dagentd.model.redaction import redacted, redacted_value
from dagentd.settings import Settings
from dagentd.store.compacting import Snapshot, pinned_messages
from dagentd.store.ledger import Ledger
from dagentd.store.session import Session

LOCAL = "local"


@dataclass(frozen=True)
class How:
    """`forced`: a user asked for it. `seconds` is how long a model may take; none at all means `local`."""

    forced: bool = False
    again: bool = False
    seconds: float | None = None


@dataclass(frozen=True)
class Proposal:
    """`note` says why `local` did it where a model was meant to. `parts` are the sizes before; `after` is the size of
    the checkpoint, and `freed` of the messages that leave. What these say is not held: proposals may wait for days."""

    id: str
    start: Snapshot
    turns: tuple[Turn, ...]
    checkpoint: dict[str, Any]
    changes: tuple[Change, ...]
    left: int
    backend: str
    model: str | None
    parts: Parts
    after: int
    freed: int
    note: str = ""

    @property
    def ids(self) -> list[str]:
        return [turn.id for turn in self.turns]

    @property
    def total_after(self) -> int:
        """What the session weighs then; a short one may become longer by it."""
        return self.parts.total - self.freed - self.parts.checkpoint + self.after

    @property
    def reclaimed(self) -> int:
        return max(0, self.parts.total - self.total_after)


@dataclass(frozen=True)
class _Work:
    """What is to be compacted; `freed` is the size of the messages that leave."""

    start: Snapshot
    turns: list[Turn]
    freed: int

    @property
    def items(self) -> list[Item]:
        return items_of(self.start.checkpoint)


class Proposer:
    """For one session; `parts` is what it weighs now."""

    def __init__(self, session: Session, settings: Settings, ledger: Ledger, parts: Parts) -> None:
        self._session, self._settings, self._ledger, self._parts = session, settings, ledger, parts
        self._factors, self._model = calibration(settings), settings.compaction.model

    def propose(self, how: How) -> Proposal | None:
        """None if there is nothing that could leave; CompactionFailed if it cannot be done."""
        work, note = self._work(how), ""
        if not work.turns:
            return None
        backend = backends.chosen(self._settings.compaction) if how.seconds is None or how.seconds > 0 else None
        if backend is not None:
            try:
                return self._by_model(backend, work, how)
            except (CallFailed, DoesNotFit, DagentdError) as error:
                note = _in_words(backend.name, error)
                if isinstance(error, CallFailed) and error.kind == "stopped":
                    raise CompactionFailed(note, hint="It is done when dagentd runs again.") from None
        if how.again:
            hint = "The checkpoint is as it was; `dagentd config` shows compaction.backend."
            raise CompactionFailed(note or "there is no model to ask", hint=hint)
        return replace(self._by_rules(work), note=note)

    def _work(self, how: How) -> _Work:
        start = self._session.before(LOCAL) if how.again else self._session.snapshot()
        turns = [turn(redacted_value(seen.raw) | {"id": seen.id}) for seen in start.messages]
        sizes = {seen.id: self._tokens(conversation.piece(seen.raw)) for seen in start.messages}
        keep, pinned = self._settings.compaction.keep_recent_tokens, set(pinned_messages(self._session.fields))
        leave = turns if how.again else leaving(turns, [sizes[each.id] for each in turns], pinned, keep)
        return _Work(start, leave, sum(sizes[each.id] for each in leave))

    # --- backends -----------------------------------------------------------------------------------------

    def _by_model(self, backend: Backend, work: _Work, how: How) -> Proposal:
        seconds = self._settings.compaction.timeout if how.seconds is None else how.seconds
        about = {"project": str(self._session.project.root), "session": self._session.id}
        calls = Calls(backend, self._ledger, self._settings.compaction, about, count=tokens.count,
                      until=clock.monotonic() + seconds, forced=how.forced)  # fmt: skip
        done = asking.compacted(calls, work.items, work.turns, clock.stamp())
        return self._made(work, done.items, done.changes, backend.name, done.model)

    def _by_rules(self, work: _Work) -> Proposal:
        items, changes = perform(work.items, local.operations(work.items, work.turns), clock.stamp())
        try:
            return self._made(work, items, changes, LOCAL, None)
        except DoesNotFit as error:
            hint = (
                "Raise it, or budget.limit; or shorten `pending`, `inProgress` and `blockers` in "
                f"{self._session.folder.document('checkpoint')}; or unpin items: dagentd show {self._session.id}"
            )
            raise CompactionFailed(str(error), hint=hint) from None

    # --- the result ---------------------------------------------------------------------------------------

    def _made(self, work: _Work, items: list[Item], changes: list[Change], backend: str, model: str | None) -> Proposal:
        room = self._settings.compaction.checkpoint_tokens
        items, left = checkpoints.within(items, room, self._tokens, local.is_talk)
        compacted = self._parts.checkpoint + self._parts.messages
        done, before = Done(clock.stamp(), backend, model, compacted, work.freed, work.turns), work.start.checkpoint
        loop = ralph_loop(before.get("ralphLoop"), work.turns, plan_of(self._session))
        document = checkpoints.after(before, items, left, done, loop, self._session.id)
        after = self._tokens(sections.checkpoint(Checkpoint.parse({**document, "version": 1})))
        document["tokens"]["checkpoint"] = after
        self._check_goal(after, work.freed)
        start, turns = work.start.named(), tuple(each.named() for each in work.turns)
        return Proposal(uuid.uuid4().hex[:12], start, turns, document, tuple(changes), left, backend, model,
                        self._parts, after, work.freed)  # fmt: skip

    def _check_goal(self, after: int, freed: int) -> None:
        """One that was needed must end under the target, or under the threshold where the parts that stay leave no room
        for that."""
        budget = budget_of(self._settings)
        rest = replace(self._parts, checkpoint=0, messages=max(0, self._parts.messages - freed))
        now = replace(rest, checkpoint=after)
        reachable = budget.needs_compaction(self._parts) and not budget.over_target(rest)
        if budget.over_target(now) if reachable else budget.needs_compaction(now):
            told = f"with a checkpoint of {after} tokens there are still {budget.load(now)} of {budget.limit}"
            raise DoesNotFit(told)

    def _tokens(self, text: str) -> int:
        return self._factors.tokens(tokens.count(text), self._model)


def _in_words(backend: str, error: Exception) -> str:
    return f"{backend}: {redacted(str(error))}"
