"""Compaction: a session that is over its budget gets a checkpoint for its messages; every step of it can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import Conflict, DagentdError
from dagentd.jobs.compaction.proposing import LOCAL, Proposer
from dagentd.jobs.compaction.proposing import How as How
from dagentd.jobs.compaction.proposing import Proposal as Proposal
from dagentd.jobs.compaction.weighing import Scales as Scales
from dagentd.jobs.sizes import room
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.operations import Change
from dagentd.model.documents import version_of
from dagentd.model.project import SessionFolder
from dagentd.settings import Settings
from dagentd.store.ledger import Ledger
from dagentd.store.session import Session
from dagentd.store.store import Store

_KINDS = ("added", "moved", "resolved", "superseded")


class Compactor:
    """Safe for several threads. No lock is held while a model is asked."""

    def __init__(self, ledger: Ledger, scales: Scales | None = None) -> None:
        self.ledger = ledger
        self.scales = scales or Scales()

    def propose(self, session: Session, settings: Settings, how: How) -> Proposal | None:
        """What would be done; nothing is changed. None if there is nothing to compact."""
        parts = self.scales.exactly(session, settings)
        return Proposer(session, settings, self.ledger, parts).propose(how)

    def compact(self, session: Session, settings: Settings, how: How) -> dict[str, Any]:
        """Propose and apply, and tell whoever listens. CompactionFailed leaves all as it was; so does Conflict, if the
        session changed meanwhile."""
        parts, count = self.scales.exactly(session, settings), session.in_chat
        session.announce("session:compaction-start", messages_count=count, estimated_tokens=parts.total)
        try:
            found = self.propose(session, settings, how)
            return self._nothing(session) if found is None else self.apply(session, found, late=found.backend != LOCAL)
        except DagentdError as error:
            session.announce("session:compaction-error", error=error.message, hint=error.hint)
            outcome = "discarded" if isinstance(error, Conflict) else "failed"
            self.ledger.compacted(_about(session) | {"outcome": outcome, "error": error.message})
            raise

    def apply(self, session: Session, proposal: Proposal, *, late: bool = False) -> dict[str, Any]:
        """Exactly what was proposed; Conflict if the session is not as it was then. `late`: it may take the place of
        what was done without a model while one was asked."""
        version = session.compact(proposal.start, proposal.ids, proposal.checkpoint, late=late)
        count, reclaimed = len(proposal.turns), proposal.reclaimed
        note = {key: told for key in ("note", "remains") if (told := getattr(proposal, key))}
        sizes = {"messages": count, "before": proposal.parts.total, "after": proposal.total_after, "outcome": "done"}
        dropped = {"dropped": proposal.dropped} if proposal.dropped else {}
        about = {"method": proposal.backend, "model": proposal.model, **sizes, **dropped, **note}
        self.ledger.compacted(_about(session) | about)
        at = proposal.checkpoint["compactionInfo"]["compactedAt"]
        return {"method": proposal.backend, **_complete(session, count, reclaimed, version, at), **note}

    def _nothing(self, session: Session) -> dict[str, Any]:
        """Who was told of the start is told of the end, also where there was nothing to do."""
        return {"method": None, **_complete(session, 0, 0, version_of(session.checkpoint()), clock.stamp())}

    def undo(self, session: Session) -> dict[str, Any]:
        """The last compaction not yet undone is taken back."""
        done = session.undo_compaction()
        self.ledger.compacted(_about(session) | {"messages": done["messagesRestored"], "outcome": "undone"})
        return done

    def compact_due(self, store: Store, settings: Settings) -> Iterator[tuple[SessionFolder, str]]:
        """Those of a project that are over their budget, each with what came of it, in words."""
        for folder in store.folders():
            if store.pauses.on(folder.id) or room(folder, settings) > 0:
                continue
            with store.use(folder) as session:
                if self.scales.fullness(session, settings).due:
                    yield folder, self._told(session, settings)

    def _told(self, session: Session, settings: Settings) -> str:
        try:
            done = self.compact(session, settings, How())
        except DagentdError as error:
            return f"not compacted: {error.message}"
        return f"{done['messagesCompacted']} messages compacted by {done['method']}"

    def metrics(self, session: Session, settings: Settings) -> dict[str, Any]:
        """What compaction did for a session, and what the ledger has of it."""
        checkpoint = session.checkpoint() or {}
        stats, parts = session.document().get("stats", {}), self.scales.exactly(session, settings)
        return {
            "totalCompactions": stats.get("totalCompactions", 0),
            "lastCompactionAt": stats.get("lastCompactionAt"),
            "totalTokensSaved": _saved(checkpoint),
            "checkpointVersion": version_of(checkpoint),
            "checkpointTokens": parts.checkpoint,
            "backend": checkpoint.get("backend"),
            "model": checkpoint.get("model"),
            "undoable": session.undoable,
            "history": self.ledger.of_session(str(session.project.root), session.id),
        }


def _about(session: Session) -> dict[str, Any]:
    return {"project": str(session.project.root), "session": session.id}


def _complete(session: Session, count: int, reclaimed: int, version: int, at: str) -> dict[str, Any]:
    session.announce(
        "session:compaction-complete", messages_compacted=count, tokens_reclaimed=reclaimed,
        new_checkpoint_version=version, compacted_at=at,
    )  # fmt: skip
    return {"messagesCompacted": count, "tokensReclaimed": reclaimed, "checkpointVersion": version}


def _saved(checkpoint: dict[str, Any]) -> int:
    tokens = checkpoint.get("tokens")
    saved = tokens.get("totalSaved") if isinstance(tokens, dict) else 0
    return saved if isinstance(saved, int) else 0


# --- a proposal as others read it ------------------------------------------------------------------------------


def described(proposal: Proposal | None) -> dict[str, Any]:
    """All zeros and no id if there is nothing to compact."""
    if proposal is None:
        nothing: dict[str, Any] = {kind: [] for kind in ("messages", *_KINDS)}
        return {"proposalId": None, **nothing, "tokensBefore": 0, "tokensAfter": 0}
    changes = net(proposal.changes)
    return {
        "proposalId": proposal.id,
        "method": proposal.backend,
        "model": proposal.model,
        **({"note": proposal.note} if proposal.note else {}),
        **({"remains": proposal.remains} if proposal.remains else {}),
        "messages": [{"id": turn.id, "role": turn.role} for turn in proposal.turns],
        **{kind: [_shown(change) for change in changes if change.kind == kind] for kind in _KINDS},
        "itemsLeft": proposal.left,
        "tokensBefore": proposal.parts.total,
        "tokensAfter": proposal.total_after,
        "checkpoint": proposal.checkpoint,
    }


def net(changes: Iterable[Change]) -> list[Change]:
    """Beside what is there now: a decision that came and was replaced in the same conversation was never seen by
    anybody, and what was asked for and done in it is not open before or after."""
    found: dict[str, Change] = {}
    for change in changes:
        prior = found.pop(change.before.id, None) if change.before else None
        first = change.before if prior is None else prior.before
        if change.after is not None:
            kind = change.kind if first is not None else "added"
            found[change.after.id] = Change(kind, first, change.after)
        elif first is not None:
            found[first.id] = Change(change.kind, first, None)
    return list(found.values())


def _shown(change: Change) -> dict[str, Any]:
    """What was taken out is told as it was."""
    before = {"before": _item(change.before)} if change.before else {}
    now = change.after or change.before
    return {**_item(now), **before} if now else before


def _item(item: Item) -> dict[str, Any]:
    return {"id": item.id, "list": item.list, "text": item.text, "sources": list(item.sources)} | (
        {"quote": item.quote} if item.quote else {}
    )
