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
        if prior is None:
            found[change.after.id] = change
        elif prior.before is not None:
            found[change.after.id] = Change(change.kind, prior.before, change.after)
        elif change.kind != "resolved":
            found[change.after.id] = Change("added", None, change.after)
    return list(found.values())


def _shown(change: Change) -> dict[str, Any]:
    return {**_item(change.after), **({"before": _item(change.before)} if change.before else {})}


def _item(item: Item) -> dict[str, Any]:
    return {"id": item.id, "list": item.list, "text": item.text, "sources": list(item.sources)}
