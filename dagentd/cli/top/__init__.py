"""`dagentd top`: projects, sessions, queues and events as they are now, on one screen.

`state` is what is known and what follows from what happens; `view` makes lines of it; both are pure. `feed` asks the
daemon, `screen` is the terminal, `live` puts them together.
"""

from __future__ import annotations

import os
import sys

import click

from dagentd.cli import output


@click.command()
def top() -> int:
    """Watch projects, sessions, queues and events live.

    Without a terminal it prints once how things are.
    """
    from dagentd.cli.top import live, view
    from dagentd.cli.top.feed import fetch
    from dagentd.cli.top.state import State, told
    from dagentd.rpc.client import Client

    with Client() as daemon:
        first = told(State(), fetch(daemon))
    if output.on_terminal() and sys.stdin is not None and sys.stdin.isatty() and os.environ.get("TERM") != "dumb":
        live.run(first)
        return 0
    for line in view.snapshot(first, plain=not output.is_utf8()):
        output.text(line.text)
    return 0
