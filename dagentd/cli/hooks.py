"""`dagentd hooks`: let git tell the daemon about changes, take that back, say whether word arrives."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, there
from dagentd.errors import DagentdError, Unreachable
from dagentd.jobs import hooks as job
from dagentd.jobs.hooks.hook_changes import Line
from dagentd.model.project import Project
from dagentd.rpc.client import Client
from dagentd.store.spool import EVENTS, Spool

_MOST = 8  # reasons that `init` prints
_WAIT = 3.0  # seconds for the daemon to take what is in the spool
_where = click.argument("where", metavar="[PATH]", default=".", type=click.Path(exists=True, path_type=Path))
_TAKEN = {True: "takes what arrives", False: "has not taken what arrived: see `dagentd status`", None: "does not run"}


@click.group()
def hooks() -> None:
    """Let git tell dagentd about commits, checkouts, merges and rebases."""


@hooks.command()
@_where
@json_option
def install(where: Path, as_json: bool) -> int:
    """Install hooks for a repository and all its worktrees; those that are there keep working.

    Exits with 1 if one had to be left alone.
    """
    report = job.install(git.project_at(where))
    well = all(line.state in ("installed", "by hand") for line in report.lines)
    if as_json:
        output.print_json(_raw(report))
    else:
        _show(report.lines, "Nothing had to be changed." if well and not report.changed else "")
    return 0 if well else 1


@hooks.command()
@_where
@json_option
def uninstall(where: Path, as_json: bool) -> int:
    """Take the hooks away again: every file is as it was before."""
    report = job.uninstall(git.project_at(where))
    if as_json:
        output.print_json(_raw(report))
    else:
        tell_uninstalled(report)
        if not report.changed and not report.failed:
            output.line("Nothing was installed.")
    return int(bool(report.failed))


@hooks.command()
@_where
@json_option
def status(where: Path, as_json: bool) -> int:
    """Try every hook, harmlessly, and say whether word arrives.

    Exits with 1 if one is left alone or does not work.
    """
    project = git.project_at(where)
    lines = job.status(project)
    taken = _daemon_takes(project) if any(line.arrived for line in lines) else None
    if as_json:
        output.print_json({"hooks": [line.raw() for line in lines], "daemonTakes": taken})
    else:
        _show(lines, f"The daemon {_TAKEN[taken]}." if any(line.arrived for line in lines) else "")
    return int(taken is False or any(line.state == "left alone" or line.arrived is False for line in lines))


def tell_installed(report: job.Report) -> None:
    """For `init`: in a line what is there, and a line for each file that is not."""
    folders = sorted({str(_place(line)) for line in report.lines if line.state == "installed"})
    if folders:
        output.line(f"- git tells about commits, checkouts, merges and rebases: hooks in {', '.join(folders)}. "
                    f"`dagentd hooks uninstall{there(report.lines[0].worktree)}` takes them away alone.")  # fmt: skip
    left = _reasons(line for line in report.lines if line.state != "by hand")
    for where, reason, hint in left[:_MOST]:
        output.line(f"- No hook of ours in {where}: {reason}. {hint}")
    if len(left) > _MOST:
        output.line(f"- And {len(left) - _MOST} more: dagentd hooks status")
    if left:
        output.line("  dagentd works without them: it watches the git folders too.")


def tell_uninstalled(report: job.Report) -> None:
    gone = sorted(path for path in report.changed if not path.exists())
    for folder, paths in groupby(gone, lambda path: path.parent):
        output.line(f"- Removed from {folder}: {', '.join(path.name for path in paths)}.")
    for path in report.changed:
        if path.exists():
            output.line(f"- {path} is as it was before.")
    for path, error in report.failed.items():
        output.line(f"- {path} may still have dagentd's part: {error.message}. {error.hint}")


def _show(lines: list[Line], last: str) -> None:
    rows = []
    for (worktree, folder, state), group in groupby(lines, lambda line: (line.worktree, _place(line), _word(line))):
        events = [line.event for line in group]
        rows.append((worktree.name, "all" if len(events) == len(EVENTS) else ", ".join(events), state, folder))
    columns = [Column("worktree", style="cyan"), Column("hooks", wrap=True), Column("state"), Column("in", wrap=True)]
    output.table(columns, rows)
    for where, reason, hint in _reasons(lines):
        output.line(f"{where}: {reason}.")
        if hint:
            output.line(f"  {hint}")
    if any(line.state in ("missing", "outdated") for line in lines):
        output.line(f"Install them with: dagentd hooks install{there(lines[0].worktree)}")
    if last:
        output.line(last)


def _place(line: Line) -> Path:
    """The hooks folder, or git's configuration."""
    return line.path.parent if line.path.name in EVENTS else line.path


def _word(line: Line) -> str:
    if line.arrived is None:
        return line.state
    return "works" if line.arrived else "installed, but no word arrives"


def _reasons(lines: Iterable[Line]) -> list[tuple[Path, str, str]]:
    """Where, why, and what to do: once for a file that worktrees share, and once for a folder of equal reasons."""
    paths: dict[tuple[Path, str, str], set[Path]] = {}
    for line in lines:
        if line.reason:
            paths.setdefault((_place(line), line.reason, line.hint), set()).add(line.path)
    return [(place if len(held) > 1 else held.pop(), why, hint) for (place, why, hint), held in paths.items()]


def _raw(report: job.Report) -> dict[str, Any]:
    failed = [{"path": str(path), "reason": error.message, "hint": error.hint} for path, error in report.failed.items()]
    changed = [str(path) for path in report.changed]
    return {"hooks": [line.raw() for line in report.lines], "changed": changed, "failed": failed}


def _daemon_takes(project: Project) -> bool | None:
    """Whether a running daemon takes a file out of the spool; None if none runs. One that hangs is not asked."""
    spool = Spool(project)
    try:
        Client().close()
        spool.ping()
    except Unreachable:
        return None
    except DagentdError:
        return False
    end = time.monotonic() + _WAIT
    while spool.ping_is_there() and time.monotonic() < end:
        time.sleep(0.02)
    return not spool.withdraw_ping()
