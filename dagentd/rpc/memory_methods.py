"""`memory.*`: what the user decided and what agents noted."""

from __future__ import annotations

from typing import Any

from dagentd.errors import InvalidInput, NotAllowed
from dagentd.rpc import params
from dagentd.rpc.service import Caller, store_at
from dagentd.store.layout import layout
from dagentd.store.store import Store


def add(caller: Caller, given: params.Remember) -> dict[str, Any]:
    """Remember a decision of the user's, or note something for the worktree; with `confirms`, make a decision of a
    note. Contexts, requests and agents are told."""
    store = store_at(caller.service, given.project)
    if (given.text is None) == (given.confirms is None):
        raise InvalidInput("give either `text` or `confirms`", hint="`rpc.discover` describes memory.add.")
    if given.confirms is not None:
        if given.by != "user":
            raise NotAllowed("only a user decides", hint=f"dagentd remember --confirm {given.confirms}")
        entry = store.memory.confirm(given.confirms)
    else:
        where = {"feature_id": given.feature_id, "worktree": given.worktree, "session_id": given.session_id}
        entry = store.memory.add(given.text or "", given.by, **where)
    _renew_contexts(caller, store)
    return entry.raw()


def recall(caller: Caller, given: params.Recall) -> dict[str, Any]:
    """The memory of a project, the oldest first: all, or what somebody at work in a worktree is told."""
    store = store_at(caller.service, given.project)
    if given.worktree is None:
        found = store.memory.entries()
    else:
        found = store.memory.told(features_in(store, given.worktree), given.worktree)
    return {"remembered": [entry.raw() for entry in found if given.by in (None, entry.by)]}


def withdraw(caller: Caller, given: params.Withdraw) -> dict[str, Any]:
    """Tell nobody of it any more; its line stays in the file. An agent can withdraw notes alone."""
    store = store_at(caller.service, given.project)
    entry = store.memory.withdraw(given.id, given.by)
    _renew_contexts(caller, store)
    return entry.raw()


def features_in(store: Store, worktree: str) -> list[str]:
    """The features that somebody in this checkout works on."""
    return [feature.id for feature in store.catalogue.features() if str(feature.tree.worktree) == worktree]


def _renew_contexts(caller: Caller, store: Store) -> None:
    """One session stands for all of its feature."""
    for feature in store.catalogue.features():
        if sessions := layout.sessions(feature):
            caller.service.give_context(store, sessions[0])
