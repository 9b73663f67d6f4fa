"""A pause: for how long dagentd does nothing by itself for a project or a session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dagentd.model import times


@dataclass(frozen=True)
class Pause:
    """`until` is None where only the user ends it."""

    since: datetime
    until: datetime | None

    def holds(self, now: datetime) -> bool:
        return self.until is None or now < self.until

    def raw(self) -> dict[str, Any]:
        return {"since": times.iso(self.since), "until": None if self.until is None else times.iso(self.until)}

    @classmethod
    def parse(cls, raw: Any) -> Pause | None:
        """None for what is no pause. One whose end makes no sense has none: it is safer to go on waiting."""
        since = times.parse(raw.get("since")) if isinstance(raw, dict) else None
        return None if since is None else cls(since, times.parse(raw.get("until")))


@dataclass(frozen=True)
class Paused:
    """Of a project: all of it, or some of its sessions by their ids."""

    project: Pause | None
    sessions: dict[str, Pause]

    def on(self, session_id: str, now: datetime) -> Pause | None:
        """What keeps us from a session now."""
        both = (self.project, self.sessions.get(session_id))
        return next((pause for pause in both if pause is not None and pause.holds(now)), None)

    def with_one(self, session_id: str | None, pause: Pause | None) -> Paused:
        """`session_id` None means the whole project, `pause` None the end of it."""
        if session_id is None:
            return Paused(pause, self.sessions)
        others = {name: each for name, each in self.sessions.items() if name != session_id}
        return Paused(self.project, others if pause is None else others | {session_id: pause})

    def at(self, now: datetime) -> Paused:
        """Without those that are over."""
        project = self.project if self.project is not None and self.project.holds(now) else None
        return Paused(project, {name: each for name, each in self.sessions.items() if each.holds(now)})

    def raw(self) -> dict[str, Any]:
        project = {} if self.project is None else {"project": self.project.raw()}
        return project | {"sessions": {name: each.raw() for name, each in sorted(self.sessions.items())}}

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Paused:
        held = raw.get("sessions")
        found = {name: Pause.parse(each) for name, each in held.items()} if isinstance(held, dict) else {}
        return cls(Pause.parse(raw.get("project")), {name: each for name, each in found.items() if each is not None})


NOTHING = Paused(None, {})
