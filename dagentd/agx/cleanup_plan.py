"""Which sessions have not been used for so long that they are archived, removed, or deleted from the trash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from dagentd.agx import lifecycle, values
from dagentd.agx.configuration import Config
from dagentd.agx.values import Raw, section_of

Action = Literal["archive", "remove", "delete"]
_DAY = 86_400
_LONGEST = 36_500 * _DAY
_USUAL = 30 * _DAY  # that AGX writes into every session: nobody chose it


@dataclass(frozen=True)
class Trashed:
    """A session file in the trash."""

    name: str
    session_id: str
    at: datetime
    size: int


@dataclass(frozen=True)
class Step:
    action: Action
    session_id: str
    reason: str
    name: str = ""  # of the file in the trash

    def raw(self) -> Raw:
        return {"action": self.action, "sessionId": self.session_id, "reason": self.reason}


def plan(sessions: Iterable[Raw], current: str | None, config: Config, now: datetime) -> list[Step]:
    """Archive first; what has been archived for as long again is removed. Both can be taken back. The current session
    and one whose tmux runs are in use, whatever their times say."""
    steps = []
    for raw in sessions:
        session_id = str(raw["sessionId"])
        limit = threshold(raw, config)
        if limit is None or session_id == current or section_of(raw, "tmux").get("isActive") is True:
            continue
        archived = lifecycle.state_of(raw) == "archived"
        last = lifecycle.since(raw) if archived else lifecycle.last_used(raw)
        if last is not None and now - last >= limit:
            told = f"{'archived' if archived else 'inactive'}_{(now - last).days}d"
            steps.append(Step("remove" if archived else "archive", session_id, told))
    return steps


def threshold(raw: Raw, config: Config) -> timedelta | None:
    """After what time; None if it stays for ever, and while a configuration cannot be read that may say so."""
    own = section_of(raw, "lifecycle", "autoCleanup")
    wanted = config.is_certain and config.auto_archive and config.auto_cleanup
    if not wanted or own.get("enabled") is False:
        return None
    given = values.duration_seconds(own.get("inactiveThreshold"))
    chosen = given is not None and given != _USUAL
    return timedelta(seconds=min(max(given or 1, 1), _LONGEST) if chosen else config.cleanup_days * _DAY)


def emptied(trash: Iterable[Trashed], config: Config, now: datetime) -> list[Step]:
    """The deletion of what has been in the trash for the threshold too, and of the oldest where there is too much."""
    steps, total = [], 0
    for each in sorted(trash if config.is_certain else (), key=lambda one: one.at, reverse=True):
        total += each.size
        age = (now - each.at).days
        if age >= config.cleanup_days:
            steps.append(Step("delete", each.session_id, f"trashed_{age}d", each.name))
        elif total > config.compact_threshold:
            steps.append(Step("delete", each.session_id, "trash_full", each.name))
    return steps
