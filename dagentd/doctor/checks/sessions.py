"""The sessions of a project: what is wrong with each, as one sees who may only read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dagentd.doctor.checks import machine, project
from dagentd.doctor.finding import Finding, Findings
from dagentd.errors import DagentdError
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.store.closed import closed
from dagentd.store.index import Index
from dagentd.store.store import Store


def all_of(given: Project, *, look: bool, known: Collection[str]) -> Findings:
    """`look`: into each of them, because no daemon does; one sees only now and then that a folder is closed to it.
    `known` are paths that something was said of already."""
    index = Index(None)
    store = Store(given, index, read_only=True)
    try:
        found = list(_looked_at(store)) if look else [("folder", error) for error in closed(given)]
        yield from found
        folders = store.folders()
        yield from project.unkept(given, folders)
        yield from project.set_aside(folders, {*known, *(error.path or "" for _, error in found)})
        yield from machine.dates(folder.journal for folder in folders)
    finally:
        store.close()
        index.close()


def _looked_at(store: Store) -> Iterator[Finding]:
    store.reconcile()
    for each in store.all_problems():
        yield _finding(each)


def _finding(problem: Problem) -> Finding:
    return problem.id, DagentdError(problem.message, path=problem.path or None, hint=problem.hint)
