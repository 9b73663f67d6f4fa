"""`dagentd init`, `remove`, `projects`: which repositories the daemon serves."""

from __future__ import annotations

from pathlib import Path

import click

from dagentd import paths
from dagentd.adapters import git
from dagentd.cli import output
from dagentd.cli.life import ensure_running, stop_daemon
from dagentd.cli.output import Column
from dagentd.cli.project import json_option
from dagentd.jobs import exclude
from dagentd.store.registry import Registry

_path = click.Path(exists=True, path_type=Path)
_here = click.argument("where", metavar="[PATH]", required=False, default=".", type=_path)


@click.command()
@_here
def init(where: Path) -> int:
    """Have the daemon serve a repository from now on."""
    project = git.project_at(where)
    added = exclude.add(project)
    Registry(paths.registry_file()).add(project)
    output.line(f"{project.root} is registered; `dagentd remove` undoes all of this.")
    if added:
        output.line(f"- git leaves {', '.join(added)} out ({exclude.file_of(project)}).")
    output.line(f"- {ensure_running()}")
    return 0


@click.command()
@_here
def remove(where: Path) -> int:
    """Stop serving a repository, and undo what `init` did."""
    project = git.project_at(where)
    registry = Registry(paths.registry_file())
    registry.remove(project)
    exclude.remove(project)
    output.line(f"{project.root} is no longer served. Its session files and kept journals stay where they are.")
    if not registry.projects() and stop_daemon():
        output.line("It was the last project: dagentd stopped.")
    return 0


@click.command()
@json_option
def projects(as_json: bool) -> None:
    """List the registered repositories."""
    found = Registry(paths.registry_file()).projects()
    if as_json:
        output.print_json({"projects": [each.raw() for each in found]})
        return
    rows = [(each.project.root, output.ago(each.added_at), _state(each.project.root)) for each in found]
    columns = [Column("project", style="cyan", wrap=True), Column("registered"), Column("")]
    output.table(columns, rows, empty="No projects: add one with `dagentd init PATH`.")


def _state(root: Path) -> str:
    return "" if root.is_dir() else "not there; if it was moved, run `dagentd init` in its new place"
