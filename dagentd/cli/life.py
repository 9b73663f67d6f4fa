"""`dagentd start`, `stop`, `restart`, `status`, `logs`: the daemon's life."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import click

from dagentd import paths
from dagentd.cli import output, status_text
from dagentd.cli.output import Column
from dagentd.cli.paused import in_brief
from dagentd.errors import Conflict, HungUp, NotRunning, Unreachable
from dagentd.rpc.client import Client

_PATIENCE = 10.0  # seconds for a daemon that was told to stop
_NO_WORKTREES = (
    "0 worktrees: only those in .dagent-worktrees are counted, where features are; `dagentd new FEATURE` makes one. "
    "`dagentd agents` says what is kept of conversations elsewhere."
)


@click.command()
def start() -> int:
    """Start the daemon in the background."""
    if (pid := _pid()) is not None:
        output.line(f"dagentd is running already (process {pid}).")
        return 0
    _start()
    return 0


@click.command()
def stop() -> int:
    """Stop the daemon; it stays stopped until it is started."""
    output.line("dagentd stopped." if stop_daemon() else "dagentd was not running.")
    return 0


@click.command()
def restart() -> int:
    """Stop the daemon and start it again."""
    from dagentd import settings

    settings.load(paths.config_file())  # with mistakes in them it would not start
    stop_daemon()
    _start()
    return 0


def ensure_running() -> str:
    """Start the daemon if it is not running; what is to be said about it."""
    if (pid := _pid()) is not None:
        return f"The daemon is running (process {pid})."
    _begin()
    return f"The daemon was started (process {_pid()})."


def _start() -> None:
    _begin()
    with Client() as daemon:
        found = daemon.call("daemon.status")
    output.line(f"dagentd started (process {found['pid']}); it listens at {paths.socket()}.")
    if not found["projects"]:
        output.line("It serves no project yet: add one with `dagentd init PATH`.")


def _begin() -> None:
    """By the service manager where dagentd is installed as a service, else in the background."""
    from dagentd.adapters import process
    from dagentd.jobs import user_service

    if "DAGENTD_SOCKET" in os.environ:  # the daemon has another working folder
        os.environ["DAGENTD_SOCKET"] = os.path.abspath(os.environ["DAGENTD_SOCKET"])
    if not user_service.control("start"):
        process.detached(_serve)


def _serve(ready: Callable[[], None]) -> int:
    """The daemon, in the process that was detached. By its last line one who was killed is known."""
    from dagentd import daemon, settings
    from dagentd.adapters import log
    from dagentd.adapters.service_manager import supervisor

    given = settings.load(paths.config_file()).log
    log.to_file(paths.log_file(), given.level, given.max_bytes, given.files)
    status = daemon.Daemon([], supervisor()).run(ready)
    logging.getLogger(__name__).info("dagentd stopped")
    return status


def stop_daemon() -> bool:
    """Whether one was running. Where a service manager is in charge it must know, or it would start it again."""
    from dagentd.adapters import process
    from dagentd.jobs import user_service

    if (pid := _pid()) is None:
        return False
    if user_service.control("stop"):
        return True
    with contextlib.suppress(Unreachable), Client() as daemon:  # it may hang up before it has answered
        daemon.call("daemon.shutdown")
    deadline = time.monotonic() + _PATIENCE
    while process.lives(pid):  # it holds its locks to the end, long after it stopped listening
        if time.monotonic() > deadline:
            raise Conflict("dagentd was told to stop and still runs", hint="dagentd logs; or kill it by its process id")
        time.sleep(0.02)
    return True


def _pid() -> int | None:
    """Asked once more if it hung up: one that ends does so with whoever came last, and then is not running."""
    with contextlib.suppress(NotRunning):
        for last in (False, True):
            try:
                with Client(timeout=5) as daemon:
                    return int(daemon.call("daemon.status")["pid"])
            except HungUp:
                if last:
                    raise
    return None


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> int:
    """Show what the daemon does and what is wrong.

    Of each project it says how many worktrees are in .dagent-worktrees, and what dagentd takes on the disk: journals,
    journals kept of sessions whose worktree is gone, and backups, with what was set aside because it could not be used.

    The exit status is 1 if it is degraded, 3 if it does not run.
    """
    try:
        with Client() as daemon:
            found = daemon.call("daemon.status")
    except NotRunning as error:
        from dagentd.store.registry import Registry

        if not Registry(paths.registry_file()).projects():
            error.hint = "In a repository of yours: `dagentd init`."
        raise
    if as_json:
        output.print_json(found)
    else:
        _print_status(found)
    return 1 if found["health"] == "degraded" else 0


def _print_status(found: dict[str, Any]) -> None:
    """The daemon may be of another version: what it does not say is left out."""
    memory, queues = found.get("memory"), found.get("queues", {})
    up, version = output.duration(found.get("uptime", 0)), found.get("version", "unknown")
    output.fields(
        [
            ("health", found["health"]),
            ("process", f"{found['pid']}, up {up}, version {version}"),
            ("memory", f"{output.size(memory['resident'])}, {memory['threads']} threads" if memory else "unknown"),
            ("clients", _clients(found.get("connections"))),
            ("work", status_text.work(queues)),
            *([("compacting", status_text.compactions(doing))] if (doing := found.get("compacting")) else []),
            ("watches", _watches(found.get("watches", {}))),
            ("spend", status_text.spend(found.get("spend", {}))),
            *status_text.followed(found.get("agents", {})),
            ("settings", _settings(found.get("settings", {}))),
        ]
    )
    output.line()
    columns = [Column("project", style="cyan", wrap=True), Column("worktrees", right=True),
               Column("journals", right=True), Column("kept", right=True), Column("backups", right=True),
               Column("dagentd")]  # fmt: skip
    served = map(_project, found.get("projects", ()))
    output.table(columns, served, empty="No projects: add one with `dagentd init PATH`.")
    if any(each.get("worktrees") == [] for each in found.get("projects", ())):
        output.line(_NO_WORKTREES)
    problems = [*found.get("problems", ()), *queues.get("failing", ())]
    if problems:
        output.line()
    for each in problems:
        output.problem(each["message"], each.get("hint", ""), each.get("path", ""))
    if problems:
        output.line("`dagentd doctor` explains each of them.")
    for each in found.get("watches", {}).get("incidents", ()):
        output.line(f"- {output.ago(each['at'])}: {each['message']}")


def _settings(found: dict[str, Any]) -> str:
    read = f"read again {output.ago(found['readAt'])}" if found.get("readAt") else "as at the start"
    waiting = found.get("restart")
    return f"{read}; `dagentd restart` for {', '.join(waiting)}" if waiting else read


def _clients(count: int | None) -> str:
    return "unknown" if count is None else "only this command" if count == 1 else f"{count}, with this command"


def _watches(found: dict[str, Any]) -> str:
    polled = f", {found['polled']} more looked at in turn" if found.get("polled") else ""
    every = output.duration(found.get("everySeconds", 0))
    return f"{found.get('count', '?')} folders{polled}; all is looked at once more every {every}"


def _state(each: dict[str, Any]) -> str:
    alone = len(each.get("pausedSessions", ()))
    sessions = f"{output.counted(alone, 'session')} paused" if alone else ""
    does = "only reads it" if each.get("readOnly") else in_brief(each.get("paused")) or "serves it"
    return "; ".join(filter(None, (does, sessions)))


def _project(each: dict[str, Any]) -> tuple[object, ...]:
    return each["root"], len(each.get("worktrees", ())), *_disk(each.get("disk")), _state(each)


def _disk(use: dict[str, int] | None) -> tuple[str, str, str]:
    """The columns on disk use. Files that were set aside as unusable count as backups: both are copies."""
    if use is None:
        return "", "", ""
    copies = use["backups"] + use["setAside"]
    return output.size(use["journals"]), output.size(use["kept"]), output.size(copies)


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on printing what comes.")
@click.option("-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="How many.")
def logs(follow: bool, lines: int) -> int:
    """Print the end of the daemon's log."""
    path = paths.log_file()
    if not path.exists():
        output.line(f"There is no log yet ({path}); `dagentd run` tells what it does in its own terminal.")
        return 0
    log = path.open(encoding="utf-8", errors="replace")
    for line in log.readlines()[-lines:] if lines else ():
        output.text(line.rstrip("\n"))
    while follow:
        if line := log.readline():
            output.text(line.rstrip("\n"))
        elif _was_rotated(log, path):
            log.close()
            log = path.open(encoding="utf-8", errors="replace")
        else:
            time.sleep(0.2)
    log.close()
    return 0


def _was_rotated(log: TextIO, path: Path) -> bool:
    try:
        return not os.path.samestat(os.fstat(log.fileno()), os.stat(path))
    except FileNotFoundError:  # in this moment
        return False
