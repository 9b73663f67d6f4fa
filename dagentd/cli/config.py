"""`dagentd config`: the settings in effect, where each comes from, and where dagentd keeps its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd import paths, settings
from dagentd.cli import output
from dagentd.cli.output import Column


@click.command()
@click.argument("project", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config(project: Path | None, as_json: bool) -> None:
    """Show the settings in effect and where each comes from.

    PROJECT is the root of a repository: its .dagent/config.toml can change some of them.
    """
    files = {"user": paths.config_file()}
    if project is not None:
        files["project"] = paths.project_config_file(project.absolute())
    loaded = settings.explain(files["user"], files.get("project"))
    (_print_json if as_json else _print)(loaded, files)


def _print(loaded: settings.Loaded, files: dict[str, Path]) -> None:
    sources = _sources(loaded, files)
    values = settings.values(loaded.settings).items()
    rows = [(key, _shown(value), sources.get(key, "default")) for key, value in values]
    output.table([Column("setting", style="cyan"), Column("value", wrap=True), Column("from")], rows)
    output.line()
    named = [(f"{name} settings", _described(file)) for name, file in files.items()]
    output.fields([*named, *_places().items()])


def _print_json(loaded: settings.Loaded, files: dict[str, Path]) -> None:
    tables: dict[str, dict[str, Any]] = {}
    for key, value in settings.values(loaded.settings).items():
        table, name = key.split(".")
        tables.setdefault(table, {})[name] = value
    found = {name: {"path": str(file), "exists": file.exists()} for name, file in files.items()}
    places = {name: str(place) for name, place in _places().items()}
    output.print_json({"settings": tables, "from": _sources(loaded, files), "files": found, "paths": places})


def _sources(loaded: settings.Loaded, files: dict[str, Path]) -> dict[str, str]:
    names = {file: name for name, file in files.items()}
    return {key: names[file] for key, file in loaded.origin.items()}


def _places() -> dict[str, Path]:
    return {
        "socket": paths.socket(),
        "state": paths.state_dir(),
        "registry": paths.registry_file(),
        "index": paths.index_file(),
        "log": paths.log_file(),
        "lock": paths.lock_file(),
    }


def _described(file: Path) -> str:
    return str(file) if file.exists() else f"{file} (not there: defaults)"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    return '""' if value == "" else str(value)
