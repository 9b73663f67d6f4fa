"""Everything that is due in a project, once and one after the other: what a daemon does in its own time."""

from __future__ import annotations

from dataclasses import replace

from dagentd.adapters import clock
from dagentd.jobs.checkouts import Checkouts
from dagentd.jobs.context import Rebuilt, rebuild
from dagentd.jobs.reconcile import Line, Report, reconcile
from dagentd.model.problem import Problem
from dagentd.settings import Settings
from dagentd.store.store import Store


def everything(store: Store, settings: Settings) -> Report:
    """Each session gets its journal, its documents and its context."""
    report, shared = reconcile(store), Checkouts()
    rebuilt = [rebuild(store, feature, settings, shared) for feature in store.features()]
    written = {(folder.id, folder.feature.tree.name) for each in rebuilt for folder in each.written}
    lines = [_told(line) if (line.session_id, line.worktree) in written else line for line in report.lines]
    return Report(lines, [*report.problems, *_problems(rebuilt)])


def _told(line: Line) -> Line:
    return replace(line, done=", ".join(filter(None, (line.done, "context written"))))


def _problems(rebuilt: list[Rebuilt]) -> list[Problem]:
    return [Problem.of("context", error, clock.stamp()) for each in rebuilt for _, error in each.errors]
