"""`dagentd agx cleanup`: what is no longer used goes, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagentd import alone
from dagentd.cli import output
from dagentd.cli.agx.asking import ask, make_sure
from dagentd.cli.output import Column
from dagentd.cli.project import json_option, project_option

_WORDS = {"archive": "archive", "remove": "remove to the trash", "delete": "delete from the trash, for good"}


@click.command()
@click.argument("names", metavar="[SESSION]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@project_option
@json_option
def cleanup(names: tuple[str, ...], dry_run: bool, yes: bool, where: Path, as_json: bool) -> None:
    """Archive sessions that were not used for long, and remove those that were archived for as long.

    With SESSION remove just these, to the trash. `dagentd agx restore SESSION` brings one back from there.
    """
    steps = _ask(where, names, True)["steps"]
    if steps and not dry_run:
        if not as_json:
            _tell(steps)
        make_sure("Do this?", alone.agx_jobs(), where, yes)
        steps = _ask(where, names, False)["steps"]
    if as_json:
        output.print_json({"steps": steps})
    elif dry_run or not steps:
        _tell(steps)
    else:
        output.line("Done.")


def _ask(where: Path, names: tuple[str, ...], dry_run: bool) -> dict[str, Any]:
    given = {"sessionIds": list(names), "dryRun": dry_run}
    return dict(ask(where, "agx.cleanup", given, lambda agx, root: agx.cleanup_steps(root, names, dry_run)))


def _tell(steps: list[dict[str, Any]]) -> None:
    rows = [(each["sessionId"], _WORDS[each["action"]], each["reason"].replace("_", " ")) for each in steps]
    output.table([Column("session", style="cyan"), Column("do"), Column("because")], rows, empty="Nothing to clean up.")
