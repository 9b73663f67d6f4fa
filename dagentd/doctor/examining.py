"""The whole examination: what the daemon says, what is found without it, and the same again after mending."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dagentd import paths
from dagentd import settings as loading
from dagentd.adapters import clock, disk, git
from dagentd.doctor import asking
from dagentd.doctor.checks import machine, places, project, sessions
from dagentd.doctor.finding import Finding, Findings
from dagentd.doctor.kinds import Mend, kind_of
from dagentd.errors import DagentdError, InvalidInput, told
from dagentd.model.problem import Problem, each_once
from dagentd.model.project import Project
from dagentd.settings import Settings
from dagentd.store.registry import Registry


@dataclass(frozen=True)
class Mended:
    """`done` says what was done and how to undo it, `failed` why it could not be done."""

    problem: Problem
    done: str = ""
    failed: DagentdError | None = None


def examine() -> tuple[asking.Answer, list[Problem]]:
    """Nothing is written."""
    answer = asking.ask()
    found = [Problem.of(kind, error, clock.stamp()) for kind, error in _findings(answer)]
    return answer, each_once([*answer.problems, *found])


def treat() -> tuple[asking.Answer, list[Problem], list[Mended]]:
    """Mend what can be mended safely, and look again: what is still there is not mended, whatever was done."""
    answer, found = examine()
    mended = mend(found)
    if mended:
        answer, found = examine()
    left = {(each.id, each.path) for each in found}
    return answer, found, [_honest(each, (each.problem.id, each.problem.path) in left) for each in mended]


def _honest(mended: Mended, still_there: bool) -> Mended:
    if mended.failed is not None or not still_there:
        return mended
    return Mended(mended.problem, failed=DagentdError(f"it is still so: {mended.problem.message}"))


def mend(problems: list[Problem]) -> list[Mended]:
    return [_mended(problem, act) for problem in problems if (act := kind_of(problem.id).mend) is not None]


def _mended(problem: Problem, act: Mend) -> Mended:
    try:
        with disk.explained(Path(problem.path)):
            return Mended(problem, act(problem))
    except DagentdError as error:
        return Mended(problem, failed=error)


def _findings(answer: asking.Answer) -> Iterator[Finding]:
    settings, registered = Settings(), list[Project]()
    try:
        settings = loading.load(paths.config_file())
    except InvalidInput as error:
        yield "settings", InvalidInput(error.message, path=error.path or paths.config_file(), hint=error.hint)
    try:
        registered = [each.project for each in Registry(paths.registry_file()).projects()]
    except DagentdError as error:
        yield "registry", error
    yield from _guarded(lambda: asking.life(answer, registered))
    for check in (places.socket, places.socket_folder, places.state, places.index, places.service, machine.watches):
        yield from _guarded(check)
    there = [each for each in registered if os.path.isdir(each.common_dir)]
    yield from _of_machine(settings, there)
    if not any(problem.id == "watch-mount" for problem in answer.problems):
        yield from _guarded(lambda: machine.file_systems(each.root for each in there))
    for each in registered:
        yield from _of_project(each, answer)


def _of_machine(settings: Settings, registered: list[Project]) -> Iterator[Finding]:
    agx = [each.root for each in registered if settings.agx.enabled and os.path.isdir(each.root / ".agx" / "sessions")]
    own = [paths.state_dir(), *(each.common_dir for each in registered)]
    yield from _guarded(lambda: machine.programs(settings.compaction, os.environ, agx))
    yield from _guarded(lambda: machine.room(own))


def _of_project(each: Project, answer: asking.Answer) -> Iterator[Finding]:
    try:
        git.check_there(each)
    except DagentdError as error:
        if not any(problem.path == error.path for problem in answer.problems):
            yield "project", error
        return
    served = str(each.root) in answer.served
    checks = (project.settings, project.hooks, project.exclude, project.tracked, project.temps)
    for check in checks if served else (*checks, project.writer, project.spool):
        yield from _guarded(partial(check, each))
    known = {problem.path for problem in answer.problems}
    yield from _guarded(lambda: sessions.all_of(each, look=not served, known=known))


def _guarded(check: Callable[[], Findings]) -> Iterator[Finding]:
    """A check that cannot be made is a finding of its own, and the others are made."""
    try:
        yield from check()
    except DagentdError as error:
        yield "unchecked", error
    except OSError as error:
        yield "unchecked", told(error, Path(os.fsdecode(error.filename or paths.state_dir())))
