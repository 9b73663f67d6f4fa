"""A proposal as others read it: what is added, moved, resolved, superseded, and what leaves chat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dagentd.jobs.compaction.proposing import Proposal
from dagentd.model.compaction.items import Item
from dagentd.model.compaction.operations import Change

_KINDS = ("added", "moved", "resolved", "superseded")


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
