"""`dagentd agx config`: both configuration files, shown and changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from dagentd import oneshot, paths
from dagentd.adapters import clock, git
from dagentd.agx import config_files, configuration
from dagentd.agx.config_files import Loaded
from dagentd.agx.folder import AgxFolder
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option
from dagentd.errors import NotFound


@click.command()
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--local", is_flag=True, help="Of this project (.agx/config.json) and not of all (~/.agx/config.json).")
@click.option(
    "-C", "--project", "where", type=click.Path(exists=True, path_type=Path), help="A path in the repository."
)
@json_option
def config(key: str | None, value: str | None, local: bool, where: Path | None, as_json: bool) -> int:
    """Show the configuration of AGX, or set KEY, given as SECTION.NAME, to VALUE.

    VALUE is JSON (true, 5, ["main", "test"]) or else a text (30d, 100MB); null takes back what was set.
    """
    folder = _folder(where or Path("."), needed=local or where is not None)
    if key is not None and value is not None:
        file = config_files.of_project(folder) if folder and local else config_files.user()
        keep = oneshot.agx_jobs().config(folder.root if folder else None).backup_count
        config_files.put(file, key, _parsed(value), keep, clock.now())
    user = config_files.load(config_files.user())
    project = config_files.load(config_files.of_project(folder)) if folder else Loaded({}, {})
    if as_json:
        wrong = [str(error) for error in (*user.errors, *project.errors)]
        output.print_json(
            {"default": configuration.default_values(), "global": user.raw, "project": project.raw, "problems": wrong}
        )
    else:
        _show(user.raw, project.raw, key)
        for error in (*user.errors, *project.errors):
            output.problem(str(error), error.hint)
    return 1 if user.errors or project.errors else 0


def _folder(where: Path, needed: bool) -> AgxFolder | None:
    """Of the project one is in; outside of any there is only the global file."""
    try:
        return AgxFolder(git.project_at(where).root)
    except NotFound:
        if needed:
            raise
        return None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _show(user: dict[str, Any], project: dict[str, Any], key: str | None) -> None:
    given = dict(_values(user))
    rows = [
        *((name, value, "project") for name, value in _values(project)),
        *((name, value, "global") for name, value in given.items()),
        *((name, value, "default") for name, value in _values(configuration.default_values()) if name not in given),
    ]
    chosen = [
        (name, json.dumps(value, ensure_ascii=False), f"{source}{_remark(name)}")
        for name, value, source in rows
        if key is None or name == key or name.startswith(f"{key}.")
    ]
    columns = [Column("key", style="cyan"), Column("value", wrap=True), Column("from")]
    told = (
        configuration.unknown_keys({**configuration.GLOBAL, **configuration.PROJECT}, key)
        if key and "." in key
        else None
    )
    output.table(columns, chosen, empty=f"{told[0].upper()}{told[1:]}" if told else f"{key} is not set.")
    if key is None:
        output.line(f"The global file is {paths.agx_config_file()}.")


def _remark(name: str) -> str:
    return ", only kept" if name in configuration.GLOBAL and configuration.GLOBAL[name].only_kept else ""


def _values(raw: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, held in raw.items():
        if isinstance(held, dict):
            yield from ((f"{section}.{name}", value) for name, value in held.items())
