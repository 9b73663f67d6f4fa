"""`dagentd agx`: sessions across projects, branches, tmux and Claude; a file for each group of its commands."""

from __future__ import annotations

import click

from dagentd.cli.agx import changing, cleaning, configuring, opening, reading


@click.group()
def agx() -> None:
    """Keep sessions of branches, tmux and Claude, in .agx of a project and in ~/.agx."""


for each in (
    reading.list_sessions, reading.show, changing.new, changing.switch, opening.open_session, changing.archive,
    changing.restore, changing.claude, cleaning.cleanup, reading.index, configuring.config,
):  # fmt: skip
    agx.add_command(each)
