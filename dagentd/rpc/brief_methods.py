"""`session.brief`: a hand-over of a session."""

from __future__ import annotations

import os
from typing import Any

from dagentd.errors import InvalidInput, NotFound
from dagentd.jobs import summaries
from dagentd.rpc import followed_methods, memory_methods, params, session_methods
from dagentd.rpc.service import Caller, session_of
from dagentd.settings import Settings

_LATEST = 50  # messages in which the last exchange is looked for


def brief(caller: Caller, given: params.Brief) -> dict[str, Any]:
    """A hand-over in Markdown of at most `tokens` tokens: the goal, orders and decisions with quotes, what is done,
    open and failing, the files, the last exchange, how to go on. Secrets are left out."""
    from dagentd.jobs import briefs

    named = given.session_id or _latest(caller, given)
    if followed_methods.is_followed(named):
        return {"sessionId": named, "brief": _of_conversation(caller, named, given.tokens)}
    asked = params.OfSession(sessionId=named, project=given.project)
    with session_of(caller.service, asked) as (store, session):
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
    told = [
        each for store in stores for each in store.memory.told(memory_methods.features_in(store, worktree), worktree)
    ]
    settings = caller.service.settings_of(stores[0].project) if stores else Settings()
    return briefs.of_conversation(about, followed.checkpoint(named), said, told, settings, limit)


def _latest(caller: Caller, given: params.Brief) -> str:
    """The session that was last at work in a worktree."""
    if given.worktree is None:
        raise InvalidInput("whose hand-over is missing", hint="Give `sessionId` or `worktree`.")
    every = session_methods.sessions(caller, params.Sessions(project=given.project))["sessions"]
    here = [each for each in every if given.worktree in (each.get("worktree"), _name(each.get("worktree")))]
    if not here:
        raise NotFound(f"no session in worktree {given.worktree!a}", hint="dagentd sessions")
    return str(max(here, key=lambda each: str(each.get("lastActiveAt") or each.get("updatedAt") or ""))["id"])


def _name(worktree: object) -> str | None:
    return os.path.basename(worktree) if isinstance(worktree, str) else None
