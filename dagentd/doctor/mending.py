"""Mending what the doctor found, without losing anything; each mend says what it did and how to undo it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dagentd import oneshot, paths, settings
from dagentd.adapters import git
from dagentd.adapters.files import disk
from dagentd.adapters.files.flock import AlreadyRunning, clear_stale, single_instance
from dagentd.agents import connecting
from dagentd.doctor.examination import Answer, examine
from dagentd.doctor.kinds import kind_of
from dagentd.errors import Conflict, DagentdError, NotRunning
from dagentd.jobs import exclude as excluding
from dagentd.jobs import hooks, service_files, user_service
from dagentd.model.problem import Problem
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.store.journal import index

_SCAN = 600.0  # seconds for the daemon to look at a whole project


def look_again(problem: Problem) -> str:
    """Everything that is due in the project: by the daemon if it has the lock."""
    project = git.project_at(Path(problem.path))
    if not _scanned(project):
        oneshot.once(project, settings.load(paths.config_file(), paths.project_config_file(project.root)))
    return f"{project.root} was looked at again; nothing was removed, so there is nothing to undo."


def install_hooks(problem: Problem) -> str:
    project = git.project_at(Path(problem.path))
    hooks.install(project)
    return f"The hooks were installed; undo it with `dagentd hooks uninstall {project.root}`."


def exclude(problem: Problem) -> str:
    project = git.project_at(Path(problem.path))
    with disk.explained(excluding.file_of(project)):
        added = excluding.add(project)
    return f"{', '.join(added)} were added to {excluding.file_of(project)}; `dagentd remove` takes them out again."


def close_to_others(problem: Problem) -> str:
    path = Path(problem.path)
    with disk.explained(path):
        before = disk.seclude(path)
    return f"{path} is yours alone now; undo it with `chmod {before:o} {path}`."


def remove_socket(problem: Problem) -> str:
    clear_stale(Path(problem.path))
    return f"{problem.path} was removed; a daemon makes it anew when it starts."


def discard_index(problem: Problem) -> str:
    try:
        held = single_instance()  # until it is removed: a daemon that starts between would use it
    except AlreadyRunning:
        raise Conflict("a daemon uses it", path=problem.path, hint="dagentd stop; dagentd doctor --fix") from None
    try:
        index.discard(Path(problem.path))
    finally:
        held.release()
    return f"{problem.path} was removed; it is a cache, made again from the journals."


def renew_service(_: Problem) -> str:
    manager = user_service.manager()
    there = user_service.present(manager)
    socket = manager.starter(True) in there if manager.name == "systemd" else False
    user_service.apply(user_service.plan_install(manager, service_files.program(), socket, there), manager)
    return "The service starts this dagentd now; undo it with `dagentd service uninstall`."


def connect_again(_: Problem) -> str:
    for each in connecting.connections():
        connecting.connect(each.agent, each.worktree)
    return f"The plug-ins were copied to {paths.connect_dir()} again; `dagentd disconnect` takes them away."


def _scanned(project: Project) -> bool:
    try:
        client = Client(timeout=_SCAN)
    except NotRunning:
        return False
    with client as daemon:
        served = [each["root"] for each in daemon.call("project.list")["projects"] if not each["readOnly"]]
        if str(project.root) not in served:
            return False
        daemon.call("project.scan", project=str(project.root))
    return True


MENDS: dict[str, Callable[[Problem], str]] = {
    act.__name__: act
    for act in (
        look_again, install_hooks, exclude, close_to_others, remove_socket, discard_index, renew_service, connect_again
    )
}  # fmt: skip


@dataclass(frozen=True)
class Mended:
    """`done` says what was done and how to undo it, `failed` why it could not be done."""

    problem: Problem
    done: str = ""
    failed: DagentdError | None = None


def treat() -> tuple[Answer, list[Problem], list[Mended]]:
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
    return [_mended(problem, name) for problem in problems if (name := kind_of(problem.id).mend)]


def _mended(problem: Problem, name: str) -> Mended:
    try:
        with disk.explained(Path(problem.path)):
            return Mended(problem, MENDS[name](problem))
    except DagentdError as error:
        return Mended(problem, failed=error)
