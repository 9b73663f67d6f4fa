"""`dagentd service`: hand the daemon to the user's service manager, take it back, say how it stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from dagentd.cli import output
from dagentd.jobs import service_files
from dagentd.jobs import user_service as job


@click.group()
def service() -> None:
    """Let systemd or launchd start dagentd and watch it."""


@service.command()
@click.option("--socket", is_flag=True, help="Start it with the first command that needs it, not at login (systemd).")
def install(socket: bool) -> None:
    """Install the service for your user, to start by itself.

    It does not start now, and what runs is left alone. Installing again brings the files up to date.
    """
    manager = job.manager()
    plan = job.plan_install(manager, service_files.program(), socket, job.present(manager))
    report = job.apply(plan, manager)
    tell(report)
    if not (report.written or report.removed):
        output.line("The files were up to date.")
    if not report.why:
        for command in manager.control("start", {manager.starter(socket)}):
            output.line(f"Start it now with: {shlex.join(command)}")


@service.command()
def uninstall() -> None:
    """Stop the service and remove exactly what `install` made, and the folders that are empty without it."""
    manager = job.manager()
    report = job.apply(job.plan_uninstall(manager, job.present(manager)), manager)
    tell(report)
    if not report.removed:
        output.line("Nothing was installed.")


@service.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> None:
    """Show what is installed, what starts by itself, what runs."""
    manager = job.manager()
    state = job.state(manager)
    if as_json:
        output.print_json({"manager": manager.name, **state.raw()})
        return
    output.fields(
        [
            ("manager", manager.name),
            ("installed", _names(state.installed)),
            ("starts by itself", _names(state.enabled)),
            ("active", f"{manager.name} does not answer" if state.active is None else _names(state.active)),
        ]
    )


def tell(report: job.Report) -> None:
    """Say what was done, and what is left to do."""
    for path in report.written:
        output.line(f"wrote {path}")
    for path in report.removed:
        output.line(f"removed {path}")
    for command in report.ran:
        output.line(f"ran {shlex.join(command)}")
    if report.waiting:
        output.line(f"No service manager of your user answers ({report.why}). When one does, run:")
    for command in report.waiting:
        output.line(f"  {shlex.join(command)}")


def _names(found: list[Path]) -> str:
    return ", ".join(str(path) for path in found) or "nothing"
