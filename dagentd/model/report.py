"""The report of a scan: what was done for each session, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dagentd.model.problem import Problem


@dataclass(frozen=True)
class Line:
    """A line of the report: what was done for one session."""

    session_id: str
    worktree: str
    status: object
    messages: int
    done: str  # empty if nothing was to be done
    problems: list[Problem]

    def raw(self) -> dict[str, Any]:
        return {
            "sessionId": self.session_id,
            "worktree": self.worktree,
            "status": self.status,
            "messages": self.messages,
            "done": self.done or None,
            "problems": [problem.raw() for problem in self.problems],
        }

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Line:
        problems = [Problem(**each) for each in raw["problems"]]
        return cls(raw["sessionId"], raw["worktree"], raw["status"], raw["messages"], raw["done"] or "", problems)


@dataclass(frozen=True)
class Report:
    lines: list[Line]
    problems: list[Problem]

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Report:
        """Read back what `raw` gave, as it comes from the daemon."""
        return cls([Line.parse(each) for each in raw["sessions"]], [Problem(**each) for each in raw["problems"]])

    def raw(self) -> dict[str, Any]:
        return {
            "sessions": [line.raw() for line in self.lines],
            "problems": [problem.raw() for problem in self.problems],
        }
