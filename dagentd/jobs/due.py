"""Everything that is due, once: for a feature, as the daemon does it in the feature's turn, or for a whole project."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dagentd.adapters import clock
from dagentd.jobs import context
from dagentd.jobs.archive import archive_ended
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
    """Each session gets its journal, its documents and its context, and is archived if its time has come. Without
    `everything` only those are opened whose files are not as they were when last looked at."""
    lines = reconcile(store, feature, everything=everything)
    renewed = renewal_of(store, feature, settings, shared)
    more = {line.session_id: line.done for line in renewed.lines}
    told = [replace(line, done=_joined(line.done, more.pop(line.session_id, ""))) for line in lines]
    return replace(renewed, lines=[*told, *(line for line in renewed.lines if line.session_id in more)])


def renewal_of(store: Store, feature: FeatureFolder, settings: Settings, shared: Checkouts) -> Done:
    """What follows from the feature and its worktree: contexts, and the end of sessions."""
    rebuilt = context.rebuild(store, feature, settings, shared)
    done = {folder.id: "context written" for folder in rebuilt.written}
    for session_id in archive_ended(store, feature, settings):
        done[session_id] = _joined(done.get(session_id, ""), "archived")
    lines = [Line(session_id, feature.tree.name, None, 0, told, []) for session_id, told in done.items()]
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


def _joined(*done: str) -> str:
    return ", ".join(filter(None, done))
