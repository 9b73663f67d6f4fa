"""`dagentd agx`: sessions across projects, branches, tmux and Claude; a file for each group of its commands."""

from __future__ import annotations

import click

from dagentd.agx import config_files
from dagentd.agx.values import section_of
from dagentd.cli import output
from dagentd.cli.agx import changing, configuring, reading


@click.group()
def agx() -> None:
    """Keep sessions of branches, tmux and Claude, in .agx of a project and in ~/.agx."""
    # Not by NO_COLOR: what is opened in tmux would inherit it.
    output.colourless = section_of(config_files.load(config_files.user()).believed, "ui").get("colorOutput") is False


for each in (
    reading.list_sessions, reading.show, changing.new, changing.switch, changing.open_session, changing.archive,
    changing.complete, changing.restore, changing.claude, changing.cleanup, reading.index, configuring.config,
):  # fmt: skip
    agx.add_command(each)
