"""A proposal as others read it: what is added, moved, resolved, superseded, and what leaves chat."""

from __future__ import annotations

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
    return {
        "proposalId": proposal.id,
        "method": proposal.backend,
        "model": proposal.model,
        **({"note": proposal.note} if proposal.note else {}),
        "messages": [{"id": turn.id, "role": turn.role} for turn in proposal.turns],
        **{kind: [_shown(change) for change in proposal.changes if change.kind == kind] for kind in _KINDS},
        "itemsLeft": proposal.left,
        "tokensBefore": proposal.parts.total,
        "tokensAfter": proposal.total_after,
        "checkpoint": proposal.checkpoint,
    }


def _shown(change: Change) -> dict[str, Any]:
    return {**_item(change.after), **({"before": _item(change.before)} if change.before else {})}


def _item(item: Item) -> dict[str, Any]:
    return {"id": item.id, "list": item.list, "text": item.text, "sources": list(item.sources)}
