"""What mends a problem without losing anything; each says what it did and how to undo it. What that takes is loaded
when it is done: the daemon reads the table of problems at its start."""

from __future__ import annotations

from pathlib import Path

from dagentd import paths
from dagentd.adapters import disk
from dagentd.errors import Conflict, NotRunning
from dagentd.model.problem import Problem
from dagentd.model.project import Project

_SCAN = 600.0  # seconds for the daemon to look at a whole project


def look_again(problem: Problem) -> str:
    """Everything that is due in the project: by the daemon if it has the lock."""
    project = _project(problem)
    if not _scanned(project):
        from dagentd import alone, settings

        alone.once(project, settings.load(paths.config_file(), paths.project_config_file(project.root)))
    return f"{project.root} was looked at again; nothing was removed, so there is nothing to undo."


def install_hooks(problem: Problem) -> str:
    from dagentd.jobs import hooks

    project = _project(problem)
    hooks.install(project)
    return f"The hooks were installed; undo it with `dagentd hooks uninstall {project.root}`."


def exclude(problem: Problem) -> str:
    from dagentd.jobs import exclude as job

    project = _project(problem)
    with disk.explained(job.file_of(project)):
        added = job.add(project)
    return f"{', '.join(added)} were added to {job.file_of(project)}; `dagentd remove` takes them out again."


def close_to_others(problem: Problem) -> str:
    path = Path(problem.path)
    with disk.explained(path):
        before = disk.seclude(path)
    return f"{path} is yours alone now; undo it with `chmod {before:o} {path}`."


def remove_socket(problem: Problem) -> str:
    from dagentd.rpc.server import clear_stale

    clear_stale(Path(problem.path))
    return f"{problem.path} was removed; a daemon makes it anew when it starts."


def discard_index(problem: Problem) -> str:
    from dagentd.adapters.lock import AlreadyRunning, single_instance
    from dagentd.store import index

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
    from dagentd.jobs import service, units

    manager = service.manager()
    there = service.present(manager)
    socket = manager.starter(True) in there if manager.name == "systemd" else False
    service.apply(service.plan_install(manager, units.program(), socket, there), manager)
    return "The service starts this dagentd now; undo it with `dagentd service uninstall`."


def _project(problem: Problem) -> Project:
    """The one that the path of the problem lies in."""
    from dagentd.adapters import git

    return git.project_at(Path(problem.path))


def _scanned(project: Project) -> bool:
    from dagentd.rpc.client import Client

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
