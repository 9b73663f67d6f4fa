"""`dagentd agx config`: both configuration files, shown and changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dagentd import alone, paths
from dagentd.adapters import clock, git
from dagentd.cli import output
from dagentd.cli.output import Column
from dagentd.cli.project import json_option
from dagentd.model.agx.config import DEFAULT_GLOBAL
from dagentd.store.agx import configs
from dagentd.store.agx.folder import AgxFolder


@click.command()
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--local", is_flag=True, help="Of this project (.agx/config.json) and not of all (~/.agx/config.json).")
@click.option(
    "-C", "--project", "where", type=click.Path(exists=True, path_type=Path), help="A path in the repository."
)
@json_option
def config(key: str | None, value: str | None, local: bool, where: Path | None, as_json: bool) -> None:
    """Show the configuration of AGX, or set KEY, given as SECTION.NAME, to VALUE.

    VALUE is JSON (true, 5, ["main", "test"]) or else a text (30d, 100MB).
    """
    folder = AgxFolder(git.project_at(where or Path(".")).root) if local or where else None
    if key is not None and value is not None:
        _set(folder if local else None, key, _parsed(value))
    _show(configs.user(), configs.of_project(folder) if folder else {}, key, as_json)


def _set(folder: AgxFolder | None, key: str, value: Any) -> None:
    keep = alone.agx_jobs().config(folder.root if folder else None).backup_count
    if folder is None:
        configs.set_user(key, value, keep, clock.now())
    else:
        configs.set_project(folder, key, value, keep, clock.now())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _show(user: dict[str, Any], project: dict[str, Any], key: str | None, as_json: bool) -> None:
    if as_json:
        output.print_json({"default": DEFAULT_GLOBAL, "global": user, "project": project})
        return
    rows = [*_rows(project, "project"), *_rows(user, "global")]
    given = {(name, source) for name, _, source in rows if source == "global"}
    rows += [row for row in _rows(DEFAULT_GLOBAL, "default") if (row[0], "global") not in given]
    chosen = [row for row in rows if key is None or row[0] == key or row[0].startswith(f"{key}.")]
    output.table([Column("key", style="cyan"), Column("value", wrap=True), Column("from")], chosen,
                 empty=f"There is no {key}.")  # fmt: skip
    if key is None:
        output.line(f"The global file is {paths.agx_config_file()}.")


def _rows(raw: dict[str, Any], source: str) -> list[tuple[str, str, str]]:
    found = []
    for name, held in raw.items():
        if isinstance(held, dict):
            found += [(f"{name}.{each}", json.dumps(value, ensure_ascii=False), source) for each, value in held.items()]
    return found
