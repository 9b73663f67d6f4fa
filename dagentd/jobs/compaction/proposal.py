"""From a session to a proposal: which messages leave, and the checkpoint that stands for them. Nothing is changed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any

from dagentd.adapters import clock, tokens
from dagentd.adapters.git.command import commits_between
from dagentd.adapters.models import CallFailed
from dagentd.errors import CompactionFailed, DagentdError
from dagentd.jobs.compaction import asking
from dagentd.jobs.compaction.asking import Backend, ModelCalls
from dagentd.jobs.scales import budget_of, calibration
from dagentd.model import conversation, ids, sections
from dagentd.model.budget import Parts
from dagentd.model.compaction import How, checkpoints, local
from dagentd.model.compaction.checkpoints import Done
from dagentd.model.compaction.items import Record, record_of
from dagentd.model.compaction.operations import Change, compared
from dagentd.model.compaction.ralph import ralph_loop
from dagentd.model.compaction.turns import Turn, leaving, turn
from dagentd.model.documents import Checkpoint
from dagentd.model.redaction import redacted, redacted_value
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.ledger import Ledger
from dagentd.store.sessions.compaction_records import Snapshot, pinned_messages
from dagentd.store.sessions.session import Session
from dagentd.waiting import right_of_way

LOCAL = "local"
_LEAST = 1000  # tokens of a checkpoint that are worth having in any budget
_ITEM = 60  # tokens of a good item, about
_PARTS = {
    "agent_description": "the agent description has", "context": "the context has", "checkpoint": "the checkpoint has",
    "messages": "messages that stay in chat have", "user_prompt": "the prompt has",
}  # fmt: skip


@dataclass(frozen=True)
class Proposal:
    """`note` says why `local` did it where a model was meant to, `remains` what it is full of if still over its limit;
    `dropped` counts operations that were not accepted. `parts` are the sizes before, `after` that of the checkpoint,
    and `freed` of the messages that leave. What these say is not held: proposals may wait for days."""

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
    remains: str = ""
    dropped: int = 0

    @property
    def total_after(self) -> int:
        """The size of the session afterwards; a short one may become longer by it."""
        return self.parts.total - self.freed - self.parts.checkpoint + self.after


@dataclass(frozen=True)
class _Work:
    """The messages to compact; `freed` is the size of those that leave."""

    start: Snapshot
    record: Record
    turns: list[Turn]
    freed: int


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
        backend = asking.chosen(self._settings.compaction) if how.seconds is None or how.seconds > 0 else None
        if backend is not None:
            try:
                return self._by_model(backend, work, how)
            except (CallFailed, DagentdError) as error:
                note = f"{backend.name}: {redacted(str(error))}"
                if isinstance(error, CallFailed) and error.kind == "stopped":
                    raise CompactionFailed(note, hint="It is done when dagentd runs again.") from None
        if how.again:
            hint = "The checkpoint is as it was; `dagentd config` shows compaction.backend."
            raise CompactionFailed(note or "there is no model to ask", hint=hint)
        record, left = self._ruled(work.record, work.turns, self._room(work))
        return replace(self._made(work, record, LOCAL, None, left), note=note)

    def _work(self, how: How) -> _Work:
        start = self._session.before(LOCAL) if how.again else self._session.snapshot()
        turns = [turn(redacted_value(seen.raw) | {"id": seen.id}) for seen in right_of_way.behind(start.messages)]
        sizes = {seen.id: self._tokens(conversation.message(seen.raw).piece) for seen in start.messages}
        leave = turns if how.again else self._leaving(turns, [sizes[each.id] for each in turns], how)
        return _Work(start, record_of(start.checkpoint), leave, sum(sizes[each.id] for each in leave))

    def _leaving(self, turns: list[Turn], sizes: list[int], how: How) -> list[Turn]:
        """The last words say more than a report of them; but who asks for a compaction of what is recent wants one."""
        pinned, most = set(pinned_messages(self._session.fields)), self._settings.budget.limit // 10
        keep = min(self._settings.compaction.keep_recent_tokens, most)
        found = leaving(turns, sizes, pinned, keep)
        return leaving(turns, sizes, pinned, 0) if not found and how.forced else found

    # --- backends -----------------------------------------------------------------------------------------

    def _by_model(self, backend: Backend, work: _Work, how: How) -> Proposal:
        seconds = self._settings.compaction.timeout if how.seconds is None else how.seconds
        about = {"project": str(self._session.project.root), "session": self._session.id}
        calls = ModelCalls(backend, self._ledger, self._settings.compaction, about, count=tokens.count,
                      until=clock.monotonic() + seconds, forced=how.forced)  # fmt: skip
        size = self._room(work) // 2 // _ITEM
        asked = asking.compacted(calls, work.record, work.turns, clock.stamp(), size)
        record, note, left = asked.record, "", 0
        if asked.failure is not None:
            record, left = self._ruled(record, asked.rest, self._room(work))
            told = f"{backend.name}: {redacted(str(asked.failure))}"
            note = f"{told}; the last {len(asked.rest)} messages without a model"
        made = self._made(work, record, backend.name, calls.model, left)
        return replace(made, note=note, dropped=asked.dropped)

    def _ruled(self, record: Record, turns: list[Turn], room: int) -> tuple[Record, int]:
        commits, at = self._commits(turns), clock.stamp()
        return local.compacted(record, right_of_way.behind(turns), room, self._tokens, at, commits)

    def _commits(self, turns: list[Turn]) -> list[tuple[str, str]]:
        """Those that git has of that time, whoever made them."""
        times = [turn.at for turn in turns if turn.at]
        if not times or self._session.folder.gone:
            return []
        found = commits_between(self._session.folder.feature.tree.worktree, min(times), max(times))
        return [(sha, redacted(subject)) for sha, subject in found]

    # --- the result ---------------------------------------------------------------------------------------

    def _made(self, work: _Work, record: Record, backend: str, model: str | None, left: int) -> Proposal:
        changes = compared(work.record.items, record.items)
        record, more = checkpoints.within(record, self._room(work), self._tokens)
        left += more
        compacted = self._parts.checkpoint + self._parts.messages
        done, before = Done(clock.stamp(), backend, model, compacted, work.freed, work.turns), work.start.checkpoint
        loop = ralph_loop(before.get("ralphLoop"), work.turns, _plan_of(self._session))
        document = checkpoints.after(before, record, left, done, loop, self._session.id)
        after = self._tokens(sections.checkpoint(Checkpoint.parse({**document, "version": 1})))
        document["tokens"]["checkpoint"] = after
        start = replace(work.start, messages=tuple(replace(seen, raw={}) for seen in work.start.messages))
        turns = tuple(Turn(each.id, each.role, each.at, "", "") for each in work.turns)
        return Proposal(uuid.uuid4().hex[:12], start, turns, document, tuple(changes), left, backend, model,
                        self._parts, after, work.freed, remains=self._remains(after, work.freed))  # fmt: skip

    def _room(self, work: _Work) -> int:
        """Tokens for the checkpoint: what the settings allow, less where that is over the target; but never too few."""
        most = self._settings.compaction.checkpoint_tokens
        rest = replace(self._parts, checkpoint=0, messages=max(0, self._parts.messages - work.freed))
        budget = budget_of(self._settings)
        return max(min(most, _LEAST), min(most, int(budget.target * budget.limit) - budget.load(rest)))

    def _remains(self, after: int, freed: int) -> str:
        """Where it is still over its threshold, what it is full of."""
        budget, messages = budget_of(self._settings), max(0, self._parts.messages - freed)
        now = replace(self._parts, checkpoint=after, messages=messages)
        if not budget.needs_compaction(now):
            return ""
        name, size = now.by_size()[0]
        return f"{budget.load(now)} of {budget.limit} tokens are left; {_PARTS[name]} {size} of them"

    def _tokens(self, text: str) -> int:
        right_of_way.give()
        return self._factors.tokens(tokens.count(text), self._model)


def _plan_of(session: Session) -> dict[str, Any] | None:
    """A task's plan.json, kept by the Ralph Loop, redacted; None where it cannot be read: nothing waits for it."""
    task = session.fields.get("taskId")
    if not ids.is_safe(task):
        return None
    try:
        found = layout.read_object(session.folder.feature.task_dir(str(task)) / "plan.json")
    except (FileNotFoundError, DagentdError):
        return None
    return {key: redacted_value(value) for key, value in found.items()}
