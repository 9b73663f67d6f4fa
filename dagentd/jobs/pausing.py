"""Leaving a project or a session alone for a while, because the user wants it so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dagentd.errors import InvalidInput, NotAllowed

if TYPE_CHECKING:
    from dagentd.store.store import Store

LONGEST = 10 * 365 * 86400  # seconds


def pause(store: Store, session_id: str | None, seconds: float | None) -> dict[str, Any]:
    """The session, or the whole project, for so many seconds or until it is ended. A second one replaces the first."""
    if seconds is not None and not 0 < seconds <= LONGEST:
        raise InvalidInput("a pause lasts at most ten years", hint="Leave the time out for one without end.")
    _check_writable(store)
    begun = store.pauses.begin(_found(store, session_id), seconds)
    return {"paused": begun.raw()}


def resume(store: Store, session_id: str | None) -> dict[str, Any]:
    """`paused` is what still keeps us from it: of a session, the pause of its project."""
    _check_writable(store)
    found = _found(store, session_id)
    ended = store.pauses.end(found)
    return {"ended": ended, "paused": None if found is None else store.pauses.shown(found)}


def _found(store: Store, session_id: str | None) -> str | None:
    """Under the id that it has, which may not be the one it is called by. All sessions of that id are meant, and one
    that was paused may be removed since."""
    if session_id is None or session_id in store.pauses.now().sessions:
        return session_id
    return (
        session_id
        if any(each.id == session_id for each in store.catalogue.folders())
        else store.catalogue.find(session_id).id
    )


def _check_writable(store: Store) -> None:
    if store.read_only:
        raise NotAllowed("is served read-only", path=store.project.root, hint="dagentd status says why.")
