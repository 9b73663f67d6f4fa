"""Cleanup: what has not been used for long is archived, then removed to the trash, then deleted from there."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime

from dagentd.errors import Conflict, DagentdError
from dagentd.model.agx import Raw, changed, cleanup, lifecycle, session, stamp
from dagentd.model.agx.cleanup import Step
from dagentd.store.agx.sessions import Sessions, Writing

_log = logging.getLogger(__name__)


def plan(sessions: Sessions, now: datetime) -> list[Step]:
    """What is due by itself."""
    steps = cleanup.plan(sessions.all()[0], sessions.current(), sessions.config, now)
    return [*steps, *cleanup.emptied(sessions.trash(), sessions.config, now)]


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


def apply(sessions: Sessions, steps: Iterable[Step], now: datetime) -> list[Step]:
    """Those that were done; one that fails leaves the others. Nothing is done to what came into use meanwhile."""
    done = []
    with sessions.writing() as writing:
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
        writing.update(step.session_id, lambda raw: archived(raw, sessions, step.reason, now), now, backup=True)
    else:
        writing.discard(step.session_id, now)
    return True


def _is_still_due(sessions: Sessions, step: Step, now: datetime) -> bool:
    raw = sessions.load(step.session_id)
    return step in cleanup.plan([raw], sessions.current(), sessions.config, now)


def archived(raw: Raw, sessions: Sessions, reason: str, now: datetime) -> Raw:
    raw = changed(raw, "lifecycle", "autoCleanup", lastCleanupCheck=stamp(now)) if reason != "archived_by_user" else raw
    return lifecycle.moved(raw, "archived", reason, now, count=sessions.config.statistics)


def restored(raw: Raw, sessions: Sessions, now: datetime) -> Raw:
    """It pauses: to work in it, it is switched to. Now counts as a use, or the next cleanup would archive it again."""
    raw = lifecycle.moved(raw, "paused", "restored", now, count=sessions.config.statistics)
    return session.accessed(raw, now)
