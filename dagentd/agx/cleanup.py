"""Cleanup: what has not been used for long is archived, then removed to the trash, then deleted from there."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime

from dagentd.agx import cleanup_plan, lifecycle, session_document
from dagentd.agx.cleanup_plan import Step
from dagentd.agx.session_files import AgxSessions, AgxWriter
from dagentd.agx.values import Raw, changed, moment, section_of, stamp
from dagentd.errors import Conflict, DagentdError
from dagentd.model.times import NEVER

_log = logging.getLogger(__name__)


def plan(sessions: AgxSessions, now: datetime) -> list[Step]:
    """The steps of a cleanup that are due by themselves."""
    steps = cleanup_plan.plan(sessions.all()[0], sessions.current(), sessions.config, now)
    return [*steps, *cleanup_plan.emptied(sessions.trash(), sessions.config, now)]


def last_check(sessions: AgxSessions) -> datetime:
    """When all of those that may be cleaned up were looked at for that."""
    found = [raw for raw in sessions.all()[0] if cleanup_plan.threshold(raw, sessions.config) is not None]
    times = [moment(section_of(raw, "lifecycle", "autoCleanup").get("lastCleanupCheck")) or NEVER for raw in found]
    return min(times, default=NEVER)


def named(sessions: AgxSessions, names: Iterable[str]) -> list[Step]:
    """The user wants these removed, whatever their age."""
    steps, current = [], sessions.current()
    for name in dict.fromkeys(names):
        sessions.load(name)
        if name == current:
            hint = "Switch to another one first: dagentd agx switch NAME"
            raise Conflict("is the current session", path=sessions.folder.session_file(name), hint=hint)
        steps.append(Step("remove", name, "removed_by_user"))
    return steps


def apply(sessions: AgxSessions, steps: Iterable[Step], now: datetime, *, checked: bool = False) -> list[Step]:
    """Those that were done; one that fails leaves the others. Nothing is done to what came into use meanwhile.
    `checked`: the steps are what was found by a look at all sessions."""
    done = []
    with sessions.writing() as writing:
        for raw in sessions.all()[0] if checked else ():
            if cleanup_plan.threshold(raw, sessions.config) is not None:
                writing.update(str(raw["sessionId"]), lambda raw: _checked(raw, now), now)
        for step in steps:
            try:
                if _perform(sessions, writing, step, now):
                    done.append(step)
                    _log.info("%s: %s %s (%s)", sessions.folder.root, step.action, step.session_id, step.reason)
            except DagentdError as error:
                _log.warning("%s", error)
    return done


def _perform(sessions: AgxSessions, writing: AgxWriter, step: Step, now: datetime) -> bool:
    if step.action == "delete":
        writing.delete(step.name)
        return True
    if step.reason != "removed_by_user":  # which holds, while what was not used may be in use again
        due = cleanup_plan.plan([sessions.load(step.session_id)], sessions.current(), sessions.config, now)
        if step not in due:
            return False
    if step.action == "archive":
        session_id, reason = step.session_id, step.reason
        writing.update(session_id, lambda raw: lifecycle.moved(raw, "archived", reason, now), now, backup=True)
    else:
        writing.discard(step.session_id, now)
    return True


def _checked(raw: Raw, now: datetime) -> Raw:
    return changed(raw, "lifecycle", "autoCleanup", lastCleanupCheck=stamp(now))


def restored(raw: Raw, now: datetime) -> Raw:
    """It pauses: to work in it, it is switched to. Now counts as a use, or the next cleanup would archive it again."""
    return session_document.accessed(lifecycle.moved(raw, "paused", "restored", now), now)
