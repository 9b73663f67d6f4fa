"""`dagentd web`: the page, in the browser of this user."""

from __future__ import annotations

import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path

import click

from dagentd import paths, settings
from dagentd.cli import crash, output
from dagentd.errors import NotAllowed

_NEEDED = ("starlette", "uvicorn", "markdown_it")


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port on 127.0.0.1; 0, the default, is one that is free."
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
def web(port: int | None, no_open: bool) -> int:
    """See in a browser what agents did, search it, and undo it.

    The page is for you alone: it is served on 127.0.0.1, and the address it prints works once. It ends with Ctrl-C.
    """
    if any(find_spec(each) is None for each in _NEEDED):
        raise NotAllowed("the page needs the extra `web`, which is not installed", hint=_installing())
    from dagentd.web.server import serve

    given = settings.load(paths.config_file()).web
    opens = given.open and not no_open

    def ready(address: str) -> None:
        output.line(f"The page is at {address}")
        output.line("The address works once, in one browser. Ctrl-C ends it.")
        if opens:
            webbrowser.open(address)

    serve(given.port if port is None else port, ready, crash.record)
    return 0


def _installing() -> str:
    """The line for the way in which this dagentd was installed."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return "pipx install --force 'dagentd[web]'"
    if (prefix / "uv-receipt.toml").exists():
        return "uv tool install --force 'dagentd[web]'"
    return f"{sys.executable} -m pip install 'dagentd[web]'"
