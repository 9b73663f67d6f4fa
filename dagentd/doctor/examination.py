"""The examination: every check in turn, each on its own, and what the daemon itself says."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dagentd import __version__, paths
from dagentd import settings as loading
from dagentd.adapters import clock, git
from dagentd.adapters.files import flock
from dagentd.doctor import agent_checks, machine, project_checks
from dagentd.errors import Conflict, DagentdError, InvalidInput, NotAllowed, NotRunning, Unreachable, from_oserror
from dagentd.model.problem import Finding, Findings, Problem, each_once
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.settings import Settings
from dagentd.store.registry import Registry

# The daemon as the doctor meets it: whether it runs, whether it is the right one, and what it says is wrong.

_PATIENCE = 5.0  # seconds for an answer
_FIELDS = ("id", "message", "path", "hint", "since")


@dataclass(frozen=True)
class Answer:
    """`status` is None where no daemon answers, and `why` then says what was found instead, if anything was."""

    status: dict[str, Any] | None = None
    why: DagentdError | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def served(self) -> set[str]:
        """The roots of the projects that it writes to, or is to write to."""
        return {each["root"] for each in self.status["projects"]} if self.status else set()


def ask() -> Answer:
    try:
        with Client(timeout=_PATIENCE) as daemon:
            status = daemon.call("daemon.status")
    except NotRunning:
        return Answer()
    except (Unreachable, NotAllowed) as error:
        return Answer(why=error)
    told = [*status.get("problems", ()), *status.get("queues", {}).get("failing", ())]
    return Answer(status, problems=[Problem(*(str(each.get(name, "")) for name in _FIELDS)) for each in told])


def life(answer: Answer, registered: Collection[Project]) -> Findings:
    held = flock.is_held(paths.lock_file())
    if answer.status is not None:
        yield from of_another_kind(answer.status, flock.pid(paths.lock_file()) if held else None)
        yield from not_served(answer, registered)
    elif answer.why is not None:
        yield "not-answering", answer.why
    elif held:
        who = flock.holder(paths.lock_file())
        yield "other-socket", Conflict(f"{who} is a daemon that does not listen here", path=paths.socket())
    elif registered:
        yield "not-running", NotRunning("no daemon runs", hint="dagentd start")


def of_another_kind(status: dict[str, Any], holder: int | None) -> Findings:
    if holder != status["pid"]:
        other = f"process {holder} holds" if holder else "nobody holds"
        told = f"process {status['pid']} answers at the socket, and {other} the lock"
        yield "two-daemons", Conflict(told, path=paths.lock_file())
    if status.get("version") != __version__:
        told = f"the daemon is version {status.get('version', 'unknown')}, this command {__version__}"
        yield "other-version", Conflict(told, hint="dagentd restart")


def not_served(answer: Answer, registered: Collection[Project]) -> Findings:
    known = answer.served | {each.path for each in answer.problems if each.id == "project"}
    for project in registered:
        if str(project.root) not in known:
            yield "not-served", NotAllowed("is registered, and the daemon does not serve it", path=project.root)


# The whole examination: what the daemon says, and what is found without it.


def examine() -> tuple[Answer, list[Problem]]:
    """Nothing is written."""
    answer = ask()
    found = [Problem.of(kind, error, clock.stamp()) for kind, error in _findings(answer)]
    return answer, each_once([*answer.problems, *found])


def _findings(answer: Answer) -> Iterator[Finding]:
    settings, registered = Settings(), list[Project]()
    try:
        settings = loading.load(paths.config_file())
    except InvalidInput as error:
        yield "settings", InvalidInput(error.message, path=error.path or paths.config_file(), hint=error.hint)
    try:
        registered = [each.project for each in Registry(paths.registry_file()).projects()]
    except DagentdError as error:
        yield "registry", error
    yield from _guarded(lambda: life(answer, registered))
    for check in (
        machine.socket,
        machine.socket_folder,
        machine.state,
        machine.index,
        machine.service,
        machine.watches,
        agent_checks.plugin,
        agent_checks.programs,
        agent_checks.hooks,
    ):
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


def _of_project(each: Project, answer: Answer) -> Iterator[Finding]:
    try:
        git.check_there(each)
    except DagentdError as error:
        if not any(problem.path == error.path for problem in answer.problems):
            yield "project", error
        return
    served = str(each.root) in answer.served
    yield from (stuck := list(_guarded(partial(project_checks.pipes, each))))
    by_git = () if stuck else (project_checks.hooks, project_checks.exclude, project_checks.tracked)
    checks = (project_checks.settings, *by_git, project_checks.temps)
    for check in checks if served else (*checks, project_checks.writer, project_checks.spool):
        yield from _guarded(partial(check, each))
    known = {problem.path for problem in answer.problems}
    yield from _guarded(lambda: project_checks.session_findings(each, look=not served, known=known))


def _guarded(check: Callable[[], Findings]) -> Iterator[Finding]:
    """A check that cannot be made is a finding of its own, and the others are made."""
    try:
        yield from check()
    except DagentdError as error:
        yield "unchecked", error
    except OSError as error:
        yield "unchecked", from_oserror(error, Path(os.fsdecode(error.filename or paths.state_dir())))
