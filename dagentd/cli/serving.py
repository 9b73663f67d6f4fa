"""`dagentd run`: serve projects in the foreground, or do once what is due."""

from __future__ import annotations

from pathlib import Path

import click

from dagentd import daemon, paths, settings
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, settings_of
from dagentd.jobs.reconcile import Line, Report
from dagentd.model.problem import Problem
from dagentd.model.project import Project


@click.command()
@click.argument("where", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--once", is_flag=True, help="Do everything that is due, then end.")
@json_option
def run(where: tuple[Path, ...], once: bool, as_json: bool) -> int:
    """Serve repositories in the foreground until Ctrl-C.

    PATH is any path in a repository; without one, the repository here. With --once the exit status is 1 if
    problems were found.
    """
    projects = [git.project_at(path) for path in where or (Path("."),)]
    if once:
        return _once(projects, as_json)
    daemon.serve(projects, settings.load(paths.config_file()), _Teller(as_json))
    return 0


class _Teller:
    """Says everything the first time, and after that what is new."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._known: dict[Path, set[Problem]] = {}

    def __call__(self, project: Project, report: Report) -> None:
        known, first = self._known.get(project.root, set()), project.root not in self._known
        self._known[project.root] = set(report.problems)
        lines = [line for line in report.lines if first or line.done]
        problems = [problem for problem in report.problems if problem not in known]
        if first or lines or problems:
            (_tell_json if self._as_json else _tell)(project, Report(lines, problems))
        if first and not self._as_json:
            output.line("Serving it; Ctrl-C ends.")


def _once(projects: list[Project], as_json: bool) -> int:
    found = 0
    for project in projects:
        report = daemon.once(project, settings_of(project))
        (_tell_json if as_json else _tell)(project, report)
        found += len(report.problems)
    return 1 if found else 0


def _tell_json(project: Project, report: Report) -> None:
    output.print_json({"project": str(project.root), **report.raw()})


def _tell(project: Project, report: Report) -> None:
    output.line(str(project.root))
    columns = [Column("session", style="cyan"), Column("worktree"), Column("messages", right=True), Column("done")]
    rows = [(line.session_id, line.worktree, line.messages, _state(line)) for line in report.lines]
    output.table(columns, rows, empty="No sessions yet: nothing under .dagent-worktrees/*/.dagent.")
    tell_problems(report.problems, project)


def _state(line: Line) -> str:
    return line.done or ("see below" if line.problems else "up to date")


def tell_problems(problems: list[Problem], project: Project) -> None:
    """Each in one sentence with its file, named from the root of the project, and what to do."""
    for problem in problems:
        path = problem.path.removeprefix(f"{project.root}/")
        output.line(f"! {path}: {problem.message}" if path else f"! {problem.message}")
        if problem.hint:
            output.line(f"  {problem.hint}")
