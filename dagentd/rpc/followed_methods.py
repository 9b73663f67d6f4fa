"""`session.*` of conversations that another agent has: what can be asked of them, and what is refused; `usage.report`
and `agents.*`."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from dagentd.adapters import clock
from dagentd.errors import InvalidInput, NotAllowed
from dagentd.model import times
from dagentd.model.query import Excerpt, safe_snippet, snippet
from dagentd.rpc import params
from dagentd.rpc.service import Caller, fitting, store_at

Answer = Callable[[Caller, Any], Any]


def answer(name: str, caller: Caller, given: Any) -> Any:
    """Of the same method, for a session that another agent has."""
    if name not in METHODS:
        raise refused(given.session_id, name)
    return METHODS[name](caller, given)


def refused(session_id: str, name: str) -> NotAllowed:
    told = f"{session_id} is a conversation of another agent, and {name} is for sessions of dagentd"
    return NotAllowed(told, hint=f"Go on with it in that agent: `dagentd show {session_id}` has the command.")


# --- of one conversation --------------------------------------------------------------------------------------------


def _get(caller: Caller, given: params.OfSession) -> dict[str, Any]:
    return caller.service.followed.sessions.get(given.session_id)


def _messages(caller: Caller, given: params.Messages) -> dict[str, Any]:
    found, total = caller.service.followed.sessions.messages(given.session_id, given.limit)
    shown = fitting(found)
    return {"messages": shown, "total": total, **({"more": True} if len(shown) < len(found) else {})}


def _history(caller: Caller, given: params.History) -> dict[str, Any]:
    sessions = caller.service.followed.sessions
    found, more = sessions.history(given.session_id, given.before, min(given.limit, 10_000))
    shown = fitting(found)
    return {"messages": shown, "more": more or len(shown) < len(found)}


def _checkpoint(caller: Caller, given: params.OfSession) -> dict[str, Any] | None:
    return caller.service.followed.checkpoint(given.session_id)


def _nothing(caller: Caller, given: params.OfSession) -> None:
    caller.service.followed.sessions.find(given.session_id)


def _pin(caller: Caller, given: params.Pin) -> dict[str, Any]:
    if given.item_id is None and given.message_id is None:
        raise InvalidInput("what is to be pinned is missing", hint="Give `itemId` or `messageId`.")
    followed = caller.service.followed
    followed.pin(given.session_id, item=given.item_id, message=given.message_id, pinned=given.pinned)
    return _told(caller, given, "pinned", {"pinned": given.pinned})


def _archive(caller: Caller, given: params.Archive) -> dict[str, Any]:
    found = caller.service.followed.sessions.archive(given.session_id, given.archived)
    return _told(caller, given, "archived", found)


def _restore(caller: Caller, given: params.Restore) -> dict[str, Any]:
    written = caller.service.followed.restore(given.session_id)
    found = {**caller.service.followed.sessions.get(given.session_id), "written": [str(path) for path in written]}
    return _told(caller, given, "restored", found)


def _told(caller: Caller, given: params.OfSession, action: str, answer: dict[str, Any]) -> dict[str, Any]:
    found = caller.service.followed.sessions
    owner = found.owner(found.find(given.session_id))
    root = owner.root if owner is not None else None
    caller.service.events.publish("session:updated", project=root, session_id=given.session_id, action=action)
    return answer


METHODS: dict[str, Answer] = {
    "session.get": _get,
    "session.getMessages": _messages,
    "session.getHistory": _history,
    "session.getCheckpoint": _checkpoint,
    "session.getContext": _nothing,
    "session.getAgentDescription": _nothing,
    "session.pin": _pin,
    "session.archive": _archive,
    "session.restore": _restore,
}


# --- of all ---------------------------------------------------------------------------------------------------------


def _since(given: str | None) -> str | None:
    """As lines have it; a day or an hour without a zone is one of here."""
    if given is None:
        return None
    try:
        return times.iso(datetime.fromisoformat(given))
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"since {given!a} is no day and no moment", hint="As 2026-11-01, or 2026-11-01T09:30."
        ) from None


def listed(caller: Caller, given: params.Sessions) -> list[dict[str, Any]]:
    """Those of the project, or all; none where only sessions of ours can be meant."""
    if given.feature_id is not None or given.status == "gone":
        return []
    roots = None if given.project is None else {str(store_at(caller.service, given.project).project.root)}
    return caller.service.followed.sessions.listed(
        roots=roots, agent=given.agent, worktree=given.worktree, since=_since(given.since), parent=given.parent,
        status=given.status, limit=given.limit,
    )  # fmt: skip


def found(caller: Caller, given: params.Search) -> list[dict[str, Any]]:
    roots = None if given.project is None else {str(store_at(caller.service, given.project).project.root)}
    search = caller.service.followed.sessions.search
    return search(given.query, roots, given.session_id, given.limit, excerpt(given))


def excerpt(given: params.Search) -> Excerpt:
    return safe_snippet if given.redacted else snippet


def usage_report(caller: Caller, given: params.UsageReport) -> dict[str, Any]:
    """Tokens that agents took, in and out, read from caches and written to them, by `day`, `model`, `worktree`,
    `session` or `agent`; one answer counts once, in whatever files it is. `cost` is what the agents say, in dollars."""
    from dagentd.agents import usage

    roots = None if given.project is None else {str(store_at(caller.service, given.project).project.root)}
    uses = caller.service.followed.sessions.uses(roots, _since(given.since))
    rows = usage.report(uses, given.by, clock.now().astimezone().tzinfo or clock.now().tzinfo)  # type: ignore[arg-type]
    return {"by": given.by, "rows": [row.document() for row in rows], "total": usage.total(rows).document()}


def agents_list(caller: Caller, _: params.Nothing) -> dict[str, Any]:
    """The agents whose conversations can be followed: whether they are, where theirs are, how many are kept and how
    large these are, and what is refused."""
    return {"agents": caller.service.followed.agents()}


def session_start(caller: Caller, given: params.SessionStart) -> dict[str, Any]:
    """The text for an agent that begins or goes on in a folder: what dagentd has for its context, in at most
    `agents.context_chars` characters; empty where that is nothing, or where the folder is in no served project."""
    if not os.path.isabs(given.cwd) or "\0" in given.cwd:
        return {"text": ""}
    transcript = Path(given.transcript_path) if given.transcript_path else None
    where = (Path(given.cwd), transcript, caller.service.stores(), caller.service.settings_of)
    return {"text": caller.service.openings.text(given.agent, given.session_id, given.source, *where)}
