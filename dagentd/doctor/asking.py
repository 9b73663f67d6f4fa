"""The daemon as the doctor meets it: whether it runs, whether it is the right one, and what it says is wrong."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from dagentd import __version__, paths
from dagentd.adapters import lock
from dagentd.doctor.finding import Findings
from dagentd.errors import Conflict, DagentdError, NotAllowed, NotRunning, Unreachable
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.rpc.client import Client

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
    held = lock.is_held(paths.lock_file())
    if answer.status is not None:
        yield from of_another_kind(answer.status, lock.pid(paths.lock_file()) if held else None)
        yield from not_served(answer, registered)
    elif answer.why is not None:
        yield "not-answering", answer.why
    elif held:
        who = lock.holder(paths.lock_file())
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
