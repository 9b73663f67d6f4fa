"""dagentd as a service of the user's own manager: plan which files and commands that takes, then do it."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import sys
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path

from dagentd import paths
from dagentd.adapters import service_manager
from dagentd.adapters.files import atomic, disk, fileio, flock
from dagentd.errors import Conflict, DagentdError
from dagentd.jobs.service_files import MARK, Command, Launchd, Manager, Program, Systemd, Verb


@dataclass(frozen=True)
class Plan:
    write: dict[Path, bytes]
    remove: list[Path]
    before: list[Command]
    after: list[Command]


@dataclass
class Report:
    """The steps that were done; `waiting` has the commands for which no manager runs now, `why` says so."""

    written: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)
    ran: list[Command] = field(default_factory=list)
    waiting: list[Command] = field(default_factory=list)
    why: str = ""


@dataclass(frozen=True)
class State:
    """`active` is None where no manager runs that could say."""

    installed: list[Path]
    enabled: list[Path]
    active: list[Path] | None

    def raw(self) -> dict[str, list[str] | None]:
        active = None if self.active is None else [str(path) for path in self.active]
        return {"installed": [*map(str, self.installed)], "enabled": [*map(str, self.enabled)], "active": active}


def manager() -> Manager:
    """The one of this platform. systemd's user units lie beside our own settings."""
    if sys.platform == "darwin":
        return Launchd(Path(os.path.expanduser("~/Library/LaunchAgents")), os.getuid())
    return Systemd(paths.config_file().parents[1] / "systemd" / "user")


def plan_install(manager: Manager, program: Program, socket: bool, present: Set[Path]) -> Plan:
    """An earlier installation becomes this one: a socket unit that is not wanted any more goes."""
    write = manager.files(program, socket)
    starter = manager.starter(socket)
    removed = present - write.keys() - {manager.links()[starter]}
    before = manager.unload(removed, present & write.keys())
    return Plan(write, sorted(removed), before, manager.load(starter))


def plan_uninstall(manager: Manager, present: Set[Path]) -> Plan:
    after = manager.reload() if present else []
    return Plan({}, sorted(present), manager.unload(present, set()), after)


def present(manager: Manager) -> set[Path]:
    """The files and links of ours that are there."""
    units = {path for path in manager.links() if MARK in (_read(path) or b"")}
    return units | {link for path, link in manager.links().items() if path in units and os.path.lexists(link)}


def apply(plan: Plan, manager: Manager) -> Report:
    """All that is in the way is found before anything changes."""
    changed = {path: data for path, data in plan.write.items() if _must_change(path, data)}
    report = Report(why=_silent(manager))
    _tell(plan.before, report, must=False)  # what does not run cannot be stopped
    for path, data in changed.items():
        with disk.explained(path):
            disk.make_folders(path.parent)
            atomic.put(path, data)
        report.written.append(path)
    for path in plan.remove:
        with disk.explained(path):
            disk.remove(path)
        report.removed.append(path)
    _tell(plan.after, report, must=True)
    for folder in manager.folders() if plan.remove and not plan.write else ():
        with contextlib.suppress(OSError):  # not there, or with something of somebody else in it
            disk.remove_folder(folder)
    return report


def state(manager: Manager) -> State:
    found = present(manager)
    installed = sorted(found & manager.links().keys())
    enabled = [path for path in installed if manager.links()[path] in found]
    if _silent(manager):
        return State(installed, enabled, None)
    active = [path for path in installed if service_manager.run(manager.is_active(path)).returncode == 0]
    return State(installed, enabled, active)


def control(verb: Verb) -> bool:
    """Start, stop or restart the installed service through its manager; False where that one is not in charge."""
    ours = manager()
    commands = ours.control(verb, present(ours))
    if not commands or _silent(ours):
        return False
    for command in commands:
        _run(command, ours.log)
    return True


def _silent(manager: Manager) -> str:
    """Why no manager of this user answers; empty if one does."""
    asked = service_manager.run(manager.probe)
    return (asked.stderr.strip() or f"{manager.name} does not answer") if asked.returncode else ""


def _tell(commands: list[Command], report: Report, must: bool) -> None:
    for command in commands:
        if report.why:
            report.waiting.append(command)
        elif _run(command, "The files are in place; run it again yourself." if must else None):
            report.ran.append(command)


def _run(command: Command, hint: str | None) -> bool:
    """With a hint, a failure is an error."""
    done = service_manager.run(command)
    if done.returncode and hint is not None:
        raise DagentdError(f"`{shlex.join(command)}` failed: {done.stderr.strip()}", hint=hint)
    return done.returncode == 0


def _must_change(path: Path, data: bytes) -> bool:
    there = _read(path)
    if there is not None and MARK not in there:
        raise Conflict("is not one that dagentd wrote", path=path, hint="Move it away, then install again.")
    return there != data


def _read(path: Path) -> bytes | None:
    try:
        return fileio.read(path)
    except FileNotFoundError:
        return None


# When the last project is removed for good: what dagentd has for a user beside any project.


def leave() -> tuple[Report, bool]:
    """Take the service away and clear the state folder: registry, log, ledger, indexes. Settings are the user's own
    and stay. What was done, and whether the state folder is gone."""
    mine = manager()
    report = apply(plan_uninstall(mine, present(mine)), mine)
    held = flock.single_instance()  # no daemon starts meanwhile
    try:
        _remove_files(paths.state_dir(), keep=held.path)
        disk.remove(held.path)
    finally:
        held.release()
    if (own := paths.socket_dir()) and own.is_dir():
        _remove_empty(own)
    return report, _remove_empty(paths.state_dir())


def _remove_files(folder: Path, keep: Path) -> None:
    """Folders and links are none of ours."""
    with disk.explained(folder):
        for path in folder.iterdir():
            mode = path.lstat().st_mode
            if path != keep and (stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
                disk.remove(path)


def _remove_empty(folder: Path) -> bool:
    with disk.explained(folder):
        if any(folder.iterdir()):
            return False
        disk.remove_folder(folder)
    return True
