"""Cleanup: what has not been used for long is archived, then removed to the trash, then deleted from there."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime

from dagentd.errors import Conflict, DagentdError
from dagentd.model.agx import Raw, changed, cleanup, lifecycle, moment, section, session, stamp
from dagentd.model.agx.cleanup import Step
from dagentd.model.times import NEVER
from dagentd.store.agx.sessions import Sessions, Writing

_log = logging.getLogger(__name__)


def plan(sessions: Sessions, now: datetime) -> list[Step]:
    """What is due by itself."""
    steps = cleanup.plan(sessions.all()[0], sessions.current(), sessions.config, now)
    return [*steps, *cleanup.emptied(sessions.trash(), sessions.config, now)]


def last_check(sessions: Sessions) -> datetime:
    """When all of those that may be cleaned up were looked at for that."""
    found = [raw for raw in sessions.all()[0] if cleanup.threshold(raw, sessions.config) is not None]
    times = [moment(section(raw, "lifecycle", "autoCleanup").get("lastCleanupCheck")) or NEVER for raw in found]
    return min(times, default=NEVER)


def named(sessions: Sessions, names: Iterable[str]) -> list[Step]:
    """The user wants these removed, whatever their age."""
    steps, current = [], sessions.current()
    for name in dict.fromkeys(names):
        sessions.load(name)
        if name == current:
            hint = "Switch to another one first: dagentd agx switch NAME"
            raise Conflict("is the current session", path=sessions.folder.session_file(name), hint=hint)
        steps.append(Step("remove", name, "removed_by_user"))
    return steps


def apply(sessions: Sessions, steps: Iterable[Step], now: datetime, *, checked: bool = False) -> list[Step]:
    """Those that were done; one that fails leaves the others. Nothing is done to what came into use meanwhile.
    `checked`: the steps are what was found by a look at all sessions."""
    done = []
    with sessions.writing() as writing:
        for raw in sessions.all()[0] if checked else ():
            if cleanup.threshold(raw, sessions.config) is not None:
                writing.update(str(raw["sessionId"]), lambda raw: _checked(raw, now), now)
        for step in steps:
            try:
                if _perform(sessions, writing, step, now):
                    done.append(step)
                    _log.info("%s: %s %s (%s)", sessions.folder.root, step.action, step.session_id, step.reason)
            except DagentdError as error:
                _log.warning("%s", error)
    return done


def _perform(sessions: Sessions, writing: Writing, step: Step, now: datetime) -> bool:
    if step.action == "delete":
        writing.delete(step.name)
        return True
    if step.reason != "removed_by_user" and not _is_still_due(sessions, step, now):
        return False
    if step.action == "archive":
        session_id, reason = step.session_id, step.reason
        writing.update(session_id, lambda raw: lifecycle.moved(raw, "archived", reason, now), now, backup=True)
    else:
        writing.discard(step.session_id, now)
    return True


def _is_still_due(sessions: Sessions, step: Step, now: datetime) -> bool:
    raw = sessions.load(step.session_id)
    return step in cleanup.plan([raw], sessions.current(), sessions.config, now)


def _checked(raw: Raw, now: datetime) -> Raw:
    return changed(raw, "lifecycle", "autoCleanup", lastCleanupCheck=stamp(now))


def restored(raw: Raw, now: datetime) -> Raw:
    """It pauses: to work in it, it is switched to. Now counts as a use, or the next cleanup would archive it again."""
    return session.accessed(lifecycle.moved(raw, "paused", "restored", now), now)
