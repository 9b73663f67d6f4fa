"""`session.*` about compaction: what it would do, doing it, taking it back, and what must stay."""

from __future__ import annotations

from typing import Any

from dagentd.errors import InvalidInput
from dagentd.rpc import params
from dagentd.rpc.service import Caller, session_of


def preview(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """What a compaction would do, as a proposal with an id and a diff; nothing is changed."""
    from dagentd.jobs.compaction import described

    with session_of(caller.service, given) as (store, session):
        return described(caller.service.compacting.preview(store, session.folder))


def compact(caller: Caller, given: params.ForceCompact) -> dict[str, Any]:
    """Compact now: what `proposalId` proposed, or what comes of it now. `again` does from history what was compacted
    without a model."""
    with session_of(caller.service, given) as (store, session):
        return caller.service.compacting.compact(store, session.folder, given.proposal_id, given.again)


def undo(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """Take the last compaction back that is not undone yet: its messages and the checkpoint before it."""
    with session_of(caller.service, given) as (_, session):
        return caller.service.compacting.undo(session)


def metrics(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    """What compaction did for a session so far."""
    with session_of(caller.service, given) as (store, session):
        return caller.service.compacting.metrics(store, session)


def pin(caller: Caller, given: params.Pin) -> dict[str, Any]:
    """Let an item stay in the checkpoint, or a message in chat, until it is unpinned."""
    if given.item_id is None and given.message_id is None:
        raise InvalidInput("what is to be pinned is missing", hint="Give `itemId` or `messageId`.")
    with session_of(caller.service, given) as (store, session):
        compacting = caller.service.compacting
        compacting.pin(store, session, item=given.item_id, message=given.message_id, pinned=given.pinned)
    return {"pinned": given.pinned}
