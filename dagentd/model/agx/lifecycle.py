"""The life of a session: its states with their history and reasons, and when it was last used."""

from __future__ import annotations

from datetime import datetime

from dagentd.model.agx import Raw, changed, moment, section, stamp

STATES = ("created", "active", "paused", "completed", "archived")
_HISTORY = 200  # entries that are kept: the first says how it began, the others are the last


def state_of(raw: Raw) -> str:
    held = section(raw, "lifecycle").get("state")
    return held if isinstance(held, str) else "created"


def moved(raw: Raw, state: str, reason: str, now: datetime) -> Raw:
    """The session in another state; the same document if it is in it already."""
    if state_of(raw) == state:
        return raw
    history = [*_history(raw), {"state": state, "timestamp": stamp(now), "reason": reason}]
    if len(history) > _HISTORY:
        history = [history[0], *history[1 - _HISTORY :]]
    return changed(raw, "lifecycle", state=state, stateHistory=history)


def reason(raw: Raw) -> str | None:
    """Why it is in the state it is in."""
    history = _history(raw)
    return str(history[-1].get("reason")) if history else None


def since(raw: Raw) -> datetime | None:
    """When it came into the state it is in."""
    history = _history(raw)
    last = history[-1] if history else {}
    return moment(last.get("timestamp")) if last.get("state") == state_of(raw) else None


def last_used(raw: Raw) -> datetime | None:
    """The latest of all that tells of use."""
    told = (
        raw.get("lastAccessed"),
        raw.get("created"),
        section(raw, "tmux").get("lastAttached"),
        section(raw, "claude").get("lastInteraction"),
    )
    return max((found for each in told if (found := moment(each))), default=None)


def _history(raw: Raw) -> list[Raw]:
    held = section(raw, "lifecycle").get("stateHistory")
    return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else []
