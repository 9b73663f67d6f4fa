"""`project.pause`, `session.pause` and their ends: for a while dagentd does nothing by itself."""

from __future__ import annotations

from typing import Any

from dagentd.rpc import params
from dagentd.rpc.service import Caller, store_at, store_of
from dagentd.store.store import Store


def pause_project(caller: Caller, given: params.PauseProject) -> dict[str, Any]:
    """Do nothing by itself for a project, for `seconds` or until it is resumed: no migration, new context, compaction
    or archive. What others write is still taken in, and what is asked for is done."""
    return caller.service.pausing.pause(store_at(caller.service, given.project), None, given.seconds)


def resume_project(caller: Caller, given: params.OfProject) -> dict[str, Any]:
    """End the pause of a project; what is due is done now. Sessions that were paused by themselves stay so."""
    return caller.service.pausing.resume(store_at(caller.service, given.project), None)


def pause_session(caller: Caller, given: params.PauseSession) -> dict[str, Any]:
    """The same for one session alone."""
    return caller.service.pausing.pause(_store(caller, given), given.session_id, given.seconds)


def resume_session(caller: Caller, given: params.ResumeSession) -> dict[str, Any]:
    """End the pause of a session; `paused` says whether its project still is."""
    return caller.service.pausing.resume(_store(caller, given), given.session_id)


def _store(caller: Caller, given: params.PauseSession | params.ResumeSession) -> Store:
    return store_of(caller.service, given.project, given.session_id)
