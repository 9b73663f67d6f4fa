"""Everything that is due, once: for a feature, as the daemon does it in the feature's turn, or for a whole project."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dagentd.adapters import clock
from dagentd.jobs import context
from dagentd.jobs.context.checkouts import Checkouts
from dagentd.jobs.reconcile import Line, Report, reconcile
from dagentd.model.problem import Problem
from dagentd.model.project import FeatureFolder
from dagentd.settings import Settings
from dagentd.store.store import Store


@dataclass(frozen=True)
class Done:
    """`sources` are the files elsewhere in the worktree that the contexts are made from."""

    lines: list[Line]
    problems: list[Problem]
    sources: frozenset[Path]


def all_of(
    store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts, *, everything: bool = True
) -> Done:
    """Each session gets its journal, its documents and its context. Without `everything` only those are opened
    whose files are not as they were when last looked at."""
    lines = reconcile(store, feature, everything=everything)
    renewed = contexts_of(store, feature, settings, shared)
    written = {line.session_id for line in renewed.lines}
    told = [_with_context(line) if line.session_id in written else line for line in lines]
    return replace(renewed, lines=told)


def contexts_of(store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts) -> Done:
    rebuilt = context.rebuild(store, feature, settings, shared)
    name = feature.tree.name
    lines = [Line(folder.id, name, None, 0, "context written", []) for folder in rebuilt.written]
    problems = [Problem.of("context", error, clock.stamp()) for _, error in rebuilt.errors]
    return Done(lines, problems, rebuilt.sources)


def in_project(store: Store, settings: Settings) -> Report:
    store.look_around()
    shared = Checkouts()
    done = [all_of(store, feature, settings, shared) for feature in store.features()]
    return report(store, done)


def report(store: Store, done: list[Done]) -> Report:
    lines = [line for each in done for line in each.lines]
    own = [problem for line in lines for problem in line.problems]
    return Report(lines, [*store.problems, *own, *(problem for each in done for problem in each.problems)])


def _with_context(line: Line) -> Line:
    return replace(line, done=", ".join(filter(None, (line.done, "context written"))))
