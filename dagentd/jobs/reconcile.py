"""Everything that is due in a project, once: each session gets its journal and its documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dagentd.model.problem import Problem
from dagentd.store.session import Session
from dagentd.store.store import Store


@dataclass(frozen=True)
class Line:
    """What was done for one session."""

    session: Session
    done: str  # empty if nothing was to be done
    messages: int

    @property
    def worktree(self) -> str:
        return self.session.folder.feature.tree.name

    def raw(self) -> dict[str, Any]:
        problems = [problem.raw() for problem in self.session.problems]
        document = self.session.document()
        return {
            "sessionId": self.session.id,
            "worktree": document["worktree"],
            "status": document.get("status"),
            "messages": self.messages,
            "done": self.done or None,
            "problems": problems,
        }


@dataclass(frozen=True)
class Report:
    lines: list[Line]
    problems: list[Problem]

    def raw(self) -> dict[str, Any]:
        return {
            "sessions": [line.raw() for line in self.lines],
            "problems": [problem.raw() for problem in self.problems],
        }


def reconcile(store: Store) -> Report:
    journals = {folder.journal for folder in store.folders() if folder.journal.exists()}
    lines = [_line(session, session.folder.journal in journals) for session in store.reconcile()]
    own = [problem for line in lines for problem in line.session.problems]
    return Report(lines, [*store.problems.values(), *own])


def _line(session: Session, had_journal: bool) -> Line:
    taken = session.take_news()
    done = [] if had_journal else ["journal made"]
    if had_journal and taken:
        done.append(f"{taken} outside change{'' if taken == 1 else 's'} taken in")
    return Line(session, ", ".join(done), session.messages(0)[1])
