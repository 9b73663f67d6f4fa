"""`memory.*`, what the user decided and what agents noted, and `session.brief`, the hand-over of a session."""

from __future__ import annotations

import os
from typing import Any

from dagentd.errors import InvalidInput, NotAllowed, NotFound
from dagentd.jobs import summaries
from dagentd.model.ids import is_followed
from dagentd.rpc import params, session_methods
from dagentd.rpc.service import Caller, store_at
from dagentd.settings import Settings
from dagentd.store.layout import layout
from dagentd.store.store import Store

_LATEST = 50  # messages in which the last exchange is looked for


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
        found = store.memory.told(_features_in(store, given.worktree), given.worktree)
    return {"remembered": [entry.raw() for entry in found if given.by in (None, entry.by)]}


def withdraw(caller: Caller, given: params.Withdraw) -> dict[str, Any]:
    """Tell nobody of it any more; its line stays in the file. An agent can withdraw notes alone."""
    store = store_at(caller.service, given.project)
    entry = store.memory.withdraw(given.id, given.by)
    _renew_contexts(caller, store)
    return entry.raw()


def _features_in(store: Store, worktree: str) -> list[str]:
    """The features that somebody in this checkout works on."""
    return [feature.id for feature in store.catalogue.features() if str(feature.tree.worktree) == worktree]


def _renew_contexts(caller: Caller, store: Store) -> None:
    """One session stands for all of its feature."""
    for feature in store.catalogue.features():
        if sessions := layout.sessions(feature):
            caller.service.give_context(store, sessions[0])


# `session.brief`: a hand-over of a session.


def brief(caller: Caller, given: params.Brief) -> dict[str, Any]:
    """A hand-over in Markdown of at most `tokens` tokens: the goal, orders and decisions with quotes, what is done,
    open and failing, the files, the last exchange, how to go on. Secrets are left out."""
    from dagentd.jobs import briefs

    named = given.session_id or _latest(caller, given)
    if is_followed(named):
        return {"sessionId": named, "brief": _of_conversation(caller, named, given.tokens)}
    asked = params.OfSession(sessionId=named, project=given.project)
    with caller.session(asked) as (store, session):
        settings = caller.service.settings_of(store.project)
        about = summaries.whole(store, session, settings)
        return {"sessionId": session.id, "brief": briefs.of_session(store, session, about, settings, given.tokens)}


def _of_conversation(caller: Caller, named: str, limit: int) -> str:
    """One that another agent has; what is remembered is of its project, if that is served."""
    from dagentd.jobs import briefs

    followed = caller.service.followed
    about, said = followed.sessions.get(named), followed.sessions.messages(named, _LATEST)[0]
    stores = [store for store in caller.service.stores() if str(store.project.root) == about.get("project")]
    worktree = str(about.get("worktree") or "")
    told = [each for store in stores for each in store.memory.told(_features_in(store, worktree), worktree)]
    settings = caller.service.settings_of(stores[0].project) if stores else Settings()
    return briefs.of_conversation(about, followed.checkpoint(named), said, told, settings, limit)


def _latest(caller: Caller, given: params.Brief) -> str:
    """The session that was last at work in a worktree."""
    if given.worktree is None:
        raise InvalidInput("whose hand-over is missing", hint="Give `sessionId` or `worktree`.")
    every = session_methods.sessions(caller, params.Sessions(project=given.project))["sessions"]
    places = [(each, each.get("worktree")) for each in every]
    here = [each for each, place in places if place and given.worktree in (place, os.path.basename(place))]
    if not here:
        raise NotFound(f"no session in worktree {given.worktree!a}", hint="dagentd sessions")
    return str(max(here, key=lambda each: str(each.get("lastActiveAt") or each.get("updatedAt") or ""))["id"])
