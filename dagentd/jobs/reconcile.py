"""Each session of a feature gets its journal and its documents, and what others wrote is taken in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder
from dagentd.store.layout import layout
from dagentd.store.sessions.session import Session
from dagentd.store.store import Store


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


def reconcile(store: Store, feature: FeatureFolder, *, everything: bool = True) -> list[Line]:
    journals = {folder.journal for folder in layout.sessions(feature) if folder.journal.exists()}
    turns = store.reconciler.in_turn(feature, everything=everything)
    return [_line(session, session.folder.journal in journals) for session in turns]


def _line(session: Session, had_journal: bool) -> Line:
    taken = session.take_news()
    done = [] if had_journal else ["journal made"]
    if had_journal and taken:
        done.append(f"{taken} outside change{'' if taken == 1 else 's'} taken in")
    worktree, status = session.folder.feature.tree.name, session.fields.get("status")
    return Line(session.id, worktree, status, session.in_chat, ", ".join(done), session.problems)
