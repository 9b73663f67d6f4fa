"""Compaction: a session that is over its budget gets a checkpoint for its messages; every step of it can be undone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import Conflict, DagentdError, expected
from dagentd.jobs.compaction.proposal import LOCAL, Proposer
from dagentd.jobs.compaction.proposal import Proposal as Proposal
from dagentd.jobs.scales import Scales
from dagentd.model.compaction import How as How
from dagentd.model.compaction.items import Item, items_of
from dagentd.model.compaction.operations import Change, compared
from dagentd.model.documents import version_of
from dagentd.settings import Settings
from dagentd.store.ledger import Ledger
from dagentd.store.sessions.session import Session

_KINDS = ("added", "moved", "resolved", "superseded")


class Compactor:
    """Safe for several threads. No lock is held while a model is asked."""

    def __init__(self, ledger: Ledger, scales: Scales | None = None) -> None:
        self.ledger = ledger
        self.scales = scales or Scales()

    def propose(self, session: Session, settings: Settings, how: How) -> Proposal | None:
        """Propose a compaction; nothing is changed. None if there is nothing to compact."""
        parts = self.scales.parts(session, settings)
        return Proposer(session, settings, self.ledger, parts).propose(how)

    def compact(self, session: Session, settings: Settings, how: How) -> dict[str, Any]:
        """Propose and apply. CompactionFailed leaves all as it was; so does Conflict, if it changed meanwhile."""
        if how.again:
            session.before(LOCAL)  # what cannot be done again is refused before anybody hears of a start
        with self._announced(session, self.scales.parts(session, settings).total):
            found = self.propose(session, settings, how)
            if found is None:  # whoever was told of the start is told of the end
                return {"method": None, **_complete(session, 0, 0, version_of(session.checkpoint()), clock.stamp())}
            return self._apply(session, found, late=found.backend != LOCAL)

    def apply(self, session: Session, proposal: Proposal) -> dict[str, Any]:
        """Exactly what was proposed; Conflict if the session is not as it was then."""
        with self._announced(session, proposal.parts.total):
            return self._apply(session, proposal)

    @contextlib.contextmanager
    def _announced(self, session: Session, tokens: int) -> Iterator[None]:
        """Whoever listens hears of one start, and of one end: here of that by an error, a bug too."""
        session.announce("session:compaction-start", messages_count=session.in_chat, estimated_tokens=tokens)
        try:
            yield
        except Exception as raised:
            error = expected(raised) or DagentdError("an internal error", hint="dagentd logs")
            session.announce("session:compaction-error", error=error.message, hint=error.hint)
            outcome = "discarded" if isinstance(error, Conflict) else "failed"
            self.ledger.compacted(_about(session) | {"outcome": outcome, "error": error.message})
            raise

    def _apply(self, session: Session, proposal: Proposal, *, late: bool = False) -> dict[str, Any]:
        """`late`: it may take the place of what was done without a model while one was asked."""
        version = session.compact(proposal.start, [turn.id for turn in proposal.turns], proposal.checkpoint, late=late)
        count, reclaimed = len(proposal.turns), max(0, proposal.parts.total - proposal.total_after)
        note = {key: told for key in ("note", "remains") if (told := getattr(proposal, key))}
        sizes = {"messages": count, "before": proposal.parts.total, "after": proposal.total_after, "outcome": "done"}
        about = {"method": proposal.backend, "model": proposal.model, **sizes, **note}
        self.ledger.compacted(_about(session) | about | ({"dropped": proposal.dropped} if proposal.dropped else {}))
        at = proposal.checkpoint["compactionInfo"]["compactedAt"]
        return {"method": proposal.backend, **_complete(session, count, reclaimed, version, at), **note}

    def undo(self, session: Session) -> dict[str, Any]:
        """The last compaction not yet undone is taken back."""
        done = session.undo_compaction()
        self.ledger.compacted(_about(session) | {"messages": done["messagesRestored"], "outcome": "undone"})
        return done


def _about(session: Session) -> dict[str, Any]:
    return {"project": str(session.project.root), "session": session.id}


def _complete(session: Session, count: int, reclaimed: int, version: int, at: str) -> dict[str, Any]:
    session.announce(
        "session:compaction-complete", messages_compacted=count, tokens_reclaimed=reclaimed,
        new_checkpoint_version=version, compacted_at=at,
    )  # fmt: skip
    return {"messagesCompacted": count, "tokensReclaimed": reclaimed, "checkpointVersion": version}


# --- a proposal as others read it ------------------------------------------------------------------------------


def described(proposal: Proposal | None) -> dict[str, Any]:
    """All zeros and no id if there is nothing to compact."""
    if proposal is None:
        nothing: dict[str, Any] = {kind: [] for kind in ("messages", *_KINDS)}
        return {"proposalId": None, **nothing, "tokensBefore": 0, "tokensAfter": 0}
    return {
        "proposalId": proposal.id,
        "method": proposal.backend,
        "model": proposal.model,
        **({"note": proposal.note} if proposal.note else {}),
        **({"remains": proposal.remains} if proposal.remains else {}),
        "messages": [{"id": turn.id, "role": turn.role} for turn in proposal.turns],
        **{kind: [_shown(change) for change in proposal.changes if change.kind == kind] for kind in _KINDS},
        "itemsLeft": proposal.left,
        "tokensBefore": proposal.parts.total,
        "tokensAfter": proposal.total_after,
        "checkpoint": proposal.checkpoint,
    }


def _shown(change: Change) -> dict[str, Any]:
    """The item of a change; one that was taken out is told as it was."""
    before = {"before": _item(change.before)} if change.before else {}
    now = change.after or change.before
    return {**_item(now), **before} if now else before


def _item(item: Item) -> dict[str, Any]:
    return {key: value for key, value in item.raw().items() if key in ("id", "list", "text", "sources", "quote")}


# --- what was done so far, as others read it -------------------------------------------------------------------


def time_line(session: Session) -> list[dict[str, Any]]:
    """Each compaction in order; one that was taken back says so."""
    done: list[dict[str, Any]] = []
    for at, ids, before, after in session.compactions():
        if after is None:  # an undo: of the last that still holds
            for last in [each for each in done if not each["undone"]][-1:]:
                last["undone"] = True
            continue
        changed = compared(items_of(before), items_of(after))
        done.append({
            "at": at, "checkpointVersion": version_of(after), "messages": len(ids), "messageIds": ids, "undone": False,
            "backend": after.get("backend"), "model": after.get("model"),
            **{kind: [_shown(change) for change in changed if change.kind == kind] for kind in _KINDS},
        })  # fmt: skip
    return done
