"""`dagentd agx`: sessions across projects, branches, tmux and Claude; a file for each group of its commands."""

from __future__ import annotations

import click

from dagentd.cli import output
from dagentd.cli.agx import changing, cleaning, configuring, opening, reading
from dagentd.model.agx import section
from dagentd.store.agx import configs


@click.group()
def agx() -> None:
    """Keep sessions of branches, tmux and Claude, in .agx of a project and in ~/.agx."""
    # Not by NO_COLOR: what is opened in tmux would inherit it.
    output.colourless = section(configs.load(configs.user()).believed, "ui").get("colorOutput") is False


for each in (
    reading.list_sessions, reading.show, changing.new, changing.switch, opening.open_session, changing.archive,
    changing.complete, changing.restore, changing.claude, cleaning.cleanup, reading.index, configuring.config,
):  # fmt: skip
    agx.add_command(each)
