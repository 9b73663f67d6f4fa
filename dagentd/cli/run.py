"""`dagentd run`: serve projects in the foreground, or do once what is due."""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path

import click

from dagentd import daemon, paths, settings
from dagentd.adapters import git, log
from dagentd.adapters.service_manager import supervisor
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import how_to_begin, json_option, tell_problems
from dagentd.cli.verbs import ask
from dagentd.model.project import Project
from dagentd.model.report import Line, Report
from dagentd.store.pauses import Pauses

_SCAN = 600.0  # seconds for the daemon to look at a whole project


@click.command()
@click.argument("where", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--once", is_flag=True, help="Do everything that is due, then end; without PATH in the repository here.")
@json_option
def run(where: tuple[Path, ...], once: bool, as_json: bool) -> int:
    """Serve repositories in the foreground until Ctrl-C.

    PATH is any path in a repository; without one, the registered repositories are served. With --once the exit
    status is 1 if problems were found.
    """
    projects = [git.project_at(path) for path in where]
    if once:
        return _once(projects or [git.project_at(Path("."))], as_json)
    log.to_stderr(settings.load(paths.config_file()).log.level)
    served = daemon.Daemon(projects, supervisor())
    return served.run(lambda: _begin_serving(served))


def _begin_serving(served: daemon.Daemon) -> None:
    gc.freeze()  # what is loaded stays: each full collection went through it, 22 ms in which nobody was answered
    for store in served.stores():
        output.line(f"Serving {store.project.root}.")
    output.line(f"Listening at {paths.socket()}; Ctrl-C ends.")


def _once(projects: list[Project], as_json: bool) -> int:
    found = 0
    for project in projects:
        report = Report.parse(ask(project.root, "project.scan", _SCAN))
        (_tell_json if as_json else _tell)(project, report)
        found += len(report.problems)
    return 1 if found else 0


def _tell_json(project: Project, report: Report) -> None:
    output.print_json({"project": str(project.root), **report.raw()})


def _tell(project: Project, report: Report) -> None:
    output.line(str(project.root))
    columns = [Column("session", style="cyan"), Column("worktree"), Column("messages", right=True), Column("done")]
    rows = [(line.session_id, line.worktree, line.messages, _state(line)) for line in report.lines]
    output.table(columns, rows)
    if not rows:
        output.line(f"No sessions. {how_to_begin(project.root, partial(ask, project.root))}")
    tell_problems(report.problems, project)
    if Pauses(project).of_project():
        output.line("It is paused: only what others wrote was taken in. `dagentd resume` ends that.")


def _state(line: Line) -> str:
    return line.done or ("see below" if line.problems else "up to date")
